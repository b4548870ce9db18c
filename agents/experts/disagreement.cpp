#include "agents/experts/disagreement.hpp"

#include <array>
#include <map>
#include <tuple>

#include "core/random.hpp"

namespace cclgym {

std::vector<double> disagreement_weights(const std::shared_ptr<const TuningSetup>& setup,
                                         Expert& expert, double weight, std::size_t threads) {
  const std::vector<Call> calls = setup->listed_calls();
  constexpr std::array<std::size_t, 1> kNoiseless{0};
  setup->oracle_table->fill(calls, kNoiseless, threads);
  CollectiveTuningEnv environment(setup);
  OwnedBuffers buffers(environment.spec());
  std::vector<std::int32_t> action(environment.spec().action_space.size());
  CallTimer timer(setup->site, setup->cache);
  TuningOracle oracle(setup->actions, timer, setup->oracle_table);
  Random random(1);
  std::map<std::tuple<CollectiveKind, int, std::uint64_t>, double> weights;
  environment.reset(1, buffers.view());
  // The environment's next call is what an expert looks at; a pass has every call once.
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call call = environment.next_call().call;
    expert.choose(environment, random, action);
    const double ratio = oracle.time(call, action).time_s / oracle.best(call).time_s;
    weights[{call.collective, call.root, call.bytes}] = ratio > 1 + kDisagreement ? weight : 1;
    (void)environment.step(action, buffers.view());
  }
  std::vector<double> by_call;
  for (const Call& call : calls) {
    by_call.push_back(weights.at({call.collective, call.root, call.bytes}));
  }
  return by_call;
}

}  // namespace cclgym
