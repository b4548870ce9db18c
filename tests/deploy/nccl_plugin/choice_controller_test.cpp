// Tables of the plugin's loop, and the leader that learns them.
#include "deploy/nccl_plugin/choice_controller.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "deploy/nccl_plugin/call_time.hpp"
#include "deploy/nccl_plugin/loop_table.hpp"
#include "support/catch.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {

namespace {

AskedClass asked_class(std::uint16_t number, std::uint8_t config) {
  AskedClass asked{.number = number, .config = config};
  asked.predicted_us.fill(-1);
  asked.predicted_us[2] = 120;
  asked.predicted_us[5] = 100;
  asked.channels[2] = 8;
  return asked;
}

LoopMembers nobody(const std::atomic<bool>& /*ending*/) { throw std::runtime_error("alone"); }

/// Two ranks, connected by TCP; the controller is that of rank 0.
struct Pair {
  Pair() {
    std::vector<ListeningSocket> listeners(2);
    std::vector<RankAddress> addresses;
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      addresses.push_back({"127.0.0.1", listeners[static_cast<std::size_t>(rank)].port(), rank});
    }
    for (std::size_t rank = 0; rank < 2; ++rank) {
      groups.push_back(std::make_unique<LoopGroup>(
          static_cast<std::int32_t>(rank), addresses, 5, std::move(listeners[rank]), "",
          LoopOptions{.most_wait_s = 1e9, .overdue_s = 1e9, .drop_s = 1e9}));
    }
    controller = std::make_unique<ChoiceController>(*groups[0], 2);
  }
  // Steps of the controller until the condition holds; false if it never does (comes_true).
  template <class Condition>
  bool until(const Condition& condition) {
    return comes_true([&] {
      controller->step();
      return condition();
    });
  }
  // A call whose time is `time_s` on rank 0 and `other_s` on rank 1.
  void report(const MeasuredCollective& made, double time_s, double other_s) {
    MeasuredCollective one = made;
    one.time_s = time_s;
    groups[0]->report(to_report(one));
    one.time_s = other_s;
    groups[1]->report(to_report(one));
  }

  std::vector<std::unique_ptr<LoopGroup>> groups;
  std::unique_ptr<ChoiceController> controller;
};

}  // namespace

TEST_CASE("loop table: read back as written; nonsense is an empty table", "[plugin-loop]") {
  Random random = Random::stream(8, {});
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<LoopChoice> choices;
    for (std::uint16_t number = 0; number < kLoopClasses; ++number) {
      if (random.uniform() > 0.1) continue;
      choices.push_back({.number = number,
                         .algorithm = static_cast<std::uint8_t>(random.integer(0, 6)),
                         .protocol = static_cast<std::uint8_t>(random.integer(0, 2)),
                         .channels = static_cast<std::uint8_t>(random.integer(0, 64))});
    }
    std::string text = loop_table_text(choices);
    LoopTable table;
    REQUIRE(table.read(text));
    std::vector<LoopChoice> found;
    for (std::size_t number = 0; number < kLoopClasses; ++number) {
      if (const LoopChoice* one = table.find(number)) found.push_back(*one);
    }
    CHECK(found == choices);
    if (text.empty()) continue;
    const auto at =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(text.size()) - 1));
    text[at] = static_cast<char>(200);
    CHECK_FALSE(table.read(text));
    for (std::size_t number = 0; number < kLoopClasses; ++number) {
      CHECK(table.find(number) == nullptr);
    }
    CHECK_FALSE(table.read(text.substr(1)));
  }
}

TEST_CASE("loop classes: collective, and the size of a policy's grid", "[plugin-loop]") {
  const LoopClasses classes;
  CHECK(classes.of(0, 0) == 0);
  CHECK(classes.of(0, 8) == 0);
  CHECK(classes.of(1, 8) == kLoopSizes);
  CHECK(classes.of(4, 1 << 20) == classes.of(4, (1 << 20) + 1000));
  CHECK(classes.of(4, 1 << 20) == 4 * kLoopSizes + 68);  // 17 doublings of 8 B
  CHECK(classes.of(4, ~std::uint64_t{0}) < kLoopClasses);
  CHECK(classes.of(5, 8) == kLoopClasses);
  CHECK(classes.of(-1, 8) == kLoopClasses);
}

TEST_CASE("choice controller: the choice without the loop is first, and is left out of tables",
          "[plugin-loop]") {
  LoopGroup group(0, 1, nobody, "");
  ChoiceController controller(group, 1);
  controller.add(asked_class(7, 2));
  controller.add(asked_class(9, 5));
  controller.add(asked_class(9, 2));  // known already
  CHECK(controller.learner().table() == std::vector<std::uint16_t>{2, 5});
  CHECK(controller.choices().empty());
  AskedClass impossible = asked_class(11, 3);
  controller.add(impossible);
  CHECK(controller.learner().table().size() == 2);
}

TEST_CASE("choice controller: the fastest rank's time counts where nobody can finish early",
          "[plugin-loop]") {
  const int collective = GENERATE(range(0, 5));
  CAPTURE(collective);
  const auto number =
      static_cast<std::uint16_t>(static_cast<std::size_t>(collective) * kLoopSizes + 3);
  Pair pair;
  pair.controller->add(asked_class(number, 5));
  // By rank 0, config 5 takes 100 us; by rank 1, which waits, 300 us. The prior of config 2 is 20 %
  // above that of config 5: it is tried if config 5 takes 300 us instead of 100 us.
  std::uint64_t sequence = 0;
  for (; sequence < 10; ++sequence) {
    pair.report({.sequence = sequence, .number = number, .config = 5}, 1e-4, 3e-4);
  }
  for (; sequence < 20; ++sequence) {
    pair.report({.sequence = sequence, .number = number, .config = 2}, 2e-4, 2.1e-4);
  }
  REQUIRE(pair.until([&] { return pair.controller->learned() == 20; }));
  const bool fastest = collective >= CCLGYM_NCCL_ALLGATHER;
  CHECK(pair.controller->learner().table()[0] == (fastest ? 5 : 2));
  const auto choices = pair.controller->choices();
  if (fastest) {
    CHECK(choices.empty());
  } else {
    CHECK(choices == std::vector<LoopChoice>{
                         {.number = number, .algorithm = 0, .protocol = 2, .channels = 8}});
    CHECK(pair.until([&] {
      const LoopStatus status = pair.groups[0]->status();
      return status.committed > 0;
    }));
  }
}

