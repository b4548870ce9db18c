#include "workloads/readers/traces/left_out.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <tuple>
#include <utility>

#include "core/counted.hpp"

namespace cclgym {

namespace {

// Reasons that have a note of their own.
constexpr std::size_t kMostReasons = 8;
// Cells of the table that finds the longest common sequence of calls; beyond them, calls between
// the first and the last difference have no counterpart.
constexpr std::size_t kMostCells = std::size_t{1} << 24;

// Collective and size of a call; sizes of AllToAlls may differ between ranks.
using CallKey = std::tuple<CollectiveKind, std::uint64_t, std::int32_t>;
CallKey key_of_call(const JobOp& op) {
  if (op.kind != JobOpKind::Collective) return {CollectiveKind::Custom, op.bytes, 0};
  return {op.collective, op.collective == CollectiveKind::AllToAll ? 0 : op.bytes, op.root};
}

// Calls of one program in one group, or its messages in one direction: indices of operations.
struct CallSequence {
  std::int32_t program = 0;
  std::vector<std::int32_t> ops{};
};

// A longest common sequence of a and b, apart from the limit kMostCells.
std::vector<CallKey> common_calls(const std::vector<CallKey>& a, const std::vector<CallKey>& b) {
  const auto shorter = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  const auto front = std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin();
  const auto back =
      std::mismatch(a.rbegin(), a.rbegin() + (shorter - front), b.rbegin()).first - a.rbegin();
  std::vector<CallKey> common(a.begin(), a.begin() + front);
  const std::size_t rows = a.size() - at(front + back);
  const std::size_t columns = b.size() - at(front + back);
  if (rows > 0 && columns > 0 && columns + 1 <= kMostCells / (rows + 1)) {
    // Length of the longest common sequence of the calls from row and column on.
    std::vector<std::int32_t> length((rows + 1) * (columns + 1), 0);
    const auto cell = [&](std::size_t row, std::size_t column) -> std::int32_t& {
      return length[row * (columns + 1) + column];
    };
    const auto equal = [&](std::size_t row, std::size_t column) {
      return a[at(front) + row] == b[at(front) + column];
    };
    for (std::size_t row = rows; row-- > 0;) {
      for (std::size_t column = columns; column-- > 0;) {
        cell(row, column) = equal(row, column)
                                ? cell(row + 1, column + 1) + 1
                                : std::max(cell(row + 1, column), cell(row, column + 1));
      }
    }
    for (std::size_t row = 0, column = 0; row < rows && column < columns;) {
      if (equal(row, column)) {
        common.push_back(a[at(front) + row]);
        ++row;
        ++column;
      } else {
        (cell(row + 1, column) >= cell(row, column + 1) ? row : column) += 1;
      }
    }
  }
  common.insert(common.end(), a.end() - back, a.end());
  return common;
}

class CallMatcher {
 public:
  CallMatcher(JobGraph& job, LeftOutCalls& left_out) : job_(job), left_out_(left_out) {}

  // A program that several ranks share may lose a call because of one of them, so others follow.
  void run() {
    do {
      changed_ = false;
      match_collectives();
      match_messages();
    } while (changed_);
  }

 private:
  void match_collectives() {
    // By program, by JobOp::communicator.
    std::vector<std::map<std::int32_t, std::vector<std::int32_t>>> calls(job_.programs.size());
    for (std::size_t program = 0; program < calls.size(); ++program) {
      const std::vector<JobOp>& ops = job_.programs[program].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind != JobOpKind::Collective) continue;
        calls[program][ops[i].communicator].push_back(static_cast<std::int32_t>(i));
      }
    }
    for (std::size_t group = 0; group < job_.groups.size(); ++group) {
      std::vector<CallSequence> members;
      std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> known;
      for (const std::int32_t rank : job_.groups[group].ranks) {
        const std::int32_t program = job_.program_of[at(rank)];
        const std::vector<std::int32_t>& own = job_.groups_of[at(rank)];
        const auto slot = static_cast<std::int32_t>(
            std::find(own.begin(), own.end(), static_cast<std::int32_t>(group)) - own.begin());
        if (!known.try_emplace({program, slot}, 0).second) continue;
        const auto found = calls[at(program)].find(slot);
        members.push_back({program, found == calls[at(program)].end() ? std::vector<std::int32_t>{}
                                                                      : found->second});
      }
      match(members, job_.groups[group].communicator);
    }
  }

