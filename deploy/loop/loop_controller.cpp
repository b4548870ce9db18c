#include "deploy/loop/loop_controller.hpp"

#include <algorithm>
#include <utility>

namespace cclgym {

namespace {

// Calls for whose missing reports the controller waits.
constexpr std::uint64_t kPatience = 256;
constexpr std::size_t kKnownTables = 64;

}  // namespace

std::string table_text(const std::vector<std::uint16_t>& table) {
  std::string text;
  for (const std::uint16_t config : table) {
    text += static_cast<char>(config & 0xFFU);
    text += static_cast<char>(config >> 8U);
  }
  return text;
}

std::vector<std::uint16_t> read_table(const std::string& text, std::size_t classes) {
  if (text.size() != 2 * classes) return {};
  std::vector<std::uint16_t> table;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    table.push_back(static_cast<std::uint16_t>(static_cast<unsigned char>(text[i]) |
                                               static_cast<unsigned char>(text[i + 1]) << 8U));
  }
  return table;
}

LoopController::LoopController(LoopGroup& group, std::int32_t ranks, TableLearner learner)
    : group_(group), ranks_(ranks), learner_(std::move(learner)) {
  tables_.emplace(0, learner_.table());
}

void LoopController::step() {
  std::vector<CallReport> reports;
  group_.take_reports(reports);
  for (const CallReport& report : reports) join(report);
  while (!joined_.empty()) {
    const auto [call, one] = *joined_.begin();
    const bool complete = one.reports == ranks_;
    if (!complete && call + kPatience > newest_) break;  // in order: the later ones wait, too
    joined_.erase(joined_.begin());
    const auto table = tables_.find(one.table);
    if (!complete || table == tables_.end() || one.call.group >= table->second.size()) continue;
    LearnerCall learned = one.call;
    learned.config = table->second[learned.group];
    const std::uint64_t before = learner_.alarms();
    (void)learner_.observe(learned);
    if (learner_.alarms() != before) alarms_.push_back(call);
  }
  // A proposal may have been dropped: what counts is the table that was decided.
  if (!group_.settled()) return;
  const auto decided = tables_.find(group_.status().committed);
  if (decided == tables_.end() || decided->second != learner_.table()) propose();
}

void LoopController::join(const CallReport& report) {
  if (report.call + kPatience < newest_) return;
  newest_ = std::max(newest_, report.call);
  Joined& one = joined_[report.call];
  ++one.reports;
  one.table = report.table;
  one.call.group = report.key;
  one.call.time_s = std::max(one.call.time_s, report.time_s);
  one.call.bytes += static_cast<double>(report.received_bytes);
}

void LoopController::propose() {
  const auto number = group_.propose(table_text(learner_.table()));
  if (!number) return;  // later: the change before is not decided yet
  tables_[*number] = learner_.table();
  if (tables_.size() > kKnownTables) tables_.erase(tables_.begin());
  ++proposals_;
}

}  // namespace cclgym
