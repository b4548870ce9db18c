// Exhaustive exploration of the agreement: every order of calls, messages, losses, repetitions,
// crashes and timeouts within a budget of each.
#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "deploy/agreement/member.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

namespace cclgym::test {

namespace {

constexpr std::size_t kMostCalls = 4;
constexpr std::uint32_t kNotUsed = 99;

/// Number of times that each thing may happen, besides calls and deliveries.
struct Budget {
  int proposals = 1;
  int losses = 0;
  int repeats = 0;
  int crashes = 0;
  int timeouts = 0;  ///< questions of waiting ranks
  int drops = 0;     ///< proposals that the leader drops or repeats
};

struct World {
  std::vector<AgreementMember> members;
  std::vector<bool> alive;
  std::vector<AgreementMessage> messages;  ///< in flight, sorted
  Budget left;
  std::array<std::uint32_t, kMostCalls> table{};  ///< by call, of the rank that made it first
};

std::array<std::uint8_t, kAgreementBytes> key_of(const AgreementMessage& message) {
  std::array<std::uint8_t, kAgreementBytes> key{};
  const AgreementBytes bytes = encode(message);
  for (std::size_t i = 0; i < bytes.size(); ++i) key[i] = static_cast<std::uint8_t>(bytes[i]);
  return key;
}

class Explorer {
 public:
  /// Explores depth first, in an order that depends on the seed; at most about so many steps.
  Explorer(std::int32_t ranks, std::size_t calls, const Budget& budget, std::uint64_t most_steps,
           std::uint64_t seed)
      : ranks_(ranks), calls_(calls), most_steps_(most_steps), random_(Random::stream(seed, {})) {
    World world{.members = {},
                .alive = std::vector<bool>(static_cast<std::size_t>(ranks), true),
                .messages = {},
                .left = budget,
                .table = {}};
    world.table.fill(kNotUsed);
    for (std::int32_t rank = 0; rank < ranks; ++rank) world.members.emplace_back(rank, ranks, 0);
    explore(std::move(world));
  }

  std::uint64_t steps = 0;     ///< explored steps from a state to another
  std::uint64_t states = 0;    ///< different states
  std::uint64_t ends = 0;      ///< states from which nothing can happen any more
  std::uint64_t commits = 0;   ///< ends in which a change was used
  std::string disagreement{};  ///< empty: none
  std::string hang{};          ///< empty: none

 private:
  void explore(World first) {
    std::vector<World> open;
    open.push_back(std::move(first));
    while (!open.empty() && disagreement.empty() && hang.empty() && steps < most_steps_) {
      const World world = std::move(open.back());
      open.pop_back();
      if (!seen_.insert(hash_of(world)).second) continue;
      ++states;
      const std::size_t before = open.size();
      expand(world, open);
      steps += open.size() - before;
      for (std::size_t i = open.size(); i > before + 1; --i) {
        std::swap(open[i - 1], open[before + random_() % (i - before)]);
      }
      if (open.size() == before) end(world);
    }
  }

  void expand(const World& world, std::vector<World>& open) {
    for (std::size_t rank = 0; rank < world.members.size(); ++rank) {
      if (!world.alive[rank]) continue;
      if (world.members[rank].calls() < calls_) call(world, rank, open);
      if (world.left.timeouts > 0 && world.members[rank].waits()) {
        after(world, open, [&](World& next, auto& out) {
          --next.left.timeouts;
          next.members[rank].overdue(out);
        });
      }
      if (world.left.crashes > 0) {
        after(world, open, [&](World& next, auto&) {
          --next.left.crashes;
          next.alive[rank] = false;
        });
      }
    }
    if (world.alive[0]) lead(world, open);
    for (std::size_t i = 0; i < world.messages.size(); ++i) {
      // Equal messages have equal effects.
      if (i > 0 && world.messages[i] == world.messages[i - 1]) continue;
      deliver(world, i, open);
    }
  }

