// Checks that policy files are read back bit for bit, and that errors name the place.
#include "deploy/runtime/policy_file.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "deploy/sample_policy.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

using test::load;
using test::sample_weights;
using test::small_shape;

std::string message_of(const std::string& bytes) {
  try {
    (void)parse_policy(bytes, "p.policy");
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

void put_u32(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xffU);
  }
}

// Corrects size and checksum.
void seal(std::string& bytes) {
  put_u32(bytes, 16, static_cast<std::uint32_t>(bytes.size()));
  put_u32(bytes, 20, 0);
  put_u32(bytes, 12, crc32_of(std::string_view(bytes).substr(16)));
}

PolicyFile sample_file() {
  return {.texts = {{"provenance", "seed 1, “NDv4”\n"}, {"empty", ""}},
          .tables = {{"levels", {1, 2, 0xffffffffU}}, {"none", {}}},
          .tensors = {{"w", {2, 3}, {0.5F, -0.0F, 1e-40F, 3e38F, -1, 2}}, {"scalar", {}, {7}}}};
}

TEST_CASE("CRC-32 is that of zlib", "[deploy][policy-file]") {
  CHECK(crc32_of("123456789") == 0xcbf43926U);
}

TEST_CASE("a file is read back to the bit", "[deploy][policy-file]") {
  const PolicyFile file = sample_file();
  const std::string bytes = format_policy(file);
  CHECK(bytes.size() % 8 == 0);
  CHECK(bytes.substr(0, 12) == std::string("CCLGYMPO\1\0\0\0", 12));
  const PolicyFile read = parse_policy(bytes, "p");
  CHECK(read == file);
  CHECK(std::signbit(read.tensor("w")->values[1]));
  CHECK(format_policy(read) == bytes);
  CHECK(read.text("provenance")->text == "seed 1, “NDv4”\n");
  CHECK(read.table("levels")->values[2] == 0xffffffffU);
  CHECK(read.tensor("scalar")->values[0] == 7);
  CHECK(read.text("w") == nullptr);
  CHECK(format_policy({}).size() == 32);
}

TEST_CASE("what cannot be read back is not written", "[deploy][policy-file]") {
  CHECK_THROWS_AS(format_policy({.texts = {{"", "x"}}, .tables = {}, .tensors = {}}),
                  std::logic_error);
  CHECK_THROWS_AS(format_policy({.texts = {{"a", "x"}, {"a", "y"}}, .tables = {}, .tensors = {}}),
                  std::logic_error);
  CHECK_THROWS_AS(format_policy({.texts = {{"a", "\xff"}}, .tables = {}, .tensors = {}}),
                  std::logic_error);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(format_policy({.texts = {}, .tables = {}, .tensors = {{"w", {1}, {nan}}}}),
                  std::logic_error);
  CHECK_THROWS_AS(format_policy({.texts = {}, .tables = {}, .tensors = {{"w", {2}, {1}}}}),
                  std::logic_error);
}

TEST_CASE("every file that was cut off is refused", "[deploy][policy-file]") {
  const std::string bytes = format_policy(sample_file());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    const std::string message = message_of(cut);
    CHECK(message.starts_with("p.policy: byte "));
    if (size < 32) continue;
    CHECK(message.find("truncated") != std::string::npos);
    // The file is also refused with the size and checksum of the truncated contents.
    std::string sealed = cut;
    seal(sealed);
    CHECK(message_of(sealed).starts_with("p.policy: byte "));
  }
}

TEST_CASE("every changed byte is noticed", "[deploy][policy-file]") {
  const std::string bytes = format_policy(sample_file());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    CHECK(message_of(changed) != "accepted");
  }
}

TEST_CASE("messages say what is wrong", "[deploy][policy-file]") {
  const std::string bytes = format_policy(sample_file());
  CHECK(message_of("PNG") ==
        "p.policy: byte 0: not a policy file: it does not begin with CCLGYMPO");
  std::string other = bytes;
  put_u32(other, 8, 2);
  CHECK(message_of(other) == "p.policy: byte 8: version 2 of the format; expected version 1");
  other = bytes;
  other[40] = static_cast<char>(other[40] ^ 1);
  CHECK(
      message_of(other) ==
      "p.policy: byte 12: the checksum (CRC-32) does not match the contents: the file is corrupt");
  CHECK(message_of(bytes + "x").find("more was appended") != std::string::npos);
}

