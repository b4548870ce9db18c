#include "experiments/training/tensorboard.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "core/split.hpp"

namespace cclgym {

namespace {

// Wire types of protobuf.
constexpr unsigned kVarint = 0;
constexpr unsigned kFixed64 = 1;
constexpr unsigned kBytes = 2;
constexpr unsigned kFixed32 = 5;

// Numbers of fields of tensorflow.Event and tensorflow.Summary.Value.
constexpr unsigned kEventWallTime = 1;
constexpr unsigned kEventStep = 2;
constexpr unsigned kEventFileVersion = 3;
constexpr unsigned kEventSummary = 5;
constexpr unsigned kSummaryValue = 1;
constexpr unsigned kValueTag = 1;
constexpr unsigned kValueSimple = 2;

template <class Number>
std::string little_endian(Number value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7FU) | 0x80U);
  return bytes + static_cast<char>(value);
}

std::string key_of(unsigned field, unsigned wire_type) { return varint(field << 3U | wire_type); }

std::string bytes_field(unsigned field, std::string_view bytes) {
  return key_of(field, kBytes) + varint(bytes.size()) + std::string(bytes);
}

std::string double_field(unsigned field, double value) {
  return key_of(field, kFixed64) + little_endian(std::bit_cast<std::uint64_t>(value));
}

std::string float_field(unsigned field, double value) {
  return key_of(field, kFixed32) +
         little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}

std::string record(const std::string& data) {
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  return length + little_endian(masked_crc32c(length)) + data + little_endian(masked_crc32c(data));
}

std::optional<double> metric(std::string_view field) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || error != std::errc() || end != field.data() + field.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  constexpr std::uint32_t kReversedPolynomial = 0x82F63B78U;
  constexpr std::uint32_t kMaskDelta = 0xA282EAD8U;
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value & 1U) != 0 ? value >> 1U ^ kReversedPolynomial : value >> 1U;
      }
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) {
    crc = crc >> 8U ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
  }
  return std::rotr(~crc, 15) + kMaskDelta;
}

std::string tensorboard_events(std::string_view metrics_csv) {
  std::string events =
      record(double_field(kEventWallTime, 0) + bytes_field(kEventFileVersion, "brain.Event:2"));
  std::vector<std::string_view> names;
  for (std::size_t at = 0, end = 0; (end = metrics_csv.find('\n', at)) != std::string_view::npos;
       at = end + 1) {
    const std::vector<std::string_view> fields = split(metrics_csv.substr(at, end - at), ',');
    if (names.empty()) {
      names = fields;
      continue;
    }
    std::uint64_t step = 0;
    std::string summary;
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
      const auto value = metric(fields[i]);
      if (!value || names[i] == "cpu_s") continue;
      if (names[i] == "iteration") {
        step = static_cast<std::uint64_t>(std::max(*value, 0.0));
        continue;
      }
      std::string tag(names[i]);
      std::ranges::replace(tag, ':', '/');
      summary += bytes_field(kSummaryValue,
                             bytes_field(kValueTag, tag) + float_field(kValueSimple, *value));
    }
    events += record(double_field(kEventWallTime, 0) + key_of(kEventStep, kVarint) + varint(step) +
                     bytes_field(kEventSummary, summary));
  }
  return events;
}

std::string tensorboard_path(const std::string& seed_folder) {
  return seed_folder + "/events.out.tfevents.cclgym";
}

}  // namespace cclgym
