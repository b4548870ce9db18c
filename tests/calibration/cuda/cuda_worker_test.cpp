// Runs the workers as programs, as far as possible without a GPU.
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/wait.h>

#include "calibration/cuda/cuda_build.hpp"
#include "calibration/cuda/cuda_testing.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {

namespace {

struct Ended {
  int code = -1;
  std::string out;  ///< standard error is appended
};

Ended run(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ended ended;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    ended.out.append(part.data(), count);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

Ended run_worker(const std::string& arguments) {
  return run(test::build_path("cclgym-") + arguments);
}

}  // namespace

TEST_CASE("a worker reports its build, and lists nothing", "[calibration][cuda-worker]") {
  for (const std::string name : {"cuda", "nccl"}) {
    const Ended version = run_worker(name + "-worker --version");
    CHECK(version.code == 0);
    CHECK(version.out == "cclgym-" + name + "-worker, " + cuda_build_text() + "\n");
    const Ended list = run_worker(name + "-worker --list");
    CHECK(list.code == 0);
    CHECK(list.out.empty());
  }
}

TEST_CASE("arguments that a worker does not know end it with 2", "[calibration][cuda-worker]") {
  CHECK(run_worker("cuda-worker --fast").code == 2);
  const Ended mode = run_worker("nccl-worker --mode=copis");
  CHECK(mode.code == 2);
  CHECK_THAT(mode.out, test::has_text("did you mean 'copies'?"));
}

TEST_CASE("without a visible GPU, a worker refuses in one line of JSON and ends with 2",
          "[calibration][cuda-worker]") {
  // Hides all GPUs.
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  for (const std::string name : {"cuda", "nccl"}) {
    const Ended ended = run_worker(name + "-worker");
    INFO(ended.out);
    CHECK(ended.code == 2);
    const auto line = nlohmann::json::parse(ended.out.substr(0, ended.out.find('\n')));
    CHECK(line.at("worker") == name);
    CHECK_FALSE(line.at("refused").get<std::string>().empty());
    CHECK_THAT(ended.out, test::has_text("cclgym-" + name + "-worker: no "));
  }
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_CASE("workers on several processes refuse together, in one line",
          "[calibration][cuda-worker]") {
  SKIP_UNLESS(std::filesystem::exists(test::build_path("libcclgym-ranks.so")), test::kNeedsMpi);
  const std::string start = "mpirun --allow-run-as-root --oversubscribe -n 3 ";
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const Ended ended = run(start + test::build_path("cclgym-nccl-worker"));
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  INFO(ended.out);
  CHECK(ended.code == 2);
  const std::string mark = R"({"refused":"process 0: no )";
  const std::size_t at = ended.out.find(mark);
  REQUIRE(at != std::string::npos);
  CHECK(ended.out.find(R"({"refused")", at + 1) == std::string::npos);
}

TEST_CASE("a log of NCCL is checked against a policy without a GPU", "[calibration][cuda-worker]") {
  const test::TemporaryFolder folder;
  test::write_file(folder / "p.csv", "allreduce,0,1000000,ring,ll,1,-1,-1\n");
  const std::string line = "h:1:2 [0] NCCL INFO AllReduce: 64 Bytes -> Algo ";
  test::write_file(folder / "good.log", line + "RING proto LL channel{Lo..Hi}={0..0}\n");
  test::write_file(folder / "bad.log", line + "TREE proto LL channel{Lo..Hi}={0..0}\n");
  const std::string rest = " --policy=" + (folder / "p.csv") + " --ranks=2";
  const Ended good = run_worker("nccl-worker --check-log=" + (folder / "good.log") + rest);
  CHECK(good.code == 0);
  CHECK_THAT(good.out, test::has_text("100.00 % with its algorithm"));
  CHECK(run_worker("nccl-worker --check-log=" + (folder / "bad.log") + rest).code == 1);
  const Ended without = run_worker("nccl-worker --check-log=" + (folder / "good.log") +
                                   " --policy=" + (folder / "p.csv"));
  CHECK(without.code == 2);
  CHECK_THAT(without.out, test::has_text("--ranks=N"));
}

TEST_CASE("parameters are fitted to measurements without a GPU", "[calibration][cuda-worker]") {
  const test::TemporaryFolder folder;
  std::string text = "benchmark,protocol,flags,threads,blocks,bytes,chunk_bytes,time_us_median\n";
  for (const int bytes : {16, 1024, 2048, 4096}) {
    text += "flag_step,LL,gpu,512,2," + std::to_string(bytes) + ",32768," +
            std::to_string(1.25 + bytes / 4096.0) + "\n";
  }
  test::write_file(folder / "m.csv", text);
  const Ended ended = run_worker("cuda-worker --fit=" + (folder / "m.csv") + " h100 mine");
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, test::has_text("name: \"mine\""));
  CHECK_THAT(ended.out, test::has_text("step_latency:\n      value: 1.25us"));
  CHECK(run_worker("cuda-worker --fit=" + (folder / "m.csv") + " h1000 mine").code == 2);
}

}  // namespace cclgym
