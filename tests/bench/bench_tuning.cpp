// Steps per second of CollectiveTuning-v0 on one core, in processor time of the one working thread.
// In cold runs every step is simulated; in warm runs times come from the cache. See
// docs/collective-tuning.md.
#include <cstdio>
#include <ctime>
#include <fmt/format.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "env/tuning/collective_tuning.hpp"

namespace cclgym::bench {
namespace {

double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Case {
  std::string fabric;
  std::string actions;
  std::string most;  ///< max of the log-uniform sizes; the min is 1 KiB
};

std::string options(const Case& one, const std::string& cache) {
  return fmt::format(
      "{{fabric: {}, actions: {}, cache: {}, reward: negative-time, episode: 0, workload: {{name: "
      "curriculum, collectives: [allreduce, allgather, reducescatter, alltoall], most: {}}}}}",
      one.fabric, one.actions, cache, one.most);
}

// Times several hundred random legal actions on a stream of random sizes, without a cache. Before
// that, each action is timed for a few sizes, which compiles its program and finds the classes of
// its graphs and the pace of its tiles. The time of these first simulations is also reported.
void cold(const Case& one) {
  const auto setup = read_tuning_setup(parse_yaml(options(one, "0"), "bench"));
  CallTimer timer(setup->site, std::size_t{0});
  TuningOracle oracle(setup->actions, timer);
  const std::size_t n = setup->actions->knobs().size();
  Random random(1);
  const auto workload =
      read_workload(setup->workload, workload_site(*setup->site->fabrics.front()));
  struct Chosen {
    CollectiveKind collective;
    std::span<const std::int32_t> action;
  };
  std::vector<Chosen> choices;
  for (const CollectiveKind collective : workload->collectives()) {
    const auto all = setup->actions->legal_actions(collective);
    for (int i = 0; i < 50; ++i) {
      const auto row = static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(all.size() / n) - 1));
      choices.push_back({collective, all.subspan(row * n, n)});
    }
  }
  const auto step = [&](const Chosen& chosen) {
    Call call = workload->next(random).call;
    call.bytes = fitting_bytes(chosen.collective, call.bytes, setup->fabric.ranks);
    call.collective = chosen.collective;
    return oracle.time(call, chosen.action);
  };
  constexpr int kFirst = 4;
  double begin = processor_s();
  for (int pass = 0; pass < kFirst; ++pass) {
    for (const Chosen& chosen : choices) (void)step(chosen);
  }
  const double first_s = (processor_s() - begin) / static_cast<double>(choices.size());
  long steps = 0;
  for (begin = processor_s(); processor_s() - begin < 2; ++steps) {
    const auto drawn = random.integer(0, static_cast<std::int64_t>(choices.size()) - 1);
    (void)step(choices[static_cast<std::size_t>(drawn)]);
  }
  fmt::print("{:<6} {:<10} 1 KiB..{:<6} cold {:>8.0f} steps/s (an action's first {}: {:.1f} ms)\n",
             one.fabric, one.actions, one.most,
             static_cast<double>(steps) / (processor_s() - begin), kFirst, 1e3 * first_s);
  std::fflush(stdout);
}

// Times every legal action four times with a timer that has seen none of them. This is the total
// cost of learning about all actions.
void all_actions(const std::string& fabric, const std::string& actions) {
  const auto setup =
      read_tuning_setup(parse_yaml(options({fabric, actions, "1GiB"}, "0"), "bench"));
  CallTimer timer(setup->site, std::size_t{0});
  TuningOracle oracle(setup->actions, timer);
  const std::size_t n = setup->actions->knobs().size();
  Random random(1);
  const auto workload =
      read_workload(setup->workload, workload_site(*setup->site->fabrics.front()));
  constexpr int kPasses = 4;
  long timed = 0;
  const double begin = processor_s();
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const CollectiveKind collective : workload->collectives()) {
      const auto all = setup->actions->legal_actions(collective);
      for (std::size_t row = 0; row * n < all.size(); ++row, ++timed) {
        Call call = workload->next(random).call;
        call.bytes = fitting_bytes(collective, call.bytes, setup->fabric.ranks);
        call.collective = collective;
        (void)oracle.time(call, all.subspan(row * n, n));
      }
    }
  }
  fmt::print("{:<6} {:<10} all {:>6} actions, {} calls each: {:.2f} ms per action\n", fabric,
             actions, timed / kPasses, kPasses,
             1e3 * kPasses * (processor_s() - begin) / static_cast<double>(timed));
  std::fflush(stdout);
}

