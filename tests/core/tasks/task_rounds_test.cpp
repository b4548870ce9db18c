// Tests of rounds: state that tasks share, and late replies of earlier rounds.
#include <cstdint>
#include <memory>
#include <optional>
#include <poll.h>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ranks/host_channel.hpp"
#include "core/ranks/messages.hpp"
#include "core/ranks/rank_link.hpp"
#include "core/ranks/rank_place.hpp"
#include "core/tasks/task_host.hpp"
#include "core/version.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

TEST_CASE("a new round drops tasks that wait, and tells late replies apart", "[core][tasks]") {
  TaskHost host(
      []() -> Task {
        return [](std::size_t, const TaskInput& input) {
          return std::string(input.common) + std::string(input.own);
        };
      },
      {});
  // The host notices the end of the first task in collect().
  host.begin({.number = 1, .common = "a"});
  host.submit({{.index = 0, .input = "1"}});
  host.submit({{.index = 1, .input = "2"}});
  host.begin({.number = 2, .common = "b"});
  host.submit({{.index = 0, .input = "3"}});
  std::vector<TaskReply> replies;
  while (replies.size() < 2) {
    std::vector<pollfd> polled;
    host.add_polled(polled);
    REQUIRE(::poll(polled.data(), polled.size(), host.wait_ms()) >= 0);
    for (TaskReply& reply : host.collect()) replies.push_back(std::move(reply));
  }
  REQUIRE(replies.size() == 2);
  CHECK(replies[0].round == 1);
  CHECK(replies[0].text == "a1");
  CHECK(replies[1].round == 2);
  CHECK(replies[1].index == 0);
  CHECK(replies[1].text == "b3");
}

// Two ranks on two machines; the messages of rank 1 are those of a test.
class FakeLink : public RankLink {
 public:
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] const std::vector<RankInfo>& ranks() const override { return ranks_; }
  void send(std::size_t rank, std::string message) override {
    CHECK(rank == 1);
    sent.push_back(std::move(message));
  }
  void send_sign(std::size_t, const std::string&) override {}
  std::optional<std::pair<std::size_t, std::string>> receive() override {
    if (arrived.empty()) return std::nullopt;
    std::string message = std::move(arrived.front());
    arrived.pop();
    return std::pair(std::size_t{1}, std::move(message));
  }
  void finish() override {}
  [[noreturn]] void abort(int) override { throw std::runtime_error("aborted"); }

  std::vector<std::string> sent;
  std::queue<std::string> arrived;

 private:
  std::vector<RankInfo> ranks_{{.machine = "a", .leader = 0}, {.machine = "b", .leader = 1}};
};

TaskSet four_tasks() {
  TaskSet set;
  set.tasks = {0, 1, 2, 3};
  set.name_of = [](std::size_t index) { return std::to_string(index); };
  set.identity = "four tasks";
  set.common = "c";
  return set;
}

Greeting hello(const std::string& identity) {
  return {.version = std::string(program_version()), .identity = identity, .simulators = 2};
}

TEST_CASE("rank 0 takes results of the present round only", "[core][tasks]") {
  FakeLink link;
  HostChannel no_host(0, -1);
  RankPlace place(link, no_host);
  const TaskSet set = four_tasks();
  for (const std::uint32_t round : {1U, 2U}) {
    if (round == 1) {
      link.arrived.push(hello_message(hello(set.identity)));
      place.serve(set, {});
      link.sent.clear();
    }
    const std::unique_ptr<Peers> peers = place.peers(set, {});
    REQUIRE(link.sent.size() == 1);
    std::string_view begin = link.sent[0];
    CHECK(take_kind(begin) == MessageKind::Round);
    CHECK(read_round(begin).number == round);
    CHECK(read_round(begin).common == "c");
    link.sent.clear();
    CHECK(peers->workers() == std::vector<std::size_t>{1, 2});
    link.arrived.push(replies_message({{.index = 2, .round = round - 1, .text = "old"},
                                       {.index = 3, .round = round, .text = "new"}}));
    std::vector<TaskReply> replies;
    bool lost_own = false;
    for (int i = 0; i < 3; ++i) {
      for (PeerEvent& event : peers->wait()) {
        lost_own = lost_own || (event.peer == 0 && event.kind == PeerEvent::Kind::Lost);
        for (TaskReply& reply : event.replies) replies.push_back(std::move(reply));
      }
    }
    CHECK(lost_own);
    REQUIRE(replies.size() == 1);
    CHECK(replies[0].index == 3);
    CHECK(replies[0].text == "new");
  }
}

TEST_CASE("rank 0 refuses hosts with other tasks or another version", "[core][tasks]") {
  const TaskSet set = four_tasks();
  const auto refusal = [&](const Greeting& greeting) {
    FakeLink link;
    HostChannel no_host(0, -1);
    RankPlace place(link, no_host);
    link.arrived.push(hello_message(greeting));
    return thrown([&] {
      place.serve(set, {});
      return 0;
    });
  };
  CHECK(
      contains(refusal(hello("five tasks")), "rank 1 on b has five tasks, rank 0 has four tasks"));
  Greeting other = hello(set.identity);
  other.version = "0.0.1";
  CHECK(contains(refusal(other), "rank 1 on b runs cclgym 0.0.1"));
}

}  // namespace
}  // namespace cclgym::test
