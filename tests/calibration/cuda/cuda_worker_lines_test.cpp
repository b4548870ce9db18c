#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calibration/cuda/cuda_testing.hpp"
#include "calibration/cuda/quantisation.hpp"
#include "calibration/cuda/worker_lines.hpp"
#include "core/random.hpp"
#include "support/catch.hpp"

namespace cclgym {

namespace {

using nlohmann::json;

struct Served {
  int code;
  std::vector<json> lines;
};

Served served(const std::string& requests,
              const std::function<WorkerAnswer(const WorkerRequest&)>& measure) {
  std::istringstream in(requests);
  std::ostringstream out;
  Served result{serve(in, out, measure), {}};
  std::istringstream text(out.str());
  for (std::string line; std::getline(text, line);) result.lines.push_back(json::parse(line));
  return result;
}

WorkerAnswer constant(const WorkerRequest& request) {
  WorkerAnswer answer;
  answer.samples_s.assign(static_cast<std::size_t>(request.repeats), 2e-6);
  answer.extra = {{"bytes", std::to_string(request.number("bytes"))}};
  return answer;
}

constexpr const char* kRequest =
    R"({"id":3,"warmup":1,"repeats":2,"cell":{"benchmark":"b","bytes":"64"}})"
    "\n";

}  // namespace

TEST_CASE("a worker answers each request with its samples, until the input ends",
          "[calibration][cuda-worker-lines]") {
  const Served result = served(std::string(kRequest) + "\n" + kRequest, constant);
  CHECK(result.code == 0);
  REQUIRE(result.lines.size() == 2);
  CHECK(result.lines[0] ==
        json{{"id", 3}, {"samples_s", {2e-6, 2e-6}}, {"extra", {{"bytes", "64"}}}});
}

TEST_CASE("a cell that the device cannot run is refused, and the worker continues",
          "[calibration][cuda-worker-lines]") {
  const Served result = served(std::string(kRequest) + kRequest, [](const WorkerRequest& request) {
    if (request.repeats == 2) throw CellRefused("too many blocks");
    return constant(request);
  });
  CHECK(result.code == 0);
  REQUIRE(result.lines.size() == 2);
  CHECK(result.lines[1] == json{{"id", 3}, {"refused", "too many blocks"}});
}

TEST_CASE("an error is answered and ends the worker", "[calibration][cuda-worker-lines]") {
  const auto fails = [](const WorkerRequest&) -> WorkerAnswer {
    throw std::runtime_error("broke\xff");
  };
  const Served result = served(std::string(kRequest) + kRequest, fails);
  CHECK(result.code == 1);
  REQUIRE(result.lines.size() == 1);
  CHECK(result.lines[0].at("id") == 3);
  CHECK(result.lines[0].contains("error"));
  CHECK(served("no JSON\n", constant).code == 1);
  CHECK(served(R"({"id":1,"cell":{"bytes":"-2"}})", constant).lines[0].at("error") ==
        "column bytes: found '-2'; expected a whole number >= 0");
  CHECK_THAT(served(R"({"id":1,"cell":{}})", constant).lines[0].at("error").get<std::string>(),
             test::has_text("no column bytes"));
  CHECK(served(R"({"id":1e120,"cell":{}})", constant).lines[0].at("error") ==
        "id: found '1e+120'; expected a whole number of 64 bits");
  CHECK(served(R"({"id":1,"repeats":3000000000,"cell":{}})", constant).lines[0].at("error") ==
        "repeats: found '3000000000'; expected a whole number of 32 bits");
  CHECK(served(R"({"id":18446744073709551615,"cell":{}})", constant).code == 1);
}

TEST_CASE("invalid times, or too few of them, are errors", "[calibration][cuda-worker-lines]") {
  for (const std::vector<double>& samples :
       {std::vector<double>{1e-6}, {0, 1e-6}, {-1, 1}, {NAN, 1}}) {
    const Served result = served(kRequest, [&](const WorkerRequest&) {
      return WorkerAnswer{samples, {}};
    });
    CHECK(result.code == 1);
    CHECK(result.lines.at(0).contains("error"));
  }
}

TEST_CASE("the first line names the worker and its environment",
          "[calibration][cuda-worker-lines]") {
  CHECK(json::parse(environment_line("cuda", {{"device", "NVIDIA H200"}})) ==
        json{{"worker", "cuda"}, {"environment", {{"device", "NVIDIA H200"}}}});
  CHECK(json::parse(refused_line("nccl", "no GPU")) ==
        json{{"worker", "nccl"}, {"refused", "no GPU"}});
}

namespace {

// Multiples of a time slice with some jitter, as measured when ranks take turns on a GPU.
std::vector<double> in_slices(double slice_s, const std::vector<int>& turns) {
  Random random = Random::stream(7, {});
  std::vector<double> times;
  for (int i = 0; i < 50; ++i) {
    const int count = turns[static_cast<std::size_t>(i) % turns.size()];
    times.push_back(slice_s * (count + 0.02 * (random.uniform() - 0.5)));
  }
  return times;
}

}  // namespace

TEST_CASE("times in whole time slices are detected", "[calibration][cuda-worker-lines]") {
  // Measured on an RTX 5090 without MPS: 4.36 ms with 2 ranks, 8.7 to 17.4 ms with 3 ranks.
  CHECK_FALSE(check_quantisation(in_slices(2.18e-3, {2})).passed);
  const Quantisation found = check_quantisation(in_slices(2.18e-3, {4, 5, 6, 8}));
  CHECK_FALSE(found.passed);
  CHECK(found.slice_s == Approx(2.18e-3).epsilon(0.03));
  CHECK_THAT(found.text(), test::has_text("time slices"));
}

TEST_CASE("times of tens of microseconds pass; slow, varying ones do not, but are not slices",
          "[calibration][cuda-worker-lines]") {
  Random random = Random::stream(8, {});
  std::vector<double> fast;
  std::vector<double> slow;
  for (int i = 0; i < 50; ++i) {
    fast.push_back(60e-6 * (1 + random.uniform()));
    slow.push_back(0.6e-3 + 9e-3 * random.uniform());
  }
  CHECK(check_quantisation(fast).passed);
  CHECK(check_quantisation(fast).text() == "passed");
  const Quantisation result = check_quantisation(slow);
  CHECK_FALSE(result.passed);
  CHECK(result.slice_s == 0);
  CHECK_THAT(result.text(), test::has_text("the median is"));
}

}  // namespace cclgym
