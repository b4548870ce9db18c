#include "deploy/loop/loop_group.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/tasks/wire.hpp"

namespace cclgym {

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr milliseconds kTick{20};
constexpr milliseconds kDeferredTick{1};
constexpr double kRemind_s = 0.05;
// Time until all ranks hold a proposal, s: calls that are nearer would have to wait.
constexpr double kPromise_s = 5e-3;
constexpr std::uint64_t kLeastAhead = 2;
constexpr double kPauseGrowth = 1.5;
// Tables that are kept: the present one, those that are decided, and one that is proposed.
constexpr std::size_t kTables = 16;
// Proposals in a row without an answer of some rank, after which it counts as lost.
constexpr int kMostUnanswered = 3;
constexpr std::size_t kReportsPerFrame = 256;
constexpr std::size_t kMostArrived = std::size_t{1} << 20;

RankLinks::Clock::time_point later(double seconds) {
  return RankLinks::Clock::now() +
         std::chrono::duration_cast<RankLinks::Clock::duration>(duration<double>(seconds));
}

std::string payload_of(const AgreementMessage& message) {
  const AgreementBytes bytes = encode(message);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

LoopGroup::LoopGroup(std::int32_t rank, std::vector<RankAddress> addresses, std::uint64_t token,
                     ListeningSocket listener, std::string first, const LoopOptions& options)
    : rank_(rank),
      ranks_(static_cast<std::int32_t>(addresses.size())),
      options_(options),
      member_(rank, ranks_, 0),
      random_(Random::stream(token, {static_cast<std::uint64_t>(rank)})),
      links_(std::make_unique<RankLinks>(rank, std::move(addresses), token, std::move(listener))) {
  tables_.emplace(0, std::move(first));
  status_.connected = true;
  thread_ = std::thread([this] { run(); });
}

LoopGroup::LoopGroup(std::int32_t rank, std::int32_t ranks, FindMembers find, std::string first,
                     const LoopOptions& options)
    : rank_(rank), ranks_(ranks), options_(options), member_(rank, ranks, 0), random_(0) {
  tables_.emplace(0, std::move(first));
  thread_ = std::thread([this, find = std::move(find)] {
    find_members(find);
    if (links_) run();
  });
}

LoopGroup::~LoopGroup() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    wake();
  }
  thread_.join();
}

// Part of the thread.
void LoopGroup::find_members(const FindMembers& find) {
  try {
    LoopMembers members = find(ending_);
    if (ending_) return;
    if (members.addresses.size() != static_cast<std::size_t>(ranks_)) {
      throw std::invalid_argument("another number of ranks came");
    }
    auto links = std::make_unique<RankLinks>(rank_, std::move(members.addresses), members.token,
                                             std::move(members.listener));
    const std::lock_guard lock(mutex_);
    random_ = Random::stream(members.token, {static_cast<std::uint64_t>(rank_)});
    links_ = std::move(links);
    status_.connected = true;
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    stay(error.what());
  }
}

// Needs the lock.
void LoopGroup::wake() {
  if (links_) links_->wake();
}

std::optional<std::uint32_t> LoopGroup::begin_call(std::uint64_t key) {
  history_.add(key);
  std::uint32_t table = 0;
  if (member_.pass(table)) return table;
  return wait_for_verdict();
}

std::optional<std::uint32_t> LoopGroup::wait_for_verdict() {
  const double start_s = now_s();
  std::unique_lock lock(mutex_);
  const std::uint32_t before = status_.table;
  bool waited = false;
  double ask_at_s = options_.overdue_s;
  double pause_s = options_.overdue_s;
  std::uint32_t ballot = member_.ballot();
  while (!member_.advance()) {
    const double waited_s = now_s() - start_s;
    if (member_.lost() || waited_s > options_.most_wait_s) {
      member_.give_up();
      stay("no verdict on a change of tables arrived in time");
      return std::nullopt;
    }
    waited = true;
    if (waited_s >= ask_at_s && member_.waits()) {
      // Another rank is asking if the ballot has changed: it gets time to finish.
      if (member_.ballot() == ballot) {
        std::vector<AgreementMessage> messages;
        member_.overdue(messages);
        queue_all(messages, RankLinks::Way::Direct);
        wake();
        pause_s *= kPauseGrowth;
      }
      ballot = member_.ballot();
      ask_at_s = waited_s + pause_s * random_.uniform(0.5, 1.5);
    }
    changed_.wait_for(lock, milliseconds(5));
  }
  std::uint32_t table = before;
  if (!member_.pass(table)) return std::nullopt;  // not reached: advance() was true
  if (table != before) {
    ++status_.changes;
    status_.table = table;
    while (tables_.size() > kTables && tables_.begin()->first < before) {
      tables_.erase(tables_.begin());
    }
  }
  if (waited) {
    ++status_.waits;
    status_.longest_wait_s = std::max(status_.longest_wait_s, now_s() - start_s);
  }
  return table;
}

