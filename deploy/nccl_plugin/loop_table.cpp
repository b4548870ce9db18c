#include "deploy/nccl_plugin/loop_table.hpp"

#include "deploy/nccl_plugin/deployed_policy.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kChoiceBytes = 5;

}  // namespace

LoopClasses::LoopClasses() : sizes_(deployed_sizes()) {}

std::size_t LoopClasses::of(int collective, std::uint64_t bytes) const {
  if (collective < 0 || static_cast<std::size_t>(collective) >= kNcclCollectiveNames.size()) {
    return kLoopClasses;
  }
  return static_cast<std::size_t>(collective) * kLoopSizes + place_of_size(sizes_, bytes);
}

std::string loop_table_text(std::span<const LoopChoice> choices) {
  std::string text;
  for (const LoopChoice& one : choices) {
    text += static_cast<char>(one.number / kLoopSizes);
    text += static_cast<char>(one.number % kLoopSizes);
    text += static_cast<char>(one.algorithm);
    text += static_cast<char>(one.protocol);
    text += static_cast<char>(one.channels);
  }
  return text;
}

bool LoopTable::read(std::string_view text) {
  has_.fill(false);
  if (text.size() % kChoiceBytes != 0) return false;
  for (std::size_t at = 0; at < text.size(); at += kChoiceBytes) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
    if (byte(0) >= kNcclCollectiveNames.size() || byte(1) >= kLoopSizes ||
        byte(2) >= CCLGYM_NCCL_ALGORITHMS || byte(3) >= CCLGYM_NCCL_PROTOCOLS ||
        byte(4) > kMostTunerChannels) {
      has_.fill(false);
      return false;
    }
    const std::size_t number = byte(0) * kLoopSizes + byte(1);
    choices_[number] = {.number = static_cast<std::uint16_t>(number),
                        .algorithm = byte(2),
                        .protocol = byte(3),
                        .channels = byte(4)};
    has_[number] = true;
  }
  return true;
}

}  // namespace cclgym