  void match_messages() {
    // (group, sender, receiver, tag)
    std::map<std::array<std::int32_t, 4>, std::vector<CallSequence>> channels;
    for (std::int32_t rank = 0; rank < job_.ranks; ++rank) {
      const std::int32_t program = job_.program_of[at(rank)];
      const std::vector<JobOp>& ops = job_.programs[at(program)].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const bool sends = ops[i].kind == JobOpKind::Send;
        if (!sends && ops[i].kind != JobOpKind::Recv) continue;
        const std::int32_t group = job_.groups_of[at(rank)][at(ops[i].communicator)];
        const std::int32_t peer = job_.groups[at(group)].ranks[at(ops[i].peer)];
        std::vector<CallSequence>& ends =
            channels[{group, sends ? rank : peer, sends ? peer : rank, ops[i].tag}];
        if (ends.empty()) ends.resize(2);
        CallSequence& own = ends[sends ? 0 : 1];
        own.program = program;
        own.ops.push_back(static_cast<std::int32_t>(i));
      }
    }
    for (const auto& [key, ends] : channels) match(ends, job_.groups[at(key[0])].communicator);
  }

  [[nodiscard]] std::vector<CallKey> keys_of(const CallSequence& calls) const {
    std::vector<CallKey> keys;
    for (const std::int32_t op : calls.ops) {
      const JobOp& call = job_.programs[at(calls.program)].ops[at(op)];
      // An operation that an earlier group of this pass has left out matches none.
      if (call.kind != JobOpKind::Compute) keys.push_back(key_of_call(call));
    }
    return keys;
  }

  void match(const std::vector<CallSequence>& members, std::int32_t communicator) {
    if (members.size() < 2) return;
    std::vector<CallKey> common = keys_of(members.front());
    for (std::size_t i = 1; i < members.size(); ++i) {
      const std::vector<CallKey> other = keys_of(members[i]);
      if (other != common) common = common_calls(common, other);
    }
    const std::string reason =
        fmt::format("other ranks of {} do not make them, or their traces do not describe them",
                    quoted(job_.communicators[at(communicator)].name));
    for (const CallSequence& member : members) {
      RankProgram& program = job_.programs[at(member.program)];
      auto next = common.begin();
      for (const std::int32_t index : member.ops) {
        JobOp& op = program.ops[at(index)];
        if (op.kind == JobOpKind::Compute) continue;
        if (next != common.end() && *next == key_of_call(op)) {
          ++next;
          continue;
        }
        left_out_.leave_out(op, program.file, job_.names[at(op.name)], reason);
        changed_ = true;
      }
    }
  }

  JobGraph& job_;
  LeftOutCalls& left_out_;
  bool changed_ = false;
};

}  // namespace

void LeftOutCalls::leave_out(JobOp& op, const std::string& file, std::string_view name,
                             const std::string& reason) {
  op = {.stream = op.stream,
        .name = op.name,
        .origin_column = op.origin_column,
        .origin = op.origin,
        .seconds = op.seconds,
        .communicates = true};
  const bool kept = rows_.size() < kMostReasons || row_of_.contains(reason);
  const auto [place, added] = row_of_.try_emplace(kept ? reason : "other reasons", rows_.size());
  if (added) {
    rows_.push_back(
        {.reason = place->first, .file = file, .name = std::string(name), .origin = op.origin});
  }
  rows_[place->second].count += 1;
  rows_[place->second].seconds += op.seconds;
}

std::vector<std::string> LeftOutCalls::notes(std::string_view word) const {
  std::vector<Row> rows = rows_;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  std::vector<std::string> notes;
  for (const Row& row : rows) {
    const bool one = row.count == 1;
    std::string share =
        fmt::format("{:.3g} % of the communication",
                    communication_s_ > 0 ? 100 * row.seconds / communication_s_ : 0);
    if (step_s_ > 0)
      share += fmt::format(" and {:.3g} % of the steps", 100 * row.seconds / step_s_);
    notes.push_back(fmt::format(
        "{} of communication cannot be simulated and {} measured duration{}, {} in the traces: {} "
        "({}{} {} of {}, {})",
        counted(row.count, word), one ? "keeps its" : "keep their", one ? "" : "s", share,
        row.reason, one ? "" : "the first is ", word, row.origin, row.file, quoted(row.name)));
  }
  return notes;
}

void leave_out_unmatched_calls(JobGraph& job, LeftOutCalls& left_out) {
  CallMatcher(job, left_out).run();
}

}  // namespace cclgym