TEST_CASE("adversarial files with a right checksum are refused", "[deploy][policy-file]") {
  const std::string bytes = format_policy(
      {.texts = {}, .tables = {}, .tensors = {{"weights!", {2, 3}, std::vector<float>(6, 1)}}});
  // Sizes in bytes: header 32, record 16, name 8, dimensions 4, shape 8, values 24.
  const auto changed = [&](std::size_t at, std::uint32_t value) {
    std::string other = bytes;
    put_u32(other, at, value);
    seal(other);
    return message_of(other);
  };
  CHECK(changed(0, 0x474c4343U) ==
        "accepted");  // the same magic number shows that the layout is as assumed
  CHECK(changed(24, 2).find("a number of 4 bytes expected") != std::string::npos);
  CHECK(changed(24, 0xffffffffU).find("a number of 4 bytes expected") != std::string::npos);
  CHECK(changed(24, 0) == "p.policy: byte 32: bytes after the last record");
  CHECK(changed(32, 9) == "p.policy: byte 32: unknown kind of record");
  CHECK(changed(36, 0xffffffffU).find("a name of 4294967295 bytes") != std::string::npos);
  CHECK(changed(44, 0xffffffffU).find("but the file has only 40 more") != std::string::npos);
  CHECK(changed(48, 0x0a0a0a0aU).find("printable ASCII") != std::string::npos);
  CHECK(changed(56, 5).find("has 5 dimensions; expected at most 4") != std::string::npos);
  CHECK(changed(60, 0xffffffffU).find("impossible shape") != std::string::npos);
  CHECK(changed(60, 0).find("impossible shape") != std::string::npos);
  CHECK(changed(60, 0x100000U).find("its record has another size") != std::string::npos);
  CHECK(changed(68, 0x7fc00000U) ==
        "p.policy: byte 68: value 0 of tensor 'weights!' is not a finite number");
  CHECK(changed(72, 0xff800000U).find("value 1 of tensor") != std::string::npos);
}

TEST_CASE("a file whose records do not make a network is refused", "[deploy][policy-file]") {
  const PolicyFile whole = to_policy_file(sample_weights(small_shape(), 1), {});
  const auto refusal = [](const PolicyFile& file) {
    std::string message;
    CHECK(load(format_policy(file), &message) == nullptr);
    return message;
  };
  REQUIRE(load(format_policy(whole)) != nullptr);
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    PolicyFile file = whole;
    file.tensors.erase(file.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(refusal(file) == "policy: tensor '" + whole.tensors[i].name + "' is missing");
    file = whole;
    file.tensors[i].shape.back() += 1;
    std::size_t count = 1;
    for (const std::uint32_t size : file.tensors[i].shape) count *= size;
    file.tensors[i].values.assign(count, 1.0F);
    CHECK(refusal(file).starts_with("policy: tensor '" + whole.tensors[i].name + "' must be of"));
  }
  for (std::size_t i = 0; i < whole.tables.size(); ++i) {
    PolicyFile file = whole;
    file.tables.erase(file.tables.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(refusal(file) == "policy: table '" + whole.tables[i].name + "' is missing");
    file = whole;
    file.tables[i].values[0] = 0xffffffffU;  // a huge value
    CHECK(refusal(file).starts_with("policy: table '" + whole.tables[i].name + "' has 4294967295"));
    file.tables[i].values.clear();
    CHECK(refusal(file).starts_with("policy: table '" + whole.tables[i].name + "' has 0 values"));
  }
  for (const char* name : {"features", "knobs", "levels.1"}) {
    PolicyFile file = whole;
    std::erase_if(file.texts, [&](const PolicyFileText& text) { return text.name == name; });
    CHECK(refusal(file) == std::string("policy: text '") + name + "' is missing");
    file.texts.push_back({name, "only one\n"});
    CHECK(refusal(file).find("has 1 lines; expected") != std::string::npos);
  }
  PolicyFile file = whole;
  file.tables.push_back({"masks/m/allreduce", {1, 7}});
  CHECK(refusal(file) == "policy: table 'masks/m/allreduce': node 0 has wrong children");
}

}  // namespace
}  // namespace cclgym
