#include "env/gym/wrappers/episode_statistics.hpp"

namespace cclgym {

RecordEpisodeStatistics::RecordEpisodeStatistics(std::unique_ptr<Environment> inner_environment)
    : Wrapper(std::move(inner_environment)),
      spec_(inner().spec()),
      first_(spec_.info_names.size()) {
  spec_.info_names.push_back("episode.r");
  spec_.info_names.push_back("episode.l");
}

StepBuffers RecordEpisodeStatistics::inner_buffers(const StepBuffers& out) const {
  return {out.observation, out.action_mask, out.info.first(first_)};
}

void RecordEpisodeStatistics::reset(std::optional<std::uint64_t> seed, const YamlValue& options,
                                    const StepBuffers& out) {
  inner().reset(seed, options, inner_buffers(out));
  return_ = 0;
  length_ = 0;
  out.info[first_] = kNoInfo;
  out.info[first_ + 1] = kNoInfo;
}

StepOutcome RecordEpisodeStatistics::step(std::span<const std::int32_t> action,
                                          const StepBuffers& out) {
  const StepOutcome outcome = inner().step(action, inner_buffers(out));
  return_ += outcome.reward;
  ++length_;
  out.info[first_] = outcome.done() ? return_ : kNoInfo;
  out.info[first_ + 1] = outcome.done() ? static_cast<double>(length_) : kNoInfo;
  return outcome;
}

}  // namespace cclgym
