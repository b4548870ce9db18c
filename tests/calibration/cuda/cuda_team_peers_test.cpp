// Tests of a worker on several processes: threads with links in memory take their place.
#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <sstream>
#include <thread>

#include "calibration/cuda/cuda_testing.hpp"
#include "calibration/cuda/nccl/team_peers.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

namespace cclgym {

namespace {

// Messages of all links, in the order of each sender.
struct Post {
  std::mutex mutex;
  std::vector<std::deque<std::pair<std::size_t, std::string>>> boxes;
};

class MemoryLink final : public RankLink {
 public:
  MemoryLink(Post& post, std::size_t rank, const std::vector<std::size_t>& leaders)
      : post_(post), rank_(rank) {
    for (const std::size_t leader : leaders) {
      ranks_.push_back({.machine = "host", .leader = leader, .cores = {}, .start = {}});
    }
  }
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] const std::vector<RankInfo>& ranks() const override { return ranks_; }
  void send(std::size_t rank, std::string message) override {
    const std::lock_guard lock(post_.mutex);
    post_.boxes[rank].emplace_back(rank_, std::move(message));
  }
  void send_sign(std::size_t /*rank*/, const std::string& /*message*/) override {}
  [[nodiscard]] std::optional<std::pair<std::size_t, std::string>> receive() override {
    const std::lock_guard lock(post_.mutex);
    auto& box = post_.boxes[rank_];
    if (box.empty()) return std::nullopt;
    auto message = std::move(box.front());
    box.pop_front();
    return message;
  }
  void finish() override {}
  [[noreturn]] void abort(int /*code*/) override { throw std::logic_error("abort"); }

