// Long random runs of the agreement among many ranks: messages that are delayed, lost and repeated,
// ranks that stall, and ranks that are killed, the leader too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "deploy/agreement/member.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

namespace cclgym::test {

namespace {

struct RunOptions {
  std::int32_t ranks = 5;
  std::uint64_t calls = 1000;
  std::uint64_t seed = 1;
  std::int32_t kills = 0;  ///< less than half of the ranks
  bool kill_leader = false;
};

struct RunResult {
  bool agreed = true;
  bool ended = true;               ///< all ranks that live made all calls
  std::uint64_t changes = 0;       ///< calls that use another table than the call before
  std::uint64_t longest_wait = 0;  ///< ticks
};

class Run {
 public:
  explicit Run(const RunOptions& options)
      : options_(options), random_(Random::stream(options.seed, {})) {
    const auto ranks = static_cast<std::size_t>(options.ranks);
    for (std::int32_t rank = 0; rank < options.ranks; ++rank) {
      members_.emplace_back(rank, options.ranks, 0);
    }
    alive_.assign(ranks, true);
    stalled_until_.assign(ranks, 0);
    waits_.assign(ranks, {});
    tables_.assign(options.calls, kNotUsed);
  }

  RunResult run() {
    // A rank that lives makes a call every few ticks; much longer means that they hang.
    const std::uint64_t most_ticks = 200 * options_.calls + 100'000;
    for (tick_ = 0; tick_ < most_ticks && !all_done(); ++tick_) {
      deliver();
      if (alive_[0]) lead();
      make_calls();
      kill();
    }
    result_.ended = all_done();
    for (std::size_t call = 1; call < tables_.size(); ++call) {
      if (tables_[call] != tables_[call - 1]) ++result_.changes;
    }
    return result_;
  }

 private:
  static constexpr std::uint32_t kNotUsed = ~std::uint32_t{0};
  static constexpr std::uint64_t kWindow = 6;     // calls by which ranks may be apart
  static constexpr std::uint64_t kPatience = 40;  // ticks until a wait is overdue

  struct InFlight {
    std::uint64_t tick = 0;
    std::uint64_t number = 0;
    AgreementMessage message;
    bool operator<(const InFlight& other) const {
      return std::pair(other.tick, other.number) < std::pair(tick, number);
    }
  };

  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }

  [[nodiscard]] std::uint64_t slowest() const {
    std::uint64_t least = options_.calls;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (alive_[rank]) least = std::min(least, members_[rank].calls());
    }
    return least;
  }
  [[nodiscard]] bool all_done() const { return slowest() == options_.calls; }

  void send(std::vector<AgreementMessage>& out) {
    for (const AgreementMessage& message : out) {
      if (chance(100)) continue;
      for (int copies = chance(100) ? 2 : 1; copies > 0; --copies) {
        const std::uint64_t delay = 1 + random_() % (chance(200) ? 300 : 12);
        network_.push({tick_ + delay, sent_++, message});
      }
    }
    out.clear();
  }

  void deliver() {
    while (!network_.empty() && network_.top().tick <= tick_) {
      const AgreementMessage message = network_.top().message;
      network_.pop();
      const auto target = static_cast<std::size_t>(message.target);
      if (!alive_[target]) continue;
      if (stalled_until_[target] > tick_) {  // the process does not run
        network_.push({stalled_until_[target], sent_++, message});
        continue;
      }
      members_[target].receive(message, out_);
      send(out_);
    }
  }

  void lead() {
    AgreementMember& leader = members_[0];
    if (stalled_until_[0] > tick_) return;
    if (leader.settled()) {
      if (chance(64) && leader.calls() < options_.calls) {
        (void)leader.propose(++table_, leader.calls() + random_() % 96, out_);
        proposed_at_ = tick_;
      }
    } else if (tick_ > proposed_at_ + kPatience && chance(20)) {
      chance(2) ? leader.remind(out_) : leader.drop(out_);
    }
    send(out_);
  }

