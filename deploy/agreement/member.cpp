#include "deploy/agreement/member.hpp"

#include <algorithm>

namespace cclgym {

namespace {

/// Rounds that a member remembers. A change older than these has no verdict to be asked for.
constexpr std::size_t kRounds = 64;

std::uint64_t id_of(const AgreementRound& round) { return round.change().id; }

}  // namespace

bool AgreementMember::advance() {
  if (lost_) return false;
  while (!switches_.empty() && switches_.front().from == calls()) {
    gate_.use(switches_.front().table);
    switches_.pop_front();
  }
  set_limit();
  return calls() < gate_.limit();
}

bool AgreementMember::waits() const {
  const AgreementRound* held = find(held_);
  return held != nullptr && held->change().from == calls();
}

std::uint32_t AgreementMember::ballot() const {
  const AgreementRound* held = find(held_);
  return held == nullptr ? 0 : held->ballot();
}

bool AgreementMember::settled() const {
  const AgreementRound* round = find(proposed_);
  return round == nullptr || round->verdict().has_value();
}

bool AgreementMember::committed() const {
  const AgreementRound* round = find(proposed_);
  return round != nullptr && round->verdict() == Verdict::Commit;
}

bool AgreementMember::holds(std::int32_t rank) const {
  const auto place = static_cast<std::size_t>(rank);
  return place < holds_.size() && holds_[place];
}

bool AgreementMember::propose(std::uint32_t table, std::uint64_t from,
                              std::vector<AgreementMessage>& out) {
  if (rank_ != 0 || lost_ || !settled()) return false;
  AgreementRound* round = round_of({.id = proposed_ + 1, .from = from, .table = table});
  if (round == nullptr) return false;
  if (!hold(*round)) {
    rounds_.pop_back();
    return false;
  }
  answered_ = ++proposed_;
  holds_.assign(static_cast<std::size_t>(ranks_), false);
  holding_ = 0;
  remind(out);
  take_answer({.kind = AgreementKind::Hold, .change = round->change()}, out);
  return true;
}

void AgreementMember::remind(std::vector<AgreementMessage>& out) {
  AgreementRound* round = find(proposed_);
  if (round == nullptr || round->verdict()) return;
  if (round->proposed()) return take(*round, [&] { round->recover(out); });
  AgreementMessage message{.kind = AgreementKind::Propose, .change = round->change()};
  if (const AgreementRound* before = find(proposed_ - 1)) message.previous = before->verdict();
  for (std::int32_t rank = 1; rank < ranks_; ++rank) {
    if (holds_[static_cast<std::size_t>(rank)]) continue;
    message.target = rank;
    out.push_back(message);
  }
}

void AgreementMember::drop(std::vector<AgreementMessage>& out) {
  AgreementRound* round = find(proposed_);
  if (round == nullptr) return;
  take(*round,
       [&] { round->proposed() ? round->recover(out) : round->propose(Verdict::Abort, out); });
}

void AgreementMember::overdue(std::vector<AgreementMessage>& out) {
  AgreementRound* held = find(held_);
  if (held != nullptr) take(*held, [&] { held->recover(out); });
}

void AgreementMember::receive(const AgreementMessage& message, std::vector<AgreementMessage>& out) {
  switch (message.kind) {
    case AgreementKind::Propose:
      return answer(message, out);
    case AgreementKind::Hold:
    case AgreementKind::Refuse:
      return take_answer(message, out);
    default:
      break;
  }
  AgreementRound* round = round_of(message.change);
  if (round != nullptr) take(*round, [&] { round->receive(message, out); });
}

// Runs a step of a round, and applies its verdict if the step gave it one.
template <class Step>
void AgreementMember::take(AgreementRound& round, const Step& step) {
  const bool known = round.verdict().has_value();
  step();
  if (!known && round.verdict()) apply(round);
}

void AgreementMember::answer(const AgreementMessage& proposal, std::vector<AgreementMessage>& out) {
  AgreementRound* held = find(held_);
  // The proposal has the verdict on the change before, whose message may have been lost.
  if (held != nullptr && held_ + 1 == proposal.change.id && proposal.previous) {
    take(*held, [&] {
      held->receive({.kind = AgreementKind::Decided, .verdict = *proposal.previous}, out);
    });
  }
  AgreementRound* round = round_of(proposal.change);
  if (round == nullptr) return;
  const std::uint64_t id = proposal.change.id;
  AgreementMessage reply{.source = rank_, .target = proposal.source, .change = proposal.change};
  if (round->verdict()) {
    reply.kind = AgreementKind::Decided;
    reply.verdict = *round->verdict();
  } else {
    const bool holds = held_ == id || (id > answered_ && hold(*round));
    reply.kind = holds ? AgreementKind::Hold : AgreementKind::Refuse;
    answered_ = std::max(answered_, id);
  }
  out.push_back(reply);
}

// Promises to make no call from the change's number on without a verdict.
bool AgreementMember::hold(AgreementRound& round) {
  const std::uint64_t from = round.change().from;
  if (held_ != 0 || lost_) return false;
  if (!switches_.empty() && from <= switches_.back().from) return false;
  // A change that comes before stops the calls earlier.
  if (gate_.limit() > from && !gate_.limit_at(from)) return false;
  held_ = round.change().id;
  return true;
}

void AgreementMember::take_answer(const AgreementMessage& message,
                                  std::vector<AgreementMessage>& out) {
  AgreementRound* round = find(message.change.id);
  if (rank_ != 0 || round == nullptr || message.change.id != proposed_ || round->proposed()) return;
  if (message.kind == AgreementKind::Refuse) {
    return take(*round, [&] { round->propose(Verdict::Abort, out); });
  }
  auto holds = holds_[static_cast<std::size_t>(message.source)];
  if (holds) return;
  holds = true;
  if (++holding_ == ranks_) take(*round, [&] { round->propose(Verdict::Commit, out); });
}

void AgreementMember::apply(const AgreementRound& round) {
  if (held_ != round.change().id) {
    // A change is decided only if all ranks hold it.
    if (round.verdict() == Verdict::Commit) lost_ = true;
    return;
  }
  held_ = 0;
  if (round.verdict() == Verdict::Commit) {
    switches_.push_back({.from = round.change().from, .table = round.change().table});
  }
  set_limit();
}

void AgreementMember::set_limit() {
  std::uint64_t limit = CallGate::kNone;
  if (const AgreementRound* held = find(held_)) limit = held->change().from;
  if (!switches_.empty()) limit = std::min(limit, switches_.front().from);
  gate_.raise_limit(limit);
}

// Null for changes that are too old to be decided here.
AgreementRound* AgreementMember::round_of(const TableChange& change) {
  if (AgreementRound* known = find(change.id)) return known;
  if (change.id <= forgotten_) return nullptr;
  if (rounds_.size() == kRounds) {
    const std::uint64_t oldest = rounds_.front().change().id;
    if (oldest == held_ || change.id < oldest) return nullptr;
    forgotten_ = oldest;
    rounds_.pop_front();
  }
  const auto place = std::ranges::upper_bound(rounds_, change.id, {}, id_of);
  return &*rounds_.insert(place, AgreementRound(rank_, ranks_, change));
}

const AgreementRound* AgreementMember::find(std::uint64_t id) const {
  const auto found = std::ranges::find(rounds_, id, id_of);
  return found == rounds_.end() ? nullptr : &*found;
}

AgreementRound* AgreementMember::find(std::uint64_t id) {
  const auto found = std::ranges::find(rounds_, id, id_of);
  return found == rounds_.end() ? nullptr : &*found;
}

std::vector<std::uint64_t> AgreementMember::state() const {
  std::vector<std::uint64_t> numbers{calls(),    gate_.limit(), gate_.table(), lost_ ? 1ULL : 0ULL,
                                     forgotten_, held_,         answered_,     proposed_};
  for (const bool one : holds_) numbers.push_back(one ? 1 : 0);
  for (const Switch& one : switches_) {
    numbers.push_back(one.from);
    numbers.push_back(one.table);
  }
  for (const AgreementRound& round : rounds_) round.add_state(numbers);
  return numbers;
}

}  // namespace cclgym
