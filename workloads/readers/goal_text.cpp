// The grammar of GOAL, as the converter of LogGOPSim (txt2bin) accepts it;
// docs/workloads-reference.md lists the deviations.
#include "workloads/readers/goal_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

namespace cclgym {

namespace {

enum class GoalTokenKind : std::uint8_t { Word, Number, Mark, LineEnd, End };

struct GoalToken {
  GoalTokenKind kind = GoalTokenKind::End;
  std::string_view text{};
  std::size_t offset = 0;
  std::uint32_t line = 1;

  [[nodiscard]] bool is(std::string_view expected) const {
    return (kind == GoalTokenKind::Word || kind == GoalTokenKind::Mark) && text == expected;
  }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class GoalParser {
 public:
  GoalParser(std::string_view text, const std::string& file, const JobLimits& limits)
      : text_(text), file_(file), limits_(limits) {
    if (text.size() > limits.goal_bytes ||
        text.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw UserError({.file = file}, fmt::format("the schedule has {} bytes; expected at most {}",
                                                  text.size(), limits.goal_bytes));
    }
    next();
  }

  GoalSchedule read() {
    skip_lines();
    if (!token_.is("num_ranks")) {
      refuse_token("a schedule starts with its number of ranks; expected 'num_ranks N'");
    }
    next();
    const GoalToken place = token_;
    const std::uint64_t ranks = number("the number of ranks");
    if (ranks < 1 || std::cmp_greater(ranks, limits_.ranks)) {
      refuse(place.offset,
             fmt::format("the number of ranks is {}; expected 1 to {}", ranks, limits_.ranks));
    }
    schedule_.ranks = static_cast<std::int32_t>(ranks);
    while (skip_lines(), token_.kind != GoalTokenKind::End) read_rank();
    check_all_ranks();
    return std::move(schedule_);
  }

 private:
  [[noreturn]] void refuse(std::size_t offset, const std::string& message) const {
    throw UserError(place_in(text_, file_, offset), message);
  }
  [[noreturn]] void refuse_token(const std::string& message) const {
    const std::string found = token_.kind == GoalTokenKind::End       ? "the end of the text"
                              : token_.kind == GoalTokenKind::LineEnd ? "the end of the line"
                                                                      : quoted(token_.text);
    refuse(token_.offset, fmt::format("found {}; {}", found, message));
  }

  // Reads the next token; line breaks are tokens, because they end statements.
  void next() {
    skip_blanks();
    token_ = {.offset = at_, .line = line_};
    if (at_ == text_.size()) return;
    const std::size_t begin = at_;
    const char first = text_[at_++];
    if (first == '\n') {
      token_.kind = GoalTokenKind::LineEnd;
      ++line_;
    } else if (is_digit(first)) {
      token_.kind = GoalTokenKind::Number;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    } else if (is_letter(first)) {
      token_.kind = GoalTokenKind::Word;
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    } else {
      token_.kind = GoalTokenKind::Mark;
    }
    token_.text = text_.substr(begin, at_ - begin);
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) refuse(at_, "the comment has no end; expected '*/'");
        const std::string_view comment = text_.substr(at_, end - at_);
        line_ += static_cast<std::uint32_t>(std::count(comment.begin(), comment.end(), '\n'));
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  void skip_lines() {
    while (token_.kind == GoalTokenKind::LineEnd || token_.is(";")) next();
  }

  std::uint64_t number(std::string_view what) {
    if (token_.is("-")) refuse(token_.offset, fmt::format("{} is negative", what));
    if (token_.kind != GoalTokenKind::Number) {
      refuse_token(fmt::format("expected {}, a whole number", what));
    }
    std::uint64_t value = 0;
    for (const char digit : token_.text) {
      if (__builtin_mul_overflow(value, 10U, &value) ||
          __builtin_add_overflow(value, static_cast<std::uint64_t>(digit - '0'), &value)) {
        refuse(token_.offset,
               fmt::format("{} is {}; expected less than 2^64", what, quoted(token_.text)));
      }
    }
    next();
    return value;
  }

  std::int32_t small_number(std::string_view what, std::uint64_t max) {
    const std::size_t offset = token_.offset;
    const std::uint64_t value = number(what);
    if (value > max) {
      refuse(offset, fmt::format("{} is {}; expected 0 to {}", what, value, max));
    }
    return static_cast<std::int32_t>(value);
  }

  void expect(std::string_view word, std::string_view where) {
    if (!token_.is(word)) refuse_token(fmt::format("expected '{}' {}", word, where));
    next();
  }

  void read_rank() {
    if (!token_.is("rank")) refuse_token("expected 'rank R {' or the end of the text");
    const std::size_t begin = token_.offset;
    next();
    const std::size_t place = token_.offset;
    rank_ = small_number("the rank", static_cast<std::uint64_t>(limits_.ranks));
    if (rank_ >= schedule_.ranks) {
      refuse(place, fmt::format("found rank {}, but the schedule has ranks 0 to {}", rank_,
                                schedule_.ranks - 1));
    }
    if (read_.size() <= static_cast<std::size_t>(rank_)) {
      read_.resize(static_cast<std::size_t>(rank_) + 1);
    }
    if (read_[static_cast<std::size_t>(rank_)]) {
      refuse(place, fmt::format("rank {} has a second block; expected one block per rank", rank_));
    }
    read_[static_cast<std::size_t>(rank_)] = true;
    skip_lines();
    expect("{", "after the rank");
    labels_.clear();
    pending_.clear();
    while (skip_lines(), !token_.is("}")) {
      if (token_.kind == GoalTokenKind::End) {
        refuse_token(fmt::format("expected '}}', which ends the block of rank {} of line {}", rank_,
                                 place_in(text_, file_, begin).line));
      }
      read_statement();
      if (token_.kind != GoalTokenKind::LineEnd && token_.kind != GoalTokenKind::End &&
          !token_.is(";") && !token_.is("}")) {
        refuse_token("expected the end of the statement");
      }
    }
    next();
    resolve();
  }

  void read_statement() {
    if (token_.kind != GoalTokenKind::Word) {
      refuse_token("expected a label, calc, send, recv or '}'");
    }
    if (read_op()) return;
    const GoalToken label = token_;
    next();
    if (token_.is(":")) {
      next();
      if (!read_op()) refuse_token("expected calc, send or recv after the label");
      const auto op = static_cast<std::uint32_t>(schedule_.ops.size() - 1);
      const auto [known, added] = labels_.emplace(label.text, op);
      if (!added) {
        refuse(label.offset,
               fmt::format("label {} is given twice; rank {} has it in line {} already",
                           quoted(label.text), rank_, schedule_.ops[known->second].line));
      }
      return;
    }
    const bool start = token_.is("irequires");
    if (!start && !token_.is("requires")) {
      refuse_token(fmt::format("expected ':', requires or irequires after {}", quoted(label.text)));
    }
    next();
    if (token_.kind != GoalTokenKind::Word) refuse_token("expected a label");
    if (std::cmp_greater_equal(schedule_.dependencies.size() + pending_.size(),
                               limits_.dependencies)) {
      refuse(token_.offset,
             fmt::format("the schedule has more than {} dependencies", limits_.dependencies));
    }
    pending_.push_back({label, token_, start});
    next();
  }

  bool read_op() {
    GoalOp op;
    if (token_.is("calc")) {
      op.kind = GoalOpKind::Calc;
    } else if (token_.is("send")) {
      op.kind = GoalOpKind::Send;
    } else if (token_.is("recv")) {
      op.kind = GoalOpKind::Recv;
    } else {
      return false;
    }
    if (std::cmp_greater_equal(schedule_.ops.size(), limits_.ops)) {
      refuse(token_.offset, fmt::format("the schedule has more than {} operations", limits_.ops));
    }
    op.offset = static_cast<std::uint32_t>(token_.offset);
    op.line = token_.line;
    op.rank = rank_;
    next();
    if (op.kind == GoalOpKind::Calc) {
      op.size = number("the duration");
    } else {
      read_message(op);
    }
    read_places(op);
    schedule_.ops.push_back(op);
    return true;
  }

  void read_message(GoalOp& op) {
    op.size = number("the size");
    expect("b", "after the size");
    const bool send = op.kind == GoalOpKind::Send;
    expect(send ? "to" : "from", send ? "and the receiver" : "and the sender");
    const std::size_t place = token_.offset;
    if (token_.is("-")) refuse_any(send ? "the receiver" : "the sender");
    op.peer = small_number(send ? "the receiver" : "the sender",
                           static_cast<std::uint64_t>(schedule_.ranks - 1));
    if (op.peer == rank_) refuse(place, fmt::format("rank {} sends to itself", rank_));
  }

  [[noreturn]] void refuse_any(std::string_view what) {
    const std::size_t place = token_.offset;
    next();
    if (token_.text == "1") {
      refuse(place, fmt::format("{} is -1 (any), which a job cannot express; expected a number "
                                ">= 0",
                                what));
    }
    refuse(place, fmt::format("{} is negative", what));
  }

  // tag, cpu and nic, each at most once.
  void read_places(GoalOp& op) {
    bool tag = op.kind == GoalOpKind::Calc;
    bool cpu = false;
    bool nic = op.kind == GoalOpKind::Calc;
    while (token_.kind == GoalTokenKind::Word) {
      if (!tag && token_.is("tag")) {
        next();
        if (token_.is("-")) refuse_any("the tag");
        op.tag = small_number("the tag", std::numeric_limits<std::int32_t>::max());
        tag = true;
      } else if (!cpu && token_.is("cpu")) {
        next();
        op.cpu = static_cast<std::uint8_t>(small_number("the CPU", 255));
        cpu = true;
      } else if (!nic && token_.is("nic")) {
        next();
        op.nic = static_cast<std::uint8_t>(small_number("the NIC", 255));
        nic = true;
      } else {
        refuse_token(op.kind == GoalOpKind::Calc
                         ? "expected cpu or the end of the statement"
                         : "expected tag, cpu, nic (each once) or the end of the statement");
      }
    }
  }

  void resolve() {
    const auto op_of = [&](const GoalToken& label) {
      const auto found = labels_.find(label.text);
      if (found != labels_.end()) return found->second;
      std::vector<std::string> some;  // enough for a hint, not millions of names
      for (const auto& [name, op] : labels_) {
        if (some.size() == 1000) break;
        some.emplace_back(name);
      }
      std::sort(some.begin(), some.end());
      const std::string nearest = nearest_name(label.text, some);
      refuse(
          label.offset,
          fmt::format("label {} is not defined in the block of rank {}{}", quoted(label.text),
                      rank_, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
    };
    for (const Pending& one : pending_) {
      schedule_.dependencies.push_back({op_of(one.label), op_of(one.on), one.start});
    }
  }

  void check_all_ranks() const {
    for (std::int32_t rank = 0; rank < schedule_.ranks; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      if (index < read_.size() && read_[index]) continue;
      refuse(token_.offset,
             fmt::format("rank {} has no block, but the schedule has ranks 0 to {}; an idle rank "
                         "has an empty one: 'rank {} {{ }}'",
                         rank, schedule_.ranks - 1, rank));
    }
  }

  struct Pending {
    GoalToken label;
    GoalToken on;
    bool start = false;
  };

  std::string_view text_;
  const std::string& file_;
  const JobLimits& limits_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  GoalToken token_;
  GoalSchedule schedule_;
  std::vector<bool> read_;  ///< ranks that had their block
  std::int32_t rank_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> labels_;  ///< operations of the block
  std::vector<Pending> pending_;                                ///< dependencies of the block
};

}  // namespace

std::string_view to_string(GoalOpKind kind) {
  return kind == GoalOpKind::Calc ? "calc" : kind == GoalOpKind::Send ? "send" : "recv";
}

SourceLocation place_in(std::string_view text, const std::string& file, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {.file = file,
          .line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          .column = offset - line_begin + 1};
}

GoalSchedule parse_goal(std::string_view text, const std::string& file, const JobLimits& limits) {
  return GoalParser(text, file, limits).read();
}

}  // namespace cclgym