  template <class Change>
  void after(const World& world, std::vector<World>& open, const Change& change) {
    World next = world;
    std::vector<AgreementMessage> out;
    change(next, out);
    for (const AgreementMessage& message : out) {
      const auto place = std::ranges::upper_bound(next.messages, key_of(message), {}, key_of);
      next.messages.insert(place, message);
    }
    open.push_back(std::move(next));
  }

  void call(const World& world, std::size_t rank, std::vector<World>& open) {
    World next = world;
    AgreementMember& member = next.members[rank];
    std::uint32_t table = 0;
    const std::uint64_t number = member.calls();
    if (!member.pass(table)) {
      if (!member.advance()) return;
      if (!member.pass(table)) {
        hang = "a call does not pass after advance()";
        return;
      }
    }
    std::uint32_t& first = next.table[number];
    if (first == kNotUsed) first = table;
    if (first != table) {
      disagreement =
          fmt::format("call {}: table {} on rank {}, {} before", number, table, rank, first);
    }
    open.push_back(std::move(next));
  }

  void lead(const World& world, std::vector<World>& open) {
    const AgreementMember& leader = world.members[0];
    if (world.left.proposals > 0 && leader.settled()) {
      for (std::uint64_t from = leader.calls(); from < calls_; ++from) {
        after(world, open, [&](World& next, auto& out) {
          // The first proposal is of table 1, the next of table 2, ….
          const auto table = static_cast<std::uint32_t>(10 - next.left.proposals);
          --next.left.proposals;
          (void)next.members[0].propose(table, from, out);
        });
      }
    }
    if (world.left.drops > 0 && !leader.settled()) {
      for (const bool again : {false, true}) {
        after(world, open, [&](World& next, auto& out) {
          --next.left.drops;
          again ? next.members[0].remind(out) : next.members[0].drop(out);
        });
      }
    }
  }

  void deliver(const World& world, std::size_t index, std::vector<World>& open) {
    const AgreementMessage message = world.messages[index];
    const auto target = static_cast<std::size_t>(message.target);
    const auto erase = [&](World& next) {
      next.messages.erase(next.messages.begin() + static_cast<std::ptrdiff_t>(index));
    };
    after(world, open, [&](World& next, auto& out) {
      erase(next);
      if (next.alive[target]) next.members[target].receive(message, out);
    });
    if (!world.alive[target]) return;
    if (world.left.repeats > 0) {
      after(world, open, [&](World& next, auto& out) {
        --next.left.repeats;
        next.members[target].receive(message, out);
      });
    }
    if (world.left.losses > 0) {
      after(world, open, [&](World& next, auto&) {
        --next.left.losses;
        erase(next);
      });
    }
  }

  // Nothing can happen any more. While a majority is alive, timeouts and messages that arrive must
  // give a verdict to every rank that waits, and all ranks must make all calls.
  void end(const World& world) {
    ++ends;
    World last = world;
    const auto alive = std::ranges::count(last.alive, true);
    if (2 * alive <= ranks_) return;
    for (int round = 0; round < ranks_ + 2; ++round) {
      for (std::size_t rank = 0; rank < last.members.size(); ++rank) {
        if (!last.alive[rank]) continue;
        std::vector<AgreementMessage> out;
        if (last.members[rank].waits()) last.members[rank].overdue(out);
        settle(last, std::move(out));
        std::uint32_t table = 0;
        AgreementMember& member = last.members[rank];
        while (member.calls() < calls_ && (member.advance() && member.pass(table))) {
          std::uint32_t& first = last.table[member.calls() - 1];
          if (first == kNotUsed) first = table;
          if (first != table) disagreement = "after timeouts";
        }
      }
    }
    for (std::size_t rank = 0; rank < last.members.size(); ++rank) {
      if (last.alive[rank] && last.members[rank].calls() < calls_) {
        hang = fmt::format("rank {} stays at call {}", rank, last.members[rank].calls());
      }
    }
    if (std::ranges::any_of(last.table, [](std::uint32_t t) { return t != 0 && t != kNotUsed; })) {
      ++commits;
    }
  }