const std::string& LoopGroup::table(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return tables_.at(number);
}

void LoopGroup::report(const CallReport& call) {
  CallReport own = call;
  own.rank = rank_;
  (void)reports_.push(own);
}

void LoopGroup::send_now() {
  const std::lock_guard lock(mutex_);
  wake();
}

std::optional<std::uint32_t> LoopGroup::propose(std::string table, std::uint64_t ahead) {
  const std::lock_guard lock(mutex_);
  if (rank_ != 0 || !links_ || !status_.off.empty() || proposing_) return std::nullopt;
  if (table.size() > kMostFrameBytes / 2) return std::nullopt;
  const std::uint32_t number = newest_table_ + 1;
  tables_[number] = std::move(table);
  std::vector<AgreementMessage> messages;
  if (!member_.propose(number, member_.calls() + (ahead > 0 ? ahead : calls_until_promised()),
                       messages)) {
    tables_.erase(number);
    return std::nullopt;
  }
  newest_table_ = number;
  for (std::int32_t rank = 1; rank < ranks_; ++rank) {
    queue(FrameKind::Table, rank, table_payload(number));
  }
  queue_all(messages, RankLinks::Way::Tree);
  proposing_ = true;  // lead() notices the verdict
  answered_.assign(static_cast<std::size_t>(ranks_), false);
  answered_[0] = true;
  proposed_s_ = now_s();
  remind_pause_s_ = kRemind_s;
  remind_at_ = later(remind_pause_s_);
  wake();
  return number;
}

std::uint64_t LoopGroup::calls_until_promised() const {
  const double per_second =
      static_cast<double>(member_.calls()) / std::max(now_s() - started_s_, 1e-3);
  return std::max(kLeastAhead, static_cast<std::uint64_t>(per_second * kPromise_s));
}

bool LoopGroup::settled() const {
  const std::lock_guard lock(mutex_);
  return !proposing_;
}

void LoopGroup::take_reports(std::vector<CallReport>& reports) {
  const std::lock_guard lock(mutex_);
  reports.insert(reports.end(), arrived_.begin(), arrived_.end());
  arrived_.clear();
}

void LoopGroup::switch_off(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  stay(reason);
  if (rank_ != 0) queue(FrameKind::Off, 0, reason);
  wake();
}

LoopStatus LoopGroup::status() const {
  const std::lock_guard lock(mutex_);
  LoopStatus status = status_;
  status.calls = member_.calls();
  status.answered = static_cast<std::size_t>(std::ranges::count(answered_, true));
  return status;
}

// Tables do not change any more. A proposal that is under way is still decided.
void LoopGroup::stay(const std::string& reason) {
  if (status_.off.empty()) status_.off = reason;
  deferred_.clear();
}

double LoopGroup::now_s() const {
  return options_.clock ? options_.clock()
                        : duration<double>(Clock::now().time_since_epoch()).count();
}

// One call may be under way: it may be added to the history, but is not counted yet.
CallMark LoopGroup::mark() const {
  const std::uint64_t made = member_.calls();
  const std::uint64_t calls = made > 0 ? made - 1 : 0;
  return {.calls = calls, .hash = history_.after(calls, made).value_or(0)};
}

std::string LoopGroup::table_payload(std::uint32_t number) const {
  std::string payload;
  put(payload, number);
  put_text(payload, tables_.at(number));
  return payload;
}

void LoopGroup::queue(FrameKind kind, std::int32_t target, std::string payload,
                      RankLinks::Way way) {
  outgoing_.push_back(
      {.frame = {.kind = kind, .source = rank_, .target = target, .payload = std::move(payload)},
       .way = way});
}

void LoopGroup::queue_all(std::vector<AgreementMessage>& messages, RankLinks::Way way) {
  for (const AgreementMessage& message : messages) {
    std::string payload = payload_of(message);
    if (message.kind == AgreementKind::Propose) put(payload, mark());
    queue(FrameKind::Agreement, message.target, std::move(payload), way);
  }
  messages.clear();
}

// The thread of the object.
void LoopGroup::run() {
  std::vector<Frame> arrived;
  std::vector<Outgoing> outgoing;
  while (true) {
    milliseconds most = kTick;
    {
      const std::lock_guard lock(mutex_);
      if (ending_ && outgoing_.empty()) return;
      for (Frame& frame : arrived) handle(frame);
      arrived.clear();
      std::deque<Frame> again;
      again.swap(deferred_);
      for (Frame& frame : again) handle_agreement(frame);
      if (rank_ == 0) lead();
      send_reports();
      outgoing.swap(outgoing_);
      if (!deferred_.empty()) most = kDeferredTick;
    }
    changed_.notify_all();
    for (Outgoing& out : outgoing) links_->send(std::move(out.frame), out.way);
    outgoing.clear();
    links_->exchange(most, arrived);
  }
}

