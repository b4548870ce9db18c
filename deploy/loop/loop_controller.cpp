#include "deploy/loop/loop_controller.hpp"

#include <algorithm>
#include <utility>

namespace cclgym {

namespace {

// Calls for whose missing reports the leader waits.
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

LoopLeader::LoopLeader(LoopGroup& group, std::int32_t ranks, std::vector<std::uint16_t> first)
    : group_(group), ranks_(ranks) {
  tables_.emplace(0, std::move(first));
}

std::vector<JoinedCall> LoopLeader::take() {
  std::vector<CallReport> reports;
  group_.take_reports(reports);
  for (const CallReport& report : reports) join(report);
  std::vector<JoinedCall> joined;
  while (!joining_.empty()) {
    const auto [number, one] = *joining_.begin();
    const bool complete = one.reports == ranks_;
    if (!complete && number + kPatience > newest_) break;  // in order: the later ones wait, too
    joining_.erase(joining_.begin());
    const auto table = tables_.find(one.table);
    if (!complete || table == tables_.end() || one.call.group >= table->second.size()) continue;
    joined.push_back({.number = number, .call = one.call});
    joined.back().call.config = table->second[one.call.group];
  }
  return joined;
}

void LoopLeader::join(const CallReport& report) {
  if (report.call + kPatience < newest_) return;
  newest_ = std::max(newest_, report.call);
  Joining& one = joining_[report.call];
  ++one.reports;
  one.table = report.table;
  one.call.group = report.key;
  one.call.time_s = std::max(one.call.time_s, report.time_s);
  one.call.bytes += static_cast<double>(report.received_bytes);
}

void LoopLeader::offer(const std::vector<std::uint16_t>& table) {
  // A proposal may have been dropped: what counts is the table that was decided.
  if (!group_.settled()) return;
  const auto decided = tables_.find(group_.status().committed);
  if (decided != tables_.end() && decided->second == table) return;
  const auto number = group_.propose(table_text(table));
  if (!number) return;  // later: the change before is not decided yet
  tables_[*number] = table;
  if (tables_.size() > kKnownTables) tables_.erase(tables_.begin());
  ++proposals_;
}

LoopController::LoopController(LoopGroup& group, std::int32_t ranks, TableLearner learner)
    : learner_(std::move(learner)), leader_(group, ranks, learner_.table()) {}

void LoopController::step() {
  for (const JoinedCall& one : leader_.take()) {
    const std::uint64_t before = learner_.alarms();
    (void)learner_.observe(one.call);
    ++learned_;
    if (learner_.alarms() != before) alarms_.push_back(one.number);
  }
  leader_.offer(learner_.table());
}

}  // namespace cclgym
