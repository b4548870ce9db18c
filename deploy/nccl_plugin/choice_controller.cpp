#include "deploy/nccl_plugin/choice_controller.hpp"

#include <algorithm>
#include <limits>

namespace cclgym {

namespace {

// Collectives for whose missing reports the controller waits.
constexpr std::uint64_t kJoinPatience = 256;
// After so many in a row that a rank did not report, the rank counts as lost.
constexpr int kMostMissed = 64;
// Times of no meaning, such as 0, count as this much, us.
constexpr double kLeastPredicted_us = 0.1;
// The choice without the loop is the first to be tried: its prior is this share of the least one.
constexpr double kPreferred = 0.999;

// Calls of which the least counts as the time of a tree: as many as the learner's mean has.
constexpr std::size_t kTreeCalls = 9;

bool waits_for_all(std::size_t collective) {
  return collective == CCLGYM_NCCL_ALLGATHER || collective == CCLGYM_NCCL_REDUCESCATTER ||
         collective == CCLGYM_NCCL_ALLREDUCE;
}

}  // namespace

LearnerOptions plugin_learner_options() {
  LearnerOptions options{.prior_deviation = 0.5, .widest = 1.1};
  options.bytes.sigma = 0.3;  // the counters' interval is not that of the call
  return options;
}

CallReport to_report(const MeasuredCollective& measured) {
  return {.call = measured.sequence,
          .key = measured.number,
          .table = measured.config,
          .time_s = measured.time_s,
          .received_bytes = measured.received_bytes};
}

MeasuredCollective from_report(const CallReport& report) {
  MeasuredCollective measured{.sequence = report.call};
  measured.number = static_cast<std::uint16_t>(std::min<std::uint64_t>(report.key, kLoopClasses));
  measured.config = static_cast<std::uint8_t>(std::min<std::uint64_t>(report.table, kLoopConfigs));
  measured.time_s = report.time_s;
  measured.received_bytes = report.received_bytes;
  return measured;
}

ChoiceController::ChoiceController(LoopGroup& group, std::int32_t ranks,
                                   const LearnerOptions& options)
    : group_(group), ranks_(ranks), learner_(std::vector<std::vector<double>>{}, options) {
  proposed_.emplace(0, std::string());
}

void ChoiceController::add(const AskedClass& asked) {
  if (asked.number >= kLoopClasses || asked.config >= kLoopConfigs ||
      asked.predicted_us[asked.config] < 0 || known_.contains(asked.number)) {
    return;
  }
  std::vector<double> prior_s;
  double least = std::numeric_limits<double>::infinity();
  for (const float time_us : asked.predicted_us) {
    const bool legal = time_us >= 0;
    prior_s.push_back(legal ? std::max<double>(time_us, kLeastPredicted_us) * 1e-6
                            : std::numeric_limits<double>::infinity());
    least = std::min(least, prior_s.back());
  }
  prior_s[asked.config] = kPreferred * least;
  learner_.add_class(prior_s);
  known_.emplace(asked.number, classes_.size());
  classes_.push_back(asked);
}

void ChoiceController::step() {
  std::vector<CallReport> reports;
  group_.take_reports(reports);
  taken_ += reports.size();
  for (const CallReport& report : reports) join(report);
  for (std::size_t collective = 0; collective < joined_.size(); ++collective) {
    auto& joined = joined_[collective];
    while (!joined.empty()) {
      const auto first = joined.begin();
      const bool complete = first->second.reports == ranks_;
      if (!complete && first->first + kJoinPatience > newest_[collective]) break;
      const Joined one = std::move(first->second);
      joined.erase(first);
      complete ? learn(one) : miss(one);
    }
  }
  if (changed_) propose();
}

void ChoiceController::join(const CallReport& report) {
  const MeasuredCollective own = from_report(report);
  if (own.number >= kLoopClasses || own.config >= kLoopConfigs || report.rank < 0 ||
      report.rank >= ranks_) {
    return;
  }
  const std::size_t collective = own.number / kLoopSizes;
  if (own.sequence + kJoinPatience < newest_[collective]) return;
  newest_[collective] = std::max(newest_[collective], own.sequence);
  Joined& one = joined_[collective][own.sequence];
  if (one.reports == 0) {
    one.ranks.assign(static_cast<std::size_t>(ranks_), false);
    one.first = own;
    one.least_s = own.time_s;
  }
  auto reported = one.ranks[static_cast<std::size_t>(report.rank)];
  if (reported) return;
  reported = true;
  ++one.reports;
  one.mixed = one.mixed || own.number != one.first.number || own.config != one.first.config;
  one.least_s = std::min(one.least_s, own.time_s);
  one.most_s = std::max(one.most_s, own.time_s);
  one.bytes += static_cast<double>(own.received_bytes);
  if (own.received_bytes > 0) ++one.counted;
}

void ChoiceController::learn(const Joined& one) {
  missed_ = 0;
  const auto known = known_.find(one.first.number);
  if (one.mixed || known == known_.end()) return;
  ++learned_;
  const std::optional<double> time_s = time_of(one);
  if (!time_s) return;
  changed_ = learner_.observe({.group = known->second,
                               .config = one.first.config,
                               .time_s = *time_s,
                               .bytes = one.counted == ranks_ ? one.bytes : 0}) ||
             changed_;
}

std::optional<double> ChoiceController::time_of(const Joined& one) {
  const std::size_t collective = one.first.number / kLoopSizes;
  if (!waits_for_all(collective)) return one.most_s;
  if (collective != CCLGYM_NCCL_ALLREDUCE ||
      one.first.config / CCLGYM_NCCL_PROTOCOLS != CCLGYM_NCCL_TREE) {
    return one.least_s;
  }
  std::deque<double>& recent = trees_[{one.first.number, one.first.config}];
  recent.push_back(one.most_s);
  if (recent.size() < kTreeCalls) return std::nullopt;
  if (recent.size() > kTreeCalls) recent.pop_front();
  return *std::ranges::min_element(recent);
}

void ChoiceController::miss(const Joined& one) {
  if (++missed_ != kMostMissed) return;
  const auto silent = std::ranges::find(one.ranks, false);
  group_.switch_off("rank " + std::to_string(silent - one.ranks.begin()) + " reports no times");
}

std::vector<LoopChoice> ChoiceController::choices() const {
  std::vector<LoopChoice> choices;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const AskedClass& asked = classes_[i];
    const std::size_t config = learner_.table()[i];
    if (config == asked.config) continue;
    choices.push_back({.number = asked.number,
                       .algorithm = static_cast<std::uint8_t>(config / CCLGYM_NCCL_PROTOCOLS),
                       .protocol = static_cast<std::uint8_t>(config % CCLGYM_NCCL_PROTOCOLS),
                       .channels = asked.channels[config]});
  }
  return choices;
}

void ChoiceController::propose() {
  if (!group_.settled()) return;
  const LoopStatus status = group_.status();
  if (!status.off.empty()) {
    changed_ = false;  // for good
    return;
  }
  std::string text = loop_table_text(choices());
  const auto in_force = proposed_.find(status.committed);
  if (in_force != proposed_.end() && in_force->second == text) {
    changed_ = false;
    return;
  }
  const auto number = group_.propose(text);
  if (!number) return;
  proposed_.erase(proposed_.begin(), in_force);
  proposed_[*number] = std::move(text);
}

}  // namespace cclgym