void LoopGroup::handle(Frame& frame) {
  std::string_view rest = frame.payload;
  switch (frame.kind) {
    case FrameKind::Agreement:
      return handle_agreement(frame);
    case FrameKind::Table: {
      const auto number = get<std::uint32_t>(rest);
      const auto content = number ? get_text(rest) : std::nullopt;
      if (content && frame.source == 0 && *number > status_.table)
        tables_.try_emplace(*number, *content);
      return;
    }
    case FrameKind::Report:
      while (const auto call = get<CallReport>(rest)) {
        if (arrived_.size() == kMostArrived) return;
        arrived_.push_back(*call);
        arrived_.back().rank = frame.source;
      }
      return;
    case FrameKind::Off:
      stay("rank " + std::to_string(frame.source) + ": " + frame.payload);
      return;
    case FrameKind::Hello:
      return;
  }
}

void LoopGroup::handle_agreement(Frame& frame) {
  const auto bytes = std::as_bytes(std::span(frame.payload));
  if (bytes.size() < kAgreementBytes) return;
  const auto message = decode_agreement(bytes.first(kAgreementBytes), ranks_);
  if (!message || message->source != frame.source) return;
  if (message->kind == AgreementKind::Propose) {
    std::string_view rest = std::string_view(frame.payload).substr(kAgreementBytes);
    const auto mark = get<CallMark>(rest);
    if (!mark || message->source != 0 || !status_.off.empty()) return;
    if (!tables_.contains(message->change.table)) return;  // the leader sends both again
    const std::uint64_t made = member_.calls();
    // The call that is under way may not be counted: see mark().
    if (made <= mark->calls && mark->calls > 0) {
      deferred_.push_back(std::move(frame));
      return;
    }
    const auto own = history_.after(mark->calls, made);
    if (!own) return;
    if (*own != mark->hash) {
      const std::string reason = "the ranks do not make the same calls";
      stay(reason);
      queue(FrameKind::Off, 0, reason);
      return;
    }
  }
  const bool answers =
      message->kind == AgreementKind::Hold || message->kind == AgreementKind::Refuse;
  if (answers && proposing_ && message->change.table == newest_table_) {
    answered_[static_cast<std::size_t>(message->source)] = true;
  }
  std::vector<AgreementMessage> messages;
  member_.receive(*message, messages);
  queue_all(messages, RankLinks::Way::Tree);
}

void LoopGroup::send_reports() {
  std::string payload;
  CallReport report;
  for (std::size_t sent = 0; sent < kReportsPerFrame && reports_.pop(report); ++sent) {
    if (rank_ == 0) {
      if (arrived_.size() < kMostArrived) arrived_.push_back(report);
    } else {
      put(payload, report);
    }
  }
  if (!payload.empty()) queue(FrameKind::Report, 0, std::move(payload));
}

// Leader: reminds of a proposal at growing intervals, and drops it if it takes too long.
void LoopGroup::lead() {
  if (!proposing_) return;
  if (member_.settled()) return notice_verdict();
  if (Clock::now() < remind_at_) return;
  remind_at_ = later(remind_pause_s_ * random_.uniform(1, kPauseGrowth));
  remind_pause_s_ *= kPauseGrowth;
  std::vector<AgreementMessage> messages;
  if (now_s() - proposed_s_ > options_.drop_s || !status_.off.empty()) {
    member_.drop(messages);
  } else {
    for (std::int32_t rank = 1; rank < ranks_; ++rank) {
      if (!member_.holds(rank)) queue(FrameKind::Table, rank, table_payload(newest_table_));
    }
    member_.remind(messages);
  }
  queue_all(messages, RankLinks::Way::Direct);
}

// Leader: a rank that leaves several proposals in a row without an answer counts as lost.
void LoopGroup::notice_verdict() {
  proposing_ = false;
  if (member_.committed()) {
    status_.committed = newest_table_;
    unanswered_ = 0;
    return;
  }
  ++status_.dropped;
  const auto silent = std::ranges::find(answered_, false);
  // A refusal may have ended the proposal before others could answer.
  if (silent == answered_.end() || now_s() - proposed_s_ < options_.overdue_s) return;
  if (++unanswered_ < kMostUnanswered) return;
  stay("rank " + std::to_string(silent - answered_.begin()) + " does not answer");
}

}  // namespace cclgym
