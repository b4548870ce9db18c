#include "agents/trigger/made_up_noise.hpp"

#include <cmath>
#include <map>

namespace cclgym {

namespace {

// Uniform in the logarithm.
double log_uniform(Random& random, double low, double high) {
  return portable_exp(random.uniform(portable_log(low), portable_log(high)));
}

// Levels between which the times of a kind alternate.
struct Alternation {
  double apart = 0;
  double change = 0;  // probability
  bool high = false;
};

}  // namespace

TriggerStream with_made_up_bytes(const TriggerStream& stream, double sigma, Random& random) {
  const double draw = random.uniform();
  if (draw < 0.5) return stream;
  const bool bytes_alone = draw >= 0.75;
  TriggerStream made = stream;
  const double spread = portable_exp(random.uniform(portable_log(0.01), portable_log(0.1)));
  std::map<std::uint32_t, double> shifts;  // by regime
  std::map<std::uint64_t, double> levels;  // by kind
  for (std::size_t t = 0; t < made.calls.size(); ++t) {
    TriggerInput& call = made.calls[t];
    const auto [shift, first] = shifts.try_emplace(made.regimes[t], 0);
    if (first && (bytes_alone || random.uniform() < 0.5)) {
      const double sign = random.uniform() < 0.5 ? -1 : 1;
      shift->second = sign * random.uniform(3, 12) * spread;
    }
    const auto [level, unseen] = levels.try_emplace(call.kind, 0);
    if (unseen) level->second = random.uniform(10, 18);
    call.counted = true;
    call.log_bytes = level->second + shift->second + random.normal(0, spread);
    if (bytes_alone) call.log_ratio = random.normal(0, sigma);
  }
  return made;
}

TriggerStream with_rough_noise(const TriggerStream& stream, Random& random) {
  TriggerStream made = stream;
  const double sigma = log_uniform(random, 0.02, 0.2);
  const double late = log_uniform(random, 0.001, 0.05);
  std::map<std::uint64_t, double> sigmas;           // by class
  std::map<std::uint64_t, Alternation> alternates;  // by kind
  for (TriggerInput& call : made.calls) {
    const auto [own, first] = sigmas.try_emplace(call.group, sigma);
    if (first) own->second *= log_uniform(random, 0.5, 2);
    const auto [levels, unseen] = alternates.try_emplace(call.kind);
    Alternation& between = levels->second;
    if (unseen && random.uniform() < 0.25) {
      between = {.apart = random.uniform(0.1, 0.5), .change = random.uniform(0.05, 0.5)};
    }
    if (random.uniform() < between.change) between.high = !between.high;
    call.log_ratio += random.normal(0, own->second) + (between.high ? between.apart : 0);
    if (random.uniform() < late) call.log_ratio += random.exponential(0.5);
  }
  return made;
}

}  // namespace cclgym