  static void settle(World& world, std::vector<AgreementMessage> messages) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const auto target = static_cast<std::size_t>(messages[i].target);
      std::vector<AgreementMessage> out;
      if (world.alive[target]) world.members[target].receive(messages[i], out);
      messages.insert(messages.end(), out.begin(), out.end());
    }
  }

  [[nodiscard]] std::uint64_t hash_of(const World& world) const {
    std::uint64_t hash = 0xcbf29ce484222325U;
    const auto add = [&hash](std::uint64_t number) {
      hash = (hash ^ number) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29U;
    };
    for (std::size_t rank = 0; rank < world.members.size(); ++rank) {
      add(world.alive[rank] ? 1 : 2);
      if (!world.alive[rank]) continue;
      const std::vector<std::uint64_t> numbers = world.members[rank].state();
      add(numbers.size());
      for (const std::uint64_t number : numbers) add(number);
    }
    add(world.messages.size());
    for (const AgreementMessage& message : world.messages) {
      for (const std::uint8_t byte : key_of(message)) add(byte);
    }
    const Budget& left = world.left;
    for (const int number :
         {left.proposals, left.losses, left.repeats, left.crashes, left.timeouts, left.drops}) {
      add(static_cast<std::uint64_t>(number));
    }
    for (const std::uint32_t table : world.table) add(table);
    return hash;
  }

  std::int32_t ranks_;
  std::size_t calls_;
  std::uint64_t most_steps_;
  Random random_;
  std::unordered_set<std::uint64_t> seen_;
};

struct Case {
  std::int32_t ranks;
  std::size_t calls;
  Budget budget;
};

// Explores a case, up to so many steps. Returns their number; `complete`: there were no more.
std::uint64_t explore(const Case& each, std::uint64_t most_steps, std::uint64_t seed,
                      bool& complete) {
  const Explorer found(each.ranks, each.calls, each.budget, most_steps, seed);
  CAPTURE(each.ranks, each.calls, found.steps, found.states, found.ends, found.commits);
  CHECK(found.disagreement == "");
  CHECK(found.hang == "");
  CHECK(found.ends > 0);
  complete = found.steps < most_steps;
  if (complete) CHECK(found.commits > 0);  // some end has used a change
  return found.steps;
}

const std::vector<Case> kFaults{{2, 3, {.losses = 1, .timeouts = 1, .drops = 1}},
                                {2, 3, {.repeats = 1, .timeouts = 1}},
                                {3, 2, {.losses = 1, .timeouts = 1}},
                                {3, 2, {.crashes = 1, .timeouts = 1}},
                                {3, 2, {.timeouts = 2}},
                                {3, 3, {.losses = 1, .repeats = 1, .crashes = 1, .timeouts = 2}}};

}  // namespace

TEST_CASE("agreement: without faults, all orders end with all calls made alike", "[agreement]") {
  std::uint64_t steps = 0;
  for (const Case& each :
       {Case{1, 4, {.proposals = 2}}, Case{2, 4, {.proposals = 2}}, Case{3, 3, {.proposals = 1}}}) {
    bool complete = false;
    steps += explore(each, kSanitized ? 20'000 : 20'000'000, 1, complete);
    CHECK((complete || kSanitized));
  }
  CHECK(steps > 10'000);
}

TEST_CASE("agreement: with faults, no two ranks use different tables", "[agreement]") {
  for (const Case& each : kFaults) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      bool complete = false;
      (void)explore(each, kSanitized ? 10'000 : 100'000, seed, complete);
    }
  }
}

TEST_CASE("agreement: ten million steps with faults", "[.][agreement][thorough]") {
  std::uint64_t steps = 0;
  for (const Case& each : kFaults) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      bool complete = false;
      steps += explore(each, 300'000, seed, complete);
    }
  }
  CHECK(steps > 10'000'000);
}

}  // namespace cclgym::test
