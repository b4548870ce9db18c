#include "agents/baselines/trained_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.hpp"

namespace cclgym {

namespace {

constexpr double kTolerance = 0.01;

}  // namespace

OfflineSweep sweep_offline(const TuningSetup& setup, CollectiveKind collective, std::size_t sizes) {
  CallTimer timer(setup.site, setup.cache);
  TuningOracle oracle(setup.actions, timer);
  OfflineSweep sweep;
  sweep.sizes = training_sizes(collective, timer.fabric().ranks(), sizes);
  const std::size_t actions = setup.actions->legal_count(collective);
  for (const std::uint64_t bytes : sweep.sizes) {
    std::vector<double>& times = sweep.time_s.emplace_back(actions);
    oracle.all_times({.collective = collective, .bytes = bytes}, times);
  }
  return sweep;
}

SweepClasses classify(const OfflineSweep& sweep, double tolerance) {
  const std::size_t sizes = sweep.sizes.size();
  const std::size_t actions = sizes > 0 ? sweep.time_s.front().size() : 0;
  std::vector<double> best(sizes);
  for (std::size_t s = 0; s < sizes; ++s) best[s] = *std::ranges::min_element(sweep.time_s[s]);
  SweepClasses classes;
  std::vector<bool> covered(sizes, false);
  while (std::ranges::find(covered, false) != covered.end()) {
    std::size_t chosen = 0;
    std::size_t most = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t action = 0; action < actions; ++action) {
      std::size_t covers = 0;
      double total = 0;
      for (std::size_t s = 0; s < sizes; ++s) {
        const double ratio = sweep.time_s[s][action] / best[s];
        if (covered[s] || ratio > 1 + tolerance) continue;
        ++covers;
        total += ratio;
      }
      if (covers > most || (covers == most && covers > 0 && total < least)) {
        chosen = action;
        most = covers;
        least = total;
      }
    }
    classes.actions.push_back(chosen);
    for (std::size_t s = 0; s < sizes; ++s) {
      if (sweep.time_s[s][chosen] <= (1 + tolerance) * best[s]) covered[s] = true;
    }
  }
  for (std::size_t s = 0; s < sizes; ++s) {
    std::size_t fastest = 0;
    for (std::size_t i = 1; i < classes.actions.size(); ++i) {
      if (sweep.time_s[s][classes.actions[i]] < sweep.time_s[s][classes.actions[fastest]]) {
        fastest = i;
      }
    }
    classes.class_of.push_back(fastest);
  }
  return classes;
}

void TablePolicy::choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  auto [found, is_new] = tables_.try_emplace(call.collective);
  std::map<std::uint64_t, std::size_t>& table = found->second;
  if (is_new) {
    const OfflineSweep sweep = sweep_offline(setup(), call.collective, kSizes);
    for (std::size_t s = 0; s < sweep.sizes.size(); ++s) {
      const auto& times = sweep.time_s[s];
      table[sweep.sizes[s]] =
          static_cast<std::size_t>(std::ranges::min_element(times) - times.begin());
    }
  }
  auto next = table.upper_bound(call.bytes);
  if (next != table.begin()) --next;
  const std::size_t n = action.size();
  std::ranges::copy(actions().legal_actions(call.collective).subspan(next->second * n, n),
                    action.begin());
}

double SvmPolicy::test_accuracy(CollectiveKind collective) const {
  const auto found = models_.find(collective);
  return found == models_.end() ? std::nan("") : found->second.classifier->test_accuracy();
}

void SvmPolicy::choose(const CollectiveTuningEnv& environment, std::span<std::int32_t> action) {
  const Call& call = environment.next_call().call;
  const double log2_ranks = portable_log2(setup().fabric.ranks);
  auto [found, is_new] = models_.try_emplace(call.collective);
  Model& model = found->second;
  if (is_new) {
    const OfflineSweep sweep = sweep_offline(setup(), call.collective, kSizes);
    model.classes = classify(sweep, kTolerance);
    std::vector<SvmSample> samples;
    for (std::size_t s = 0; s < sweep.sizes.size(); ++s) {
      samples.push_back({{portable_log2(static_cast<double>(sweep.sizes[s])), log2_ranks},
                         static_cast<int>(model.classes.class_of[s])});
    }
    model.classifier = std::make_unique<const SvmClassifier>(samples, 1);
  }
  const auto label = static_cast<std::size_t>(
      model.classifier->predict({portable_log2(static_cast<double>(call.bytes)), log2_ranks}));
  const std::size_t n = action.size();
  std::ranges::copy(
      actions().legal_actions(call.collective).subspan(model.classes.actions[label] * n, n),
      action.begin());
}

}  // namespace cclgym
