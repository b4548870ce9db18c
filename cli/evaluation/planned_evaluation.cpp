#include "cli/evaluation/planned_evaluation.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output/dry_run.hpp"
#include "cli/output/json_output.hpp"
#include "cli/support/print.hpp"
#include "core/progress.hpp"

namespace cclgym {

namespace {

// A sample of a part that took longer is not followed by one of more calls.
constexpr double kEnoughTime = 0.5;

struct PartSample {
  std::uint64_t calls = 0;  ///< number for each policy
  double took_s = 0;
};

PartSample sample_of(const EvaluationPlace& place, const EvaluationOptions& options,
                     std::uint64_t calls) {
  PartSample sample;
  for (std::uint64_t wanted = 4;; wanted *= 4) {
    EvaluationOptions few{.calls = std::min(wanted, calls), .seeds = {options.seeds.front()}};
    const double start_s = steady_now_s();
    static_cast<void>(evaluate_policies(place.setup, place.policies, few));
    sample = {.calls = few.calls, .took_s = steady_now_s() - start_s};
    if (sample.calls == calls || sample.took_s > kEnoughTime) return sample;
  }
}

}  // namespace

void print_planned_evaluation(const std::vector<EvaluationPlace>& places,
                              const EvaluationOptions& options, const std::string& folder,
                              bool json) {
  const std::size_t seeds = options.seeds.size();
  std::size_t runs = 0;
  std::uint64_t calls = 0;
  std::uint64_t timed = 0;
  double took_s = 0;
  double estimate_s = 0;
  for (const EvaluationPlace& place : places) {
    const std::uint64_t each = evaluated_calls(*place.setup, place.calls);
    const PartSample sample = sample_of(place, options, each);
    runs += place.policies.size() * seeds;
    calls += place.policies.size() * seeds * each;
    timed += place.policies.size() * sample.calls;
    took_s += sample.took_s;
    estimate_s += sample.took_s / static_cast<double>(sample.calls) * static_cast<double>(each) *
                  static_cast<double>(seeds);
  }
  if (json) {
    print_json({{"parts", places.size()},
                {"runs", runs},
                {"calls", calls},
                {"folder", folder},
                {"timed_calls", timed},
                {"timed_s", took_s},
                {"estimated_s", estimate_s}});
    return;
  }
  print_out("{}runs      {} in {} part{}, {} calls in all\nfolder    {}\n", kNothingWritten, runs,
            places.size(), places.size() == 1 ? "" : "s", calls, folder);
  print_out("time      about {} in one process, going by {} of the calls, which took {} here\n",
            duration_text(estimate_s), timed, duration_text(took_s));
}

}  // namespace cclgym
