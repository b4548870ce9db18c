#pragma once

#include "env/gym/wrapper.hpp"

namespace cclgym {

/// Adds to `info`, in the last step of an episode, the return "episode.r" (sum of the rewards) and
/// the length "episode.l" (steps); kNoInfo in all other steps. Gymnasium's third number, wall-clock
/// time, is left out so that the same seed gives the same bits.
class RecordEpisodeStatistics : public Wrapper {
 public:
  explicit RecordEpisodeStatistics(std::unique_ptr<Environment> inner);

  [[nodiscard]] const EnvironmentSpec& spec() const override { return spec_; }
  using Wrapper::reset;
  void reset(std::optional<std::uint64_t> seed, const YamlValue& options,
             const StepBuffers& out) override;
  StepOutcome step(std::span<const std::int32_t> action, const StepBuffers& out) override;

 private:
  [[nodiscard]] StepBuffers inner_buffers(const StepBuffers& out) const;

  EnvironmentSpec spec_;
  std::size_t first_;  ///< position of these numbers in info
  double return_ = 0;
  std::int64_t length_ = 0;
};

}  // namespace cclgym
