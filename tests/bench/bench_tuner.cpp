// Latency of the tuner plugin as NCCL sees it: bench_tuner PLUGIN FILE.policy|FILE.csv RANKS NODES.
// It uses one core and times each call separately, including the clock's own time. At last it
// measures the same as the leader of a closed loop whose other ranks are missing: calls are counted
// and looked up, but tables do not change.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "deploy/loop/rank_links.hpp"
#include "deploy/nccl_plugin/nccl_profiler_abi.h"
#include "deploy/nccl_plugin/nccl_tuner_abi.h"

namespace {

using namespace cclgym;
using Clock = std::chrono::steady_clock;

constexpr int kCalls = 1'000'000;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// `impossible` is the fraction of combinations that NCCL forbids.
void measure(const cclgym_nccl_tuner_v6& tuner, void* context, double impossible,
             const char* what = "getCollInfo") {
  Random random(1);
  constexpr std::size_t kTables = 256;
  constexpr std::size_t kEntries =
      std::size_t{CCLGYM_NCCL_ALGORITHMS} * std::size_t{CCLGYM_NCCL_PROTOCOLS};
  std::vector<float> tables;
  for (std::size_t i = 0; i < kTables * kEntries; ++i) {
    tables.push_back(random.uniform() < impossible ? -1.0F
                                                   : static_cast<float>(random.uniform(5, 5000)));
  }
  std::vector<double> times;
  times.reserve(kCalls);
  for (int i = 0; i < kCalls; ++i) {
    float table[kEntries];
    std::copy_n(tables.data() + (static_cast<std::size_t>(i) % kTables) * kEntries, kEntries,
                table);
    const auto bytes = static_cast<std::size_t>(std::exp2(random.uniform(3, 34)));
    const int collective = static_cast<int>(random.integer(0, 4));
    int channels = 0;
    const auto start = Clock::now();
    (void)tuner.get_coll_info(context, collective, bytes, 1, reinterpret_cast<float**>(table),
                              CCLGYM_NCCL_ALGORITHMS, CCLGYM_NCCL_PROTOCOLS, 0, &channels);
    times.push_back(us_since(start));
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * (kCalls - 1))];
  };
  std::printf("%s, %2.0f %% impossible   p50 %.3f us   p99 %.3f us   p99.9 %.3f us\n", what,
              100 * impossible, at(0.5), at(0.99), at(0.999));
}

void say(int /*level*/, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
         const char* format, const char* text) {
  std::printf(format, text);
  std::printf("\n");
}

void measure_loop(void* library, const cclgym_nccl_tuner_v6& tuner, std::size_t ranks,
                  std::size_t nodes) {
  const auto& profiler =
      *static_cast<const cclgym_nccl_profiler*>(::dlsym(library, "ncclProfiler_v6"));
  const std::string point = "127.0.0.1:" + std::to_string(ListeningSocket().port());
  ::setenv("CCLGYM_LOOP", point.c_str(), 1);
  const auto logger = reinterpret_cast<cclgym_nccl_logger>(say);
  void* context = nullptr;
  void* profiled = nullptr;
  int mask = 0;
  (void)profiler.init(&profiled, 2, &mask, "bench", static_cast<int>(nodes),
                      static_cast<int>(ranks), 0, logger);
  (void)tuner.init(&context, 2, ranks, nodes, logger, nullptr, nullptr);
  for (const double impossible : {0.0, 0.5, 0.9}) {
    measure(tuner, context, impossible, "closed loop");
  }
  (void)tuner.finalize(context);
  (void)profiler.finalize(profiled);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::printf("bench_tuner PLUGIN FILE.policy|FILE.csv RANKS NODES\n");
    return 2;
  }
  void* library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const auto* tuner =
      library == nullptr
          ? nullptr
          : static_cast<const cclgym_nccl_tuner_v6*>(::dlsym(library, "ncclTunerPlugin_v6"));
  if (tuner == nullptr) {
    std::printf("%s\n", ::dlerror());
    return 2;
  }
  const std::string file = argv[2];
  ::setenv(file.ends_with(".csv") ? "CCLGYM_TUNER_CSV" : "CCLGYM_POLICY", file.c_str(), 1);
  void* context = nullptr;
  const auto start = Clock::now();
  (void)tuner->init(&context, 1, std::strtoull(argv[3], nullptr, 10),
                    std::strtoull(argv[4], nullptr, 10), reinterpret_cast<cclgym_nccl_logger>(say),
                    nullptr, nullptr);
  std::printf("init %.0f us\n", us_since(start));
  if (context == nullptr) return 2;
  for (const double impossible : {0.0, 0.5, 0.9}) measure(*tuner, context, impossible);
  (void)tuner->finalize(context);
  measure_loop(library, *tuner, std::strtoull(argv[3], nullptr, 10),
               std::strtoull(argv[4], nullptr, 10));
  return 0;
}
