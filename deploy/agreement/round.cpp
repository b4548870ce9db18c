#include "deploy/agreement/round.hpp"

namespace cclgym {

void AgreementRound::propose(Verdict verdict, std::vector<AgreementMessage>& out) {
  if (proposed_ || verdict_) return;
  proposed_ = true;
  ballot_ = 0;
  accept_phase(verdict, out);
}

void AgreementRound::recover(std::vector<AgreementMessage>& out) {
  if (verdict_) return;
  const auto ranks = static_cast<std::uint32_t>(ranks_);
  ballot_ = (ballot() / ranks + 1) * ranks + static_cast<std::uint32_t>(rank_);
  phase_ = Phase::Preparing;
  newest_.reset();
  proposal_ = Verdict::Abort;
  heard_.assign(static_cast<std::size_t>(ranks_), false);
  answers_ = 0;
  send_all({.kind = AgreementKind::Prepare, .ballot = ballot_}, out);
}

void AgreementRound::accept_phase(Verdict verdict, std::vector<AgreementMessage>& out) {
  phase_ = Phase::Accepting;
  proposal_ = verdict;
  heard_.assign(static_cast<std::size_t>(ranks_), false);
  answers_ = 0;
  send_all({.kind = AgreementKind::Accept, .verdict = verdict, .ballot = ballot_}, out);
}

void AgreementRound::receive(const AgreementMessage& message, std::vector<AgreementMessage>& out) {
  switch (message.kind) {
    case AgreementKind::Prepare:
      if (verdict_)
        return reply(message, {.kind = AgreementKind::Decided, .verdict = *verdict_}, out);
      if (message.ballot <= promised_) return;
      promised_ = message.ballot;
      return reply(message,
                   {.kind = AgreementKind::Prepared,
                    .verdict = accepted_verdict_,
                    .ballot = message.ballot,
                    .accepted = accepted_},
                   out);
    case AgreementKind::Prepared:
      if (verdict_ || phase_ != Phase::Preparing || message.ballot != ballot_) return;
      if (!heard(message.source)) return;
      if (message.accepted && (!newest_ || *message.accepted > *newest_)) {
        newest_ = message.accepted;
        proposal_ = message.verdict;
      }
      if (2 * answers_ > ranks_) accept_phase(proposal_, out);
      return;
    case AgreementKind::Accept:
      if (verdict_)
        return reply(message, {.kind = AgreementKind::Decided, .verdict = *verdict_}, out);
      if (message.ballot < promised_) return;
      promised_ = message.ballot;
      accepted_ = message.ballot;
      accepted_verdict_ = message.verdict;
      return reply(
          message,
          {.kind = AgreementKind::Accepted, .verdict = message.verdict, .ballot = message.ballot},
          out);
    case AgreementKind::Accepted:
      if (verdict_ || phase_ != Phase::Accepting || message.ballot != ballot_) return;
      if (heard(message.source) && 2 * answers_ > ranks_) decide(proposal_, out);
      return;
    case AgreementKind::Decided:
      if (!verdict_) verdict_ = message.verdict;
      return;
    case AgreementKind::Propose:
    case AgreementKind::Hold:
    case AgreementKind::Refuse:
      return;
  }
}

// True the first time.
bool AgreementRound::heard(std::int32_t rank) {
  auto known = heard_[static_cast<std::size_t>(rank)];
  if (known) return false;
  known = true;
  ++answers_;
  return true;
}

void AgreementRound::decide(Verdict verdict, std::vector<AgreementMessage>& out) {
  phase_ = Phase::None;
  send_all({.kind = AgreementKind::Decided, .verdict = verdict}, out);
}

void AgreementRound::send_all(AgreementMessage message, std::vector<AgreementMessage>& out) {
  message.source = rank_;
  message.change = change_;
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    message.target = rank;
    if (rank != rank_) out.push_back(message);
  }
  message.target = rank_;
  receive(message, out);
}

// Also to itself, at once.
void AgreementRound::reply(const AgreementMessage& to, AgreementMessage message,
                           std::vector<AgreementMessage>& out) {
  message.source = rank_;
  message.target = to.source;
  message.change = change_;
  if (to.source == rank_) return receive(message, out);
  out.push_back(message);
}

void AgreementRound::add_state(std::vector<std::uint64_t>& numbers) const {
  const auto optional = [](const auto& value) {
    return value ? static_cast<std::uint64_t>(*value) + 1 : 0;
  };
  std::uint64_t heard = 0;
  for (const bool one : heard_) heard = 2 * heard + (one ? 1 : 0);
  for (const std::uint64_t number :
       {change_.id, change_.from, std::uint64_t{change_.table}, optional(verdict_),
        std::uint64_t{promised_}, optional(accepted_),
        static_cast<std::uint64_t>(accepted_verdict_), std::uint64_t{proposed_},
        static_cast<std::uint64_t>(phase_), std::uint64_t{ballot_},
        static_cast<std::uint64_t>(proposal_), optional(newest_), heard}) {
    numbers.push_back(number);
  }
}

}  // namespace cclgym
