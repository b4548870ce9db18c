// Jitter: every message of a call is late by a time of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/index.hpp"
#include "sim/graph/firing_tracker.hpp"
#include "sim/lowering/lowering.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/noise/noise_random.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Adds jitter to the messages of a program that is not folded. The jitter delays the arrival of a
/// message, or the flow if the model has no separate arrival. The draw of a message depends on the
/// number of its node.
void add_jitter(LoweredProgram& lowered, const Fabric& fabric, const NoiseProfile& profile,
                const NoiseSeed& seed);

/// The latencies that add_jitter() gives the firings of a folded program if each is a node of its
/// own (unfolded()), drawn whenever they are asked for.
class JitteredLatencies final : public FiringLatencies {
 public:
  /// Null if a message has several arrivals, or not one for each of its firings.
  [[nodiscard]] static std::unique_ptr<JitteredLatencies> make(const LoweredProgram& lowered,
                                                               const Fabric& fabric,
                                                               const NoiseProfile& profile,
                                                               const NoiseSeed& seed);

  [[nodiscard]] bool differ(TransferId node) const override { return messages_of(node) > 0; }
  [[nodiscard]] double latency_s(const OneFiring& firing, double own_s) const override;

 private:
  /// Messages whose jitter delays a node.
  struct Message {
    std::uint64_t first = 0;   ///< number of the first firing's node in an unfolded graph
    std::int32_t lag = 0;      ///< firing of the delayed node less that of the message
    std::int32_t firings = 0;  ///< number of firings of the message
    std::int32_t jitter = 0;   ///< index into jitter_
  };
  explicit JitteredLatencies(const NoiseSeed& seed) : seed_(seed) {}
  [[nodiscard]] std::size_t messages_of(TransferId node) const {
    return begin_[at(node) + 1] - begin_[at(node)];
  }

  NoiseSeed seed_;
  std::vector<MessageJitter> jitter_;  ///< by route
  std::vector<std::size_t> begin_;     ///< by node: its messages_[begin, next begin)
  std::vector<Message> messages_;
};

}  // namespace cclgym
