// Tables of the plugin's loop, and the leader that learns them.
#include "deploy/nccl_plugin/choice_controller.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/random.hpp"
#include "deploy/nccl_plugin/loop_table.hpp"
#include "support/catch.hpp"

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

// Time of config 2 that the learner believes after one call with these times of the ranks.
struct Played {
  LoopGroup group{0, 1, nobody, ""};
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

TEST_CASE("choice controller: times of ranks are joined by collective and sequence",
          "[plugin-loop]") {
  LoopGroup group(0, 2, nobody, "");
  ChoiceController controller(group, 2);
  const auto gather = static_cast<std::uint16_t>(CCLGYM_NCCL_ALLGATHER * kLoopSizes);
  const auto broadcast = static_cast<std::uint16_t>(CCLGYM_NCCL_BROADCAST * kLoopSizes);
  controller.add(asked_class(gather, 5));
  controller.add(asked_class(broadcast, 5));
  CHECK(
      from_report(
          to_report(
              {.sequence = 3, .number = gather, .config = 5, .time_s = 0.25, .received_bytes = 7}))
          .received_bytes == 7);
  // The group reports as rank 0 only; the other rank's reports are missing, so nothing is learned.
  for (std::uint64_t sequence = 0; sequence < 400; ++sequence) {
    group.report(to_report({.sequence = sequence, .number = gather, .config = 5, .time_s = 1e-4}));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  controller.step();
  CHECK(controller.learned() == 0);
}

}  // namespace cclgym::test
