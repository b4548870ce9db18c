// Latency of a policy's decisions: bench_policy [FILE.policy]. Without a file, it measures networks
// with random weights, and a layer with each instruction set. It uses one core and times each
// decision separately, including the clock's own time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "agents/export/policy_export.hpp"
#include "agents/network/policy_weights.hpp"
#include "core/random.hpp"
#include "deploy/runtime/lane_kernels.hpp"
#include "deploy/runtime/policy_runtime.h"

namespace {

using namespace cclgym;

constexpr int kDecisions = 1'000'000;

std::string random_policy(std::size_t observations, std::size_t encoder, std::size_t lstm,
                          std::size_t head, const std::vector<std::size_t>& levels) {
  Random random(1);
  PolicyWeights weights = initial_policy_weights({.observations = observations,
                                                  .encoder = {encoder},
                                                  .lstm = lstm,
                                                  .head = head,
                                                  .levels = levels},
                                                 random);
  weights.features.assign(observations, "feature");
  for (const std::size_t n : levels) {
    weights.knobs.push_back({"knob", std::vector<std::string>(n, "level")});
  }
  return format_policy(to_policy_file(weights, {}));
}

void measure(const std::string& label, const cclgym_policy* policy, int rules) {
  const std::size_t size = cclgym_policy_observation_size(policy);
  std::vector<char> state(cclgym_policy_state_bytes(policy));
  (void)cclgym_policy_state_init(policy, state.data(), state.size());
  std::vector<std::int32_t> action(cclgym_policy_knobs(policy));
  Random random(2);
  // Different observations, so that branch prediction cannot learn them.
  constexpr std::size_t kObservations = 256;
  std::vector<float> observations(kObservations * size);
  for (float& value : observations) value = static_cast<float>(random.uniform(-1, 1));
  std::vector<double> times;
  times.reserve(kDecisions);
  for (int i = 0; i < kDecisions; ++i) {
    const float* observation =
        observations.data() + (static_cast<std::size_t>(i) % kObservations) * size;
    const auto start = std::chrono::steady_clock::now();
    const int status = cclgym_policy_decide(policy, state.data(), observation, size, rules, nullptr,
                                            0, action.data(), action.size());
    const auto end = std::chrono::steady_clock::now();
    if (status != CCLGYM_POLICY_OK) std::printf("status %d\n", status);
    times.push_back(std::chrono::duration<double, std::micro>(end - start).count());
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * (kDecisions - 1))];
  };
  std::printf("%-44s p50 %.3f us   p99 %.3f us   p99.9 %.3f us\n", label.c_str(), at(0.5), at(0.99),
              at(0.999));
}

void measure_random(std::size_t observations, std::size_t encoder, std::size_t lstm,
                    std::size_t head, const std::vector<std::size_t>& levels) {
  const std::string bytes = random_policy(observations, encoder, lstm, head, levels);
  cclgym_policy* policy = nullptr;
  char error[300] = "";
  if (cclgym_policy_parse(bytes.data(), bytes.size(), &policy, error, sizeof(error)) != 0) {
    std::printf("%s\n", error);
    return;
  }
  measure(std::to_string(observations) + " -> " + std::to_string(encoder) + ", lstm " +
              std::to_string(lstm) + ", " + std::to_string(levels.size()) + " heads of " +
              std::to_string(head),
          policy, -1);
  cclgym_policy_free(policy);
}

// The mean time of a layer of 64 inputs and 128 rows, the LSTM's, whose weights are in the cache.
void measure_layer(std::size_t set) {
  constexpr std::size_t kInputs = 64;
  constexpr std::size_t kRows = 128;
  const LaneVector weights(kInputs * kRows, 0.01F);
  const LaneVector bias(kRows, 0.1F);
  const LaneVector in(kInputs, 0.3F);
  LaneVector out(kRows);
  const AffineLayer layer{kInputs, kRows, bias.data(), weights.data()};
  constexpr int kRuns = 100'000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) {
    lane_kernels_at(set).affine(layer, in.data(), out.data(), false);
  }
  const auto end = std::chrono::steady_clock::now();
  std::printf("64 -> 128, instruction set %zu of %zu: %.3f us\n", set + 1, lane_kernel_count(),
              std::chrono::duration<double, std::micro>(end - start).count() / kRuns);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    cclgym_policy* policy = nullptr;
    char error[300] = "";
    if (cclgym_policy_load(argv[1], &policy, error, sizeof(error)) != 0) {
      std::printf("%s\n", error);
      return 2;
    }
    measure("all legal", policy, -1);
    for (std::size_t i = 0; i < cclgym_policy_rules_count(policy); ++i) {
      measure(cclgym_policy_rules_name(policy, i), policy, static_cast<int>(i));
    }
    cclgym_policy_free(policy);
    return 0;
  }
  // Networks for profiles offline, nccl-2.30 and stock-nccl, with the agents' layers and with
  // smaller layers.
  const std::vector<std::size_t> offline{13, 5, 3, 7, 6, 4, 6, 3};
  const std::vector<std::size_t> nccl{6, 3, 7, 5};
  const std::vector<std::size_t> stock{6, 3, 7};
  for (const std::size_t encoder : {64U, 48U, 32U}) {
    const std::size_t head = encoder == 64 ? 24 : 16;
    measure_random(100, encoder, 32, head, offline);
    measure_random(84, encoder, 32, head, nccl);
    measure_random(80, encoder, 32, head, stock);
  }
  for (std::size_t set = 0; set < lane_kernel_count(); ++set) measure_layer(set);
  return 0;
}