// Times steps of the environment on a sweep whose times are all cached.
void warm(const std::string& fabric, const std::string& actions, const std::string& noise) {
  CollectiveTuningEnv env(parse_yaml(
      fmt::format("{{fabric: {}, actions: {}, noise: {}, workload: {{name: sweep, collectives: "
                  "[allreduce, allgather], sizes: 1KiB..4MiB x4}}}}",
                  fabric, actions, noise),
      "bench"));
  OwnedBuffers buffers(env.spec());
  const StepBuffers view = buffers.view();
  Random random(1);
  std::vector<std::uint8_t> scratch(64);
  // Several actions of each kind that are legal for both collectives.
  std::vector<std::vector<std::int32_t>> choices;
  std::vector<std::int32_t> action(env.spec().action_space.size());
  env.reset(1, view);
  while (choices.size() < 8) {
    sample_legal_action(env, buffers.action_mask, random, scratch, action);
    const TuningActions& all = *env.setup().actions;
    if (all.legal(CollectiveKind::AllReduce, action) &&
        all.legal(CollectiveKind::AllGather, action)) {
      choices.push_back(action);
    }
  }
  const auto run = [&](long steps) {
    for (long i = 0; i < steps; ++i) {
      const auto& chosen = choices[static_cast<std::size_t>(i) % choices.size()];
      if (env.step(chosen, view).done()) env.reset(std::nullopt, view);
    }
  };
  run(20'000);
  const std::uint64_t before = env.timer().simulations();
  constexpr long kSteps = 1'000'000;
  const double begin = processor_s();
  run(kSteps);
  fmt::print("{:<6} {:<10} noise {:<10} warm {:>8.2f} M steps/s ({} simulations)\n", fabric,
             actions, noise, kSteps / (processor_s() - begin) / 1e6,
             env.timer().simulations() - before);
  std::fflush(stdout);
}

// Times simulations of random legal actions at random sizes and moments on two nodes under the
// random profile cloud-ib, where nothing can be shared: every message has a latency of its own, and
// capacities change during the call. Prints the work of a simulation as well.
void random_profile(int simulations) {
  const auto setup = read_tuning_setup(
      parse_yaml("{fabric: {name: ndv4, nodes: 2}, actions: stock-nccl, cache: 0, "
                 "noise: {name: random, regimes: [{noise: cloud-ib}]}}",
                 "bench"));
  const std::size_t condition = setup->condition_of.front();
  Simulator simulator(setup->site->fabrics.front(), setup->site->cost_model, "flow");
  simulator.set_noise(setup->site->conditions[condition]);
  CallTimer timer(setup->site, std::size_t{0});
  TuningOracle oracle(setup->actions, timer);
  const std::size_t n = setup->actions->knobs().size();
  const auto workload =
      read_workload(setup->workload, workload_site(*setup->site->fabrics.front()));
  Random random(1);
  double flows = 0;
  double checksum_s = 0;
  const double begin = processor_s();
  for (int i = 0; i < simulations; ++i) {
    const Call call = workload->next(random).call;
    const auto all = setup->actions->legal_actions(call.collective);
    const auto row =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(all.size() / n) - 1));
    const Config config =
        full_config(setup->site->algorithms, oracle.config(call, all.subspan(row * n, n)));
    const Result result = simulator.simulate(call, config, setup->site->machine_seed,
                                             static_cast<std::uint64_t>(random.integer(0, 63)));
    flows += static_cast<double>(result.flows);
    checksum_s += result.time_s;
  }
  const double spent_s = processor_s() - begin;
  fmt::print(
      "2 nodes of ndv4, stock-nccl, cloud-ib: {:.1f} simulations/s of {:.0f} flows on average, "
      "{:.0f} ns per flow (sum of times {:.17g} s)\n",
      simulations / spent_s, flows / simulations, 1e9 * spent_s / flows, checksum_s);
}

}  // namespace
}  // namespace cclgym::bench

// With --cold, measures only cold runs on 8 GPUs; with --random, only simulations under a random
// profile.
int main(int argc, char** argv) {
  using namespace cclgym::bench;
  if (argc > 1 && std::string_view(argv[1]) == "--random") {
    random_profile(300);
    return 0;
  }
  const bool only_cold = argc > 1 && std::string_view(argv[1]) == "--cold";
  std::vector<std::string> fabrics{"dgx1", "ndv4", "dgx2", "{name: frontier, servers: 2}"};
  if (only_cold) fabrics.resize(2);
  for (const std::string& fabric : fabrics) {
    for (const std::string actions : {"stock-nccl", "nccl-2.30", "offline"}) {
      // NCCL does not run on Frontier's AMD GPUs.
      if (fabric.find("frontier") != std::string::npos && actions == "nccl-2.30") continue;
      for (const std::string most : {"1MiB", "16MiB", "1GiB"}) cold({fabric, actions, most});
    }
  }
  if (only_cold) return 0;
  for (const std::string fabric : {"dgx1", "ndv4", "dgx2"}) {
    for (const std::string actions : {"stock-nccl", "offline"}) all_actions(fabric, actions);
  }
  for (const std::string fabric : {"dgx1", "ndv4"}) {
    for (const std::string actions : {"stock-nccl", "offline"}) {
      for (const std::string noise : {"none", "stragglers"}) warm(fabric, actions, noise);
    }
  }
  return 0;
}