TEST_CASE("choice controller: a tree's time is the least of the slowest rank's in nine calls",
          "[plugin-loop]") {
  // Config 2 is Tree with Simple, config 5 Ring with Simple. The tree takes 2e-4 s by its slowest
  // rank, and every third call 6e-4 s, because ranks wait; the fastest rank, a leaf, takes 3 us.
  // The ring takes 1e-4 s by its fastest rank.
  const auto number =
      static_cast<std::uint16_t>(static_cast<std::size_t>(CCLGYM_NCCL_ALLREDUCE) * kLoopSizes + 3);
  const double tree_s = GENERATE(2e-4, 5e-5);
  Pair pair;
  pair.controller->add(asked_class(number, 2));
  std::uint64_t sequence = 0;
  for (; sequence < 12; ++sequence) {
    const double slowest_s = sequence % 3 == 0 ? 6e-4 : tree_s;
    pair.report({.sequence = sequence, .number = number, .config = 2}, 3e-6, slowest_s);
  }
  for (; sequence < 24; ++sequence) {
    pair.report({.sequence = sequence, .number = number, .config = 5}, 1e-4, 1.2e-4);
  }
  REQUIRE(pair.until([&] { return pair.controller->learned() == 24; }));
  CHECK(pair.controller->learner().table()[0] == (tree_s < 1e-4 ? 2 : 5));
}

TEST_CASE("a tree takes longer than its root reports, by the way down", "[plugin-loop]") {
  const auto ratio = [](std::string_view protocol, std::uint64_t bytes, int channels, int ranks,
                        int nodes) {
    return tree_time_ratio({.protocol = protocol,
                            .bytes = bytes,
                            .channels = channels,
                            .ranks = ranks,
                            .nodes = nodes});
  };
  constexpr std::uint64_t kMi = std::uint64_t{1} << 20;
  // One chunk goes up and down: the same time again.
  CHECK(ratio("ll", 8, 1, 2, 1) == Approx(2.0));
  CHECK(ratio("simple", kMi, 2, 4, 4) == Approx(2.0));
  // Four chunks per channel, two hops: up in 5 steps, down 2 later.
  CHECK(ratio("simple", 4 * kMi, 2, 4, 4) == Approx(7.0 / 5));
  // Small calls with LL128 have chunks of 18,000 B: eight of them.
  CHECK(ratio("ll128", 256 * 1024, 2, 4, 4) == Approx(11.0 / 9));
  // Eight GPUs on each of two nodes: seven hops inside and one across.
  CHECK(ratio("simple", 16 * kMi, 4, 16, 2) == Approx((8 + 16 - 1.0) / (8 + 8 - 1.0)));
  // The more chunks, the less.
  double before = 2.1;
  for (std::uint64_t bytes = 8; bytes <= 1024 * kMi; bytes *= 2) {
    for (const char* protocol : {"ll", "ll128", "simple"}) {
      CHECK(ratio(protocol, bytes, 4, 32, 4) >= 1);
      CHECK(ratio(protocol, bytes, 4, 32, 4) <= 2);
    }
    const double now = ratio("simple", bytes, 4, 32, 4);
    CHECK(now <= before);
    before = now;
  }
  // Numbers that NCCL does not give are taken for the least.
  CHECK(ratio("simple", 0, 0, 0, 0) == Approx(2.0));
}

TEST_CASE("choice controller: reports that do not belong together teach nothing", "[plugin-loop]") {
  Pair pair;
  pair.controller->add(asked_class(7, 5));
  // The controller takes calls in order: when it has learned from the last, it knows all others.
  constexpr std::uint64_t kLast = 11;
  for (std::uint64_t sequence = 0; sequence <= kLast; ++sequence) {
    MeasuredCollective one{.sequence = sequence, .number = 7, .config = 5, .time_s = 1e-4};
    pair.groups[0]->report(to_report(one));
    if (sequence % 2 == 0) one.config = 2;
    if (sequence % 4 == 1) one.number = 8;
    pair.groups[1]->report(to_report(one));
    pair.groups[1]->report({.call = sequence, .key = 100'000, .table = 70'000, .time_s = -1});
  }
  CHECK(pair.until([&] { return pair.controller->learned() >= 3; }));
  CHECK(pair.controller->learned() == 3);  // sequences 3, 7 and 11
}

TEST_CASE("choice controller: a rank that reports no times switches changes off", "[plugin-loop]") {
  Pair pair;
  pair.controller->add(asked_class(7, 5));
  for (std::uint64_t sequence = 0; sequence < 400; ++sequence) {
    pair.groups[0]->report(
        to_report({.sequence = sequence, .number = 7, .config = 5, .time_s = 1e-4}));
  }
  CHECK(pair.until([&] { return !pair.groups[0]->status().off.empty(); }));
  CHECK(pair.groups[0]->status().off == "rank 1 reports no times");
  CHECK(pair.controller->learned() == 0);
}

}  // namespace cclgym::test