 private:
  Post& post_;
  std::size_t rank_;
  std::vector<RankInfo> ranks_;
};

// Three processes on two nodes: the first two share one.
const std::vector<std::size_t> kLeaders{0, 0, 2};

// Runs the work as each of the processes; throws the first exception.
void as_processes(const std::function<void(TeamPeers&)>& work) {
  Post post;
  post.boxes.resize(kLeaders.size());
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(kLeaders.size());
  for (std::size_t process = 0; process < kLeaders.size(); ++process) {
    threads.emplace_back([&, process] {
      MemoryLink link(post, process, kLeaders);
      TeamPeers peers(link);
      try {
        work(peers);
      } catch (...) {
        errors[process] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// Collects what each process found, as Catch's assertions belong to one thread.
template <class Value>
std::array<Value, 3> of_processes(const std::function<Value(TeamPeers&)>& work) {
  std::array<Value, 3> values{};
  as_processes([&](TeamPeers& peers) { values[peers.process()] = work(peers); });
  return values;
}

}  // namespace

TEST_CASE("processes know their nodes and number the ranks in order",
          "[calibration][cuda-team-peers]") {
  using Facts = std::array<std::size_t, 5>;
  const auto facts = of_processes<Facts>([](TeamPeers& peers) {
    // The processes have 1, 2 and 3 ranks.
    const TeamSpan span = span_of_process(peers.process() + 1, peers);
    return Facts{peers.on_node(), peers.place_on_node(), static_cast<std::size_t>(peers.nodes()),
                 span.first, span.total};
  });
  CHECK(facts[0] == Facts{2, 0, 2, 0, 6});
  CHECK(facts[1] == Facts{2, 1, 2, 1, 6});
  CHECK(facts[2] == Facts{1, 0, 2, 3, 6});
  TeamPeers alone;
  CHECK(alone.alone());
  CHECK(alone.of_all("x") == std::vector<std::string>{"x"});
  CHECK(alone.from_first("x") == "x");
  CHECK_FALSE(alone.any(false));
  CHECK(span_of_process(4, alone).total == 4);
}

TEST_CASE("texts go from the first process to all, and from all to all",
          "[calibration][cuda-team-peers]") {
  const auto said = of_processes<std::string>([](TeamPeers& peers) {
    const std::string own(1, static_cast<char>('a' + peers.process()));
    std::string text = peers.from_first(own) + peers.from_first("") + ":";
    for (int round = 0; round < 3; ++round) {
      for (const std::string& one : peers.of_all(own)) text += one;
    }
    text += peers.any(peers.process() == 2) ? "+" : "-";
    text += peers.any(false) ? "+" : "-";
    return text;
  });
  for (const std::string& text : said) CHECK(text == "a:abcabcabc+-");
}

TEST_CASE("GPUs of a node are divided among its processes", "[calibration][cuda-team-peers]") {
  using Devices = std::vector<int>;
  const auto of_eight =
      of_processes<Devices>([](TeamPeers& peers) { return devices_of_process(8, peers); });
  CHECK(of_eight[0] == Devices{0, 1, 2, 3});
  CHECK(of_eight[1] == Devices{4, 5, 6, 7});
  CHECK(of_eight[2] == Devices{0, 1, 2, 3, 4, 5, 6, 7});
  // A launcher may show each process only its own GPU.
  const auto of_one =
      of_processes<Devices>([](TeamPeers& peers) { return devices_of_process(1, peers); });
  CHECK(of_one[1] == Devices{0});
  std::string error;
  try {
    as_processes([](TeamPeers& peers) { (void)devices_of_process(3, peers); });
  } catch (const UserError& why) {
    error = why.what();
  }
  CHECK_THAT(error, test::has_text("2 processes on this node see 3 GPUs each"));
}

TEST_CASE("the error of one process is that of all", "[calibration][cuda-team-peers]") {
  const auto errors = of_processes<std::string>([](TeamPeers& peers) {
    return shared_error(peers.process() == 1 ? "no GPU" : "", peers) + "|" +
           shared_error("", peers);
  });
  for (const std::string& error : errors) CHECK(error == "process 1: no GPU|");
}

TEST_CASE("times of a call are those of the slowest and the fastest rank of all processes",
          "[calibration][cuda-team-peers]") {
  const auto times = of_processes<TeamTimes>([](TeamPeers& peers) {
    const double p = static_cast<double>(peers.process());
    return merged_times({{1 + p, 5}, {2, 4 - p}}, peers);
  });
  for (const TeamTimes& one : times) {
    CHECK(one.longest_s == std::vector<double>{3, 5});
    CHECK(one.shortest_s == std::vector<double>{1, 2});
  }
}

TEST_CASE("every process carries out each request, and only the first answers",
          "[calibration][cuda-team-peers]") {
  std::istringstream requests(R"({"id":1,"warmup":3,"repeats":2,"cell":{"size_bytes":"8"}})"
                              "\n"
                              R"({"id":2,"warmup":3,"repeats":1,"cell":{"size_bytes":"16"}})"
                              "\n");
  std::array<std::ostringstream, 3> answers;
  std::array<std::string, 3> seen;
  const auto codes = of_processes<int>([&](TeamPeers& peers) {
    return serve_together(peers, requests, answers[peers.process()],
                          [&](const WorkerRequest& request) -> WorkerAnswer {
                            seen[peers.process()] += request.text("size_bytes") + "x" +
                                                     std::to_string(request.repeats) + "+" +
                                                     std::to_string(request.warmup) + " ";
                            if (request.text("size_bytes") == "16") throw CellRefused("too small");
                            if (!peers.first()) return {};
                            return {.samples_s = {0.5, 0.25}, .extra = {}};
                          });
  });
  CHECK(codes == std::array<int, 3>{0, 0, 0});
  for (const std::string& text : seen) CHECK(text == "8x2+3 16x1+3 ");
  CHECK(answers[0].str() ==
        "{\"extra\":{},\"id\":1,\"samples_s\":[0.5,0.25]}\n"
        "{\"id\":2,\"refused\":\"too small\"}\n");
  CHECK(answers[1].str().empty());
}

}  // namespace cclgym