  void make_calls() {
    const std::uint64_t limit = std::min(options_.calls, slowest() + kWindow);
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (!alive_[rank] || stalled_until_[rank] > tick_) continue;
      if (chance(20'000)) stalled_until_[rank] = tick_ + random_() % 500;
      AgreementMember& member = members_[rank];
      for (std::uint64_t many = random_() % 4; many > 0 && member.calls() < limit; --many) {
        std::uint32_t table = 0;
        const std::uint64_t call = member.calls();
        if (!member.pass(table) && !(member.advance() && member.pass(table))) {
          wait(rank);
          break;
        }
        waits_[rank] = {};
        if (tables_[call] == kNotUsed) tables_[call] = table;
        if (tables_[call] != table) result_.agreed = false;
      }
    }
  }

  // Ranks ask at random times, later each time, and not while another rank is asking: otherwise
  // their ballots overtake each other for ever.
  void wait(std::size_t rank) {
    Wait& wait = waits_[rank];
    const std::uint32_t ballot = members_[rank].ballot();
    if (wait.ticks == 0 || ballot != wait.ballot) {
      wait.ballot = ballot;
      const std::uint64_t spread = kPatience << std::min<std::uint64_t>(wait.asked++, 6);
      wait.ask_at = wait.ticks + kPatience + random_() % spread;
    }
    result_.longest_wait = std::max(result_.longest_wait, ++wait.ticks);
    if (wait.ticks < wait.ask_at) return;
    members_[rank].overdue(out_);
    send(out_);
  }

  void kill() {
    if (killed_ == options_.kills ||
        !chance(3 * options_.calls / (1 + static_cast<std::uint64_t>(options_.kills)) / 4 + 1)) {
      return;
    }
    std::size_t rank = 1 + random_() % (members_.size() - 1);
    if (options_.kill_leader && alive_[0]) rank = 0;
    if (!alive_[rank]) return;
    alive_[rank] = false;
    ++killed_;
  }

  RunOptions options_;
  Random random_;
  std::vector<AgreementMember> members_;
  std::vector<bool> alive_;
  std::vector<std::uint64_t> stalled_until_;
  struct Wait {
    std::uint64_t ticks = 0;
    std::uint64_t ask_at = 0;
    std::uint64_t asked = 0;
    std::uint32_t ballot = 0;  ///< newest that was seen
  };
  std::vector<Wait> waits_;
  std::vector<std::uint32_t> tables_;  // by call
  std::priority_queue<InFlight> network_;
  std::vector<AgreementMessage> out_;
  std::uint64_t tick_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t proposed_at_ = 0;
  std::uint32_t table_ = 0;
  std::int32_t killed_ = 0;
  RunResult result_;
};

void check_run(const RunOptions& options, std::uint64_t& changes) {
  const RunResult result = Run(options).run();
  CAPTURE(options.ranks, options.calls, options.seed, options.kills, options.kill_leader,
          result.longest_wait);
  CHECK(result.agreed);
  CHECK(result.ended);
  changes += result.changes;
}

// Checks a run of 64 ranks without kills and two with a minority killed, the leader among them in
// one; returns the changes of the run without kills.
std::uint64_t check_64_ranks(std::uint64_t calls) {
  std::uint64_t changes = 0;
  check_run({.ranks = 64, .calls = calls, .seed = 7}, changes);
  std::uint64_t with_kills = 0;
  for (const bool kill_leader : {false, true}) {
    check_run({.ranks = 64, .calls = calls, .seed = 7, .kills = 31, .kill_leader = kill_leader},
              with_kills);
  }
  return changes;
}

}  // namespace

TEST_CASE("agreement: random runs agree on every call and end", "[agreement]") {
  std::uint64_t changes = 0;
  const std::uint64_t seeds = kSanitized ? 2 : 12;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const std::int32_t ranks : {2, 3, 5, 8}) {
      check_run({.ranks = ranks, .calls = 2000, .seed = seed}, changes);
      const std::int32_t kills = (ranks - 1) / 2;
      if (kills == 0) continue;
      check_run({.ranks = ranks, .calls = 2000, .seed = seed, .kills = kills}, changes);
      check_run({.ranks = ranks, .calls = 2000, .seed = seed, .kills = kills, .kill_leader = true},
                changes);
    }
  }
  CHECK(changes > 20 * seeds);
}

TEST_CASE("agreement: 64 ranks, 100,000 calls each, with stalls and kills",
          "[.][agreement][thorough]") {
  CHECK(check_64_ranks(100'000) > 100);
}

TEST_CASE("agreement: 64 ranks, a million calls each, with stalls and kills",
          "[.][agreement][million]") {
  CHECK(check_64_ranks(1'000'000) > 1000);
}

}  // namespace cclgym::test
