// Helpers shared by the tests of CollectiveTuning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "env/tuning/collective_tuning.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

inline std::shared_ptr<const TuningSetup> setup_of(const std::string& yaml) {
  return read_tuning_setup(parse_yaml(yaml, "test.yaml"));
}

inline constexpr CollectiveKind kTuned[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                            CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                            CollectiveKind::AllToNext};
/// Workload of all environments here: calls of the collectives above.
inline const std::string kAllCollectives =
    "workload: {name: curriculum, collectives: "
    "[allreduce, allgather, reducescatter, alltoall, alltonext]}";

inline Call random_call(Random& random, int ranks, unsigned largest_log2 = 26) {
  const CollectiveKind kind = kTuned[random.integer(0, 4)];
  const auto bits = static_cast<unsigned>(random.integer(8, static_cast<int>(largest_log2)));
  const auto bytes = (std::uint64_t{1} << bits) +
                     static_cast<std::uint64_t>(random.integer(0, (std::int64_t{1} << bits) - 1));
  return {.collective = kind, .bytes = fitting_bytes(kind, bytes, ranks)};
}

inline std::vector<std::int32_t> random_action(Random& random, const TuningActions& actions,
                                               CollectiveKind kind) {
  const auto all = actions.legal_actions(kind);
  const std::size_t n = actions.knobs().size();
  const auto row = static_cast<std::size_t>(
      random.integer(0, static_cast<std::int64_t>(actions.legal_count(kind)) - 1));
  return {all.begin() + static_cast<std::ptrdiff_t>(row * n),
          all.begin() + static_cast<std::ptrdiff_t>((row + 1) * n)};
}

inline constexpr std::size_t kOfflineKnobs = 8;  ///< knobs of profile offline

}  // namespace cclgym::test
