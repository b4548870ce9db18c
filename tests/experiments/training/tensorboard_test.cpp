// Reads event files back with a reader of its own, and with TensorBoard's if there is one.
#include "experiments/training/tensorboard.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <vector>

#include "core/files/text_file.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

constexpr const char* kMetrics =
    "iteration,phase,calls,mean_reward,cpu_s,a:oracle_ratio\n"
    "1,warm-start,2048,0.662276,3.5,\n"
    "300,ppo,4096,-1.5,4.25,1.25\n"
    "301,ppo,5";

// CRC-32C bit by bit, from its definition.
std::uint32_t crc_by_bits(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ (0x82F63B78U & (0U - (crc & 1U)));
  }
  return ~crc;
}

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  REQUIRE(at + sizeof(Number) <= bytes.size());
  Number value;
  std::memcpy(&value, bytes.data() + at, sizeof(Number));
  return value;
}

struct Field {
  unsigned number = 0;
  std::uint64_t integer = 0;  // value of a varint or a fixed number
  std::string_view bytes{};
};

std::uint64_t read_varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    REQUIRE(at < bytes.size());
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80) return value;
  }
}

std::vector<Field> fields_of(std::string_view bytes) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t key = read_varint(bytes, at);
    Field field{.number = static_cast<unsigned>(key >> 3U)};
    switch (key & 7U) {
      case 0:
        field.integer = read_varint(bytes, at);
        break;
      case 1:
        field.integer = number_at<std::uint64_t>(bytes, at);
        at += 8;
        break;
      case 2: {
        const std::uint64_t length = read_varint(bytes, at);
        REQUIRE(at + length <= bytes.size());
        field.bytes = bytes.substr(at, length);
        at += length;
        break;
      }
      default:
        REQUIRE((key & 7U) == 5);
        field.integer = number_at<std::uint32_t>(bytes, at);
        at += 4;
    }
    fields.push_back(field);
  }
  return fields;
}

struct ReadEvent {
  double wall_s = 0;
  std::uint64_t step = 0;
  std::string version{};
  std::map<std::string, float> scalars{};
};

std::vector<ReadEvent> events_in(std::string_view file) {
  std::vector<ReadEvent> events;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = number_at<std::uint64_t>(file, at);
    const auto unmasked = [&](std::size_t place) {
      const std::uint32_t rotated = number_at<std::uint32_t>(file, place) - 0xA282EAD8U;
      return std::rotl(rotated, 15);
    };
    CHECK(unmasked(at + 8) == crc_by_bits(file.substr(at, 8)));
    const std::string_view data = file.substr(at + 12, length);
    CHECK(unmasked(at + 12 + length) == crc_by_bits(data));
    at += 16 + length;
    ReadEvent& event = events.emplace_back();
    for (const Field& field : fields_of(data)) {
      if (field.number == 1) event.wall_s = std::bit_cast<double>(field.integer);
      if (field.number == 2) event.step = field.integer;
      if (field.number == 3) event.version = field.bytes;
      if (field.number != 5) continue;
      for (const Field& value : fields_of(field.bytes)) {
        const std::vector<Field> parts = fields_of(value.bytes);
        REQUIRE(parts.size() == 2);
        event.scalars[std::string(parts[0].bytes)] =
            std::bit_cast<float>(static_cast<std::uint32_t>(parts[1].integer));
      }
    }
  }
  return events;
}

TEST_CASE("the checksum of TFRecord is that of RFC 3720, masked", "[experiments][tensorboard]") {
  CHECK(crc_by_bits("123456789") == 0xE3069283U);
  CHECK(masked_crc32c("123456789") == std::rotr(0xE3069283U, 15) + 0xA282EAD8U);
}

TEST_CASE("an event file has the numbers of metrics.csv", "[experiments][tensorboard]") {
  const std::vector<ReadEvent> events = events_in(tensorboard_events(kMetrics));
  REQUIRE(events.size() == 3);
  CHECK(events[0].version == "brain.Event:2");
  CHECK(events[1].step == 1);
  CHECK(events[1].wall_s == 0);
  CHECK(events[1].scalars ==
        std::map<std::string, float>{{"calls", 2048}, {"mean_reward", 0.662276F}});
  CHECK(events[2].step == 300);
  CHECK(events[2].scalars == std::map<std::string, float>{{"calls", 4096},
                                                          {"mean_reward", -1.5F},
                                                          {"a/oracle_ratio", 1.25F}});
  CHECK(tensorboard_events(kMetrics) == tensorboard_events(kMetrics));
  CHECK(events_in(tensorboard_events("")).size() == 1);
}

TEST_CASE("TensorBoard reads the event file", "[experiments][tensorboard]") {
  const std::string python = "python3";
  const char* const given = std::getenv("CCLGYM_TENSORBOARD_PYTHON");
  const std::string program = given != nullptr ? given : python;
  SKIP_UNLESS(
      std::system(("'" + program + "' -c 'import tensorboard' >/dev/null 2>&1").c_str()) == 0,
      "python3 (or CCLGYM_TENSORBOARD_PYTHON) has no package tensorboard");
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("cclgym-events-" + std::to_string(std::random_device{}()));
  std::filesystem::create_directories(folder);
  write_text_file(tensorboard_path(folder.string()), tensorboard_events(kMetrics));
  write_text_file((folder / "read.py").string(),
                  "import sys\n"
                  "from tensorboard.backend.event_processing.event_accumulator import "
                  "EventAccumulator\n"
                  "events = EventAccumulator(sys.argv[1])\n"
                  "events.Reload()\n"
                  "assert sorted(events.Tags()['scalars']) == ['a/oracle_ratio', 'calls', "
                  "'mean_reward']\n"
                  "assert [(e.step, e.value, e.wall_time) for e in events.Scalars('calls')] == "
                  "[(1, 2048.0, 0.0), (300, 4096.0, 0.0)]\n");
  CHECK(std::system(("'" + program + "' '" + (folder / "read.py").string() + "' '" +
                     folder.string() + "' >/dev/null")
                        .c_str()) == 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cclgym
