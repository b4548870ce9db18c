#include "agents/training/checkpoint.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "agents/agents_testing.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

Checkpoint make_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.config_hash = "0123456789abcdef";
  checkpoint.seed = 7;
  checkpoint.iteration = 12;
  checkpoint.replay = std::string("\0\1x", 3);
  checkpoint.weights = test::random_weights(test::small_shape(), 30);
  checkpoint.weights.environment = "Counter-v0";
  checkpoint.weights.features = {"a", "b", "c", "d", "e"};
  checkpoint.weights.knobs = {{"k", {"x", "y", "z"}}, {"l", {"0", "1"}}, {"m", {"", "", "", ""}}};
  checkpoint.weights.provenance = "a test";
  checkpoint.adam = initial_adam_state(checkpoint.weights);
  checkpoint.adam.mean[2][1] = 0.25F;
  checkpoint.adam.steps = 99;
  return checkpoint;
}

std::string fault_of(const std::string& bytes) {
  try {
    (void)read_checkpoint(bytes, "c.bin");
  } catch (const UserError& error) {
    return error.what();
  }
  return {};
}

// The bytes with a matching checksum.
std::string sealed(std::string bytes) {
  std::uint64_t state = 0xcbf29ce484222325ULL;
  for (std::size_t i = 20; i + 8 < bytes.size(); ++i) {
    state = (state ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3ULL;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[bytes.size() - 8 + i] = static_cast<char>(static_cast<unsigned char>(state >> (8 * i)));
  }
  return bytes;
}

TEST_CASE("A checkpoint is read back bit for bit", "[agents][checkpoint]") {
  const test::TemporaryFolder folder;
  const Checkpoint written = make_checkpoint();
  CHECK(read_checkpoint(write_checkpoint(written), "x") == written);
  const std::string path = folder.path() + "/checkpoint.bin";
  save_checkpoint(written, path);
  save_checkpoint(written, path);
  CHECK(load_checkpoint(path) == written);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK_THROWS_AS(save_checkpoint(written, folder.path() + "/none/checkpoint.bin"), UserError);
  CHECK_THROWS_AS(load_checkpoint(folder.path() + "/none.bin"), UserError);
}

TEST_CASE("A checkpoint of version 1 is read, without its processor time", "[agents][checkpoint]") {
  Checkpoint written = make_checkpoint();
  written.replay.clear();
  // Version 1 has 8 more bytes after the iteration, and no replay memory (8 bytes of length).
  std::string bytes = write_checkpoint(written);
  bytes[8] = 1;
  bytes.erase(bytes.size() - 16, 8);
  const std::size_t head = 20 + 8 + written.config_hash.size() + 8 + 8;
  bytes.insert(head, std::string("\0\0\0\0\0\0\x0C\x40", 8));  // 3.5
  CHECK(read_checkpoint(sealed(bytes), "c.bin") == written);
  bytes.erase(head, 8);
  CHECK_FALSE(fault_of(sealed(bytes)).empty());
}

TEST_CASE("A checkpoint that is cut off anywhere is refused", "[agents][checkpoint]") {
  const std::string bytes = write_checkpoint(make_checkpoint());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string fault = fault_of(bytes.substr(0, length));
    REQUIRE(fault.starts_with("'c.bin': "));
  }
  CHECK(fault_of(bytes.substr(0, 400)).find("cut off") != std::string::npos);
  CHECK(fault_of(bytes + "x").find("bytes too many") != std::string::npos);
}

TEST_CASE("A checkpoint with any byte changed is refused", "[agents][checkpoint]") {
  const std::string bytes = write_checkpoint(make_checkpoint());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    REQUIRE_FALSE(fault_of(damaged).empty());
  }
  std::string other = bytes;
  other[8] = 3;
  CHECK(fault_of(other) == "'c.bin': a checkpoint of version 3; expected 1 or 2");
  CHECK(fault_of("PNG" + bytes) == "'c.bin': not a checkpoint");
}

TEST_CASE("Invalid contents with a valid checksum are refused, too", "[agents][checkpoint]") {
  const std::string bytes = write_checkpoint(make_checkpoint());
  // Changes every byte of the contents in turn; only a UserError may result.
  for (std::size_t i = 20; i + 8 < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(0xFF);
    try {
      (void)read_checkpoint(sealed(damaged), "c.bin");
    } catch (const UserError&) {
    }
  }
  Checkpoint checkpoint = make_checkpoint();
  checkpoint.weights.tensors[4].values[0] = NAN;
  CHECK(fault_of(write_checkpoint(checkpoint)).find("is not finite") != std::string::npos);
  checkpoint = make_checkpoint();
  checkpoint.adam.square[1][0] = INFINITY;
  CHECK(fault_of(write_checkpoint(checkpoint)).find("is not finite") != std::string::npos);
  checkpoint = make_checkpoint();
  checkpoint.weights.shape.lstm = std::size_t{1} << 40;
  CHECK(fault_of(write_checkpoint(checkpoint)).find("a layer of") != std::string::npos);
}

}  // namespace
}  // namespace cclgym
