#include "env/tuning/oracle_table.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/parallel.hpp"
#include "env/tuning/tuning_oracle.hpp"

namespace cclgym {

OracleTable::OracleTable(std::shared_ptr<const CallSite> site,
                         std::shared_ptr<const TuningActions> actions,
                         std::shared_ptr<TimeCache> cache)
    : site_(std::move(site)), actions_(std::move(actions)), cache_(std::move(cache)) {}

OracleTable::Key OracleTable::key_of(const Call& call, std::size_t condition,
                                     std::uint16_t moment) {
  return {static_cast<std::uint8_t>(call.collective), call.root, call.bytes, condition, moment};
}

bool OracleTable::find(const Call& call, std::size_t condition, std::uint16_t moment,
                       BestAction& best) const {
  const std::shared_lock lock(mutex_);
  const auto found = best_.find(key_of(call, condition, moment));
  if (found == best_.end()) return false;
  best = found->second;
  return true;
}

void OracleTable::keep(const Call& call, std::size_t condition, std::uint16_t moment,
                       BestAction best) {
  const std::unique_lock lock(mutex_);
  best_.insert_or_assign(key_of(call, condition, moment), best);
}

std::size_t OracleTable::fill(std::span<const Call> calls, std::span<const std::size_t> conditions,
                              std::size_t threads, const Visitor& visit) {
  for (const CollectiveKind collective : all_collectives()) {
    std::vector<Wanted> wanted;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].collective != collective) continue;
      for (const std::size_t condition : conditions) {
        BestAction known;
        if (visit || !find(calls[i], condition, 0, known)) wanted.push_back({i, condition});
      }
    }
    if (!wanted.empty()) fill_collective(collective, calls, wanted, threads, visit);
  }
  return calls.size() * conditions.size();
}

void OracleTable::fill_collective(CollectiveKind collective, std::span<const Call> calls,
                                  std::span<const Wanted> wanted, std::size_t threads,
                                  const Visitor& visit) {
  const std::size_t legal = actions_->legal_count(collective);
  std::vector<double> times_s(wanted.size() * legal);
  // Neighbouring actions differ only in their last knobs, so a block compiles few programs. Its
  // timer is destroyed at its end, so that not all programs are in memory at once.
  constexpr std::size_t kBlocksPerThread = 8;
  const std::size_t blocks = std::min(legal, kBlocksPerThread * std::max<std::size_t>(threads, 1));
  for_each_index(blocks, threads, [&](std::size_t block) {
    CallTimer timer(site_, cache_);
    TuningOracle oracle(actions_, timer);
    const auto all = actions_->legal_actions(collective);
    const std::size_t n = actions_->knobs().size();
    for (std::size_t action = legal * block / blocks; action < legal * (block + 1) / blocks;
         ++action) {
      for (std::size_t cell = 0; cell < wanted.size(); ++cell) {
        const Wanted& one = wanted[cell];
        const std::span<const std::int32_t> chosen = all.subspan(action * n, n);
        const bool fits = actions_->legal(calls[one.call], chosen);
        times_s[cell * legal + action] =
            fits ? oracle.time(calls[one.call], chosen, one.condition).time_s
                 : std::numeric_limits<double>::infinity();
      }
    }
  });
  for_each_index(wanted.size(), threads, [&](std::size_t cell) {
    const auto times = std::span<const double>(times_s).subspan(cell * legal, legal);
    const auto least = std::ranges::min_element(times);
    const Wanted& one = wanted[cell];
    keep(calls[one.call], one.condition, 0,
         {static_cast<std::uint32_t>(least - times.begin()), *least});
    if (visit) visit(one.call, one.condition, times);
  });
}

}  // namespace cclgym
