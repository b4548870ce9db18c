// What shakes a simulated call: cross-tenant load, other jobs, jitter, stragglers (docs/noise.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Which links change together.
enum class LoadScope : std::uint8_t {
  Link,    ///< each directed link by itself
  Server,  ///< all links of the kind at a server, both directions; between switches, each pair
};

/// Slow load by other tenants on the links of one kind: a continuous-time Markov chain whose states
/// are shares of the capacity that are left. It has the memory exp(-t / correlation_s): with rate
/// 1 / correlation_s it draws a state anew, state i with probability share_i. So it is in state i
/// for correlation_s / (1 - share_i) at a time on average, and for share_i of all time.
struct LinkLoad {
  struct State {
    double capacity = 1;  ///< share of the link's capacity, 0 < capacity <= 1
    double share = 1;     ///< of all time; all shares sum up to 1
  };
  LoadScope scope = LoadScope::Server;
  double correlation_s = 0;  ///< > 0 if there are states
  std::vector<State> states;

  [[nodiscard]] bool any() const { return !states.empty(); }
  /// Have the states different capacities?
  [[nodiscard]] bool varies() const;
  /// Average over time of the capacity that is left, as a share; 1 without states.
  [[nodiscard]] double mean_capacity() const;
};

/// Extra latency of each message: lognormal, and with a small probability more, by Pareto.
struct MessageJitter {
  double median_s = 0;  ///< of the lognormal part
  double sigma = 0;     ///< standard deviation of its logarithm
  double tail_probability = 0;
  double tail_least_s = 0;  ///< least value of the Pareto part
  double tail_shape = 2;    ///< P(tail > x) = (tail_least / x)^tail_shape

  [[nodiscard]] bool any() const {
    return median_s > 0 || (tail_probability > 0 && tail_least_s > 0);
  }
};

/// Links that are broken in part for as long as the machine is the same (the seed).
struct DegradedLinks {
  double probability = 0;  ///< of each link (both its directions)
  double capacity = 1;     ///< what is left of it, as a share

  [[nodiscard]] bool any() const { return probability > 0 && capacity < 1; }
};

/// GPUs that are slow for as long as the machine is the same.
struct SlowGpus {
  double probability = 0;  ///< of each GPU
  std::vector<int> ranks;  ///< that are slow in any case
  double rate = 1;         ///< what is left of their thread blocks' rates, as a share
  SourceLocation where{};  ///< of `ranks`, if they were read from a file

  [[nodiscard]] bool any() const { return (probability > 0 || !ranks.empty()) && rate < 1; }
};

/// Other jobs: each sends round a ring of some servers, waits, and does so again.
struct BackgroundJobs {
  int jobs = 0;
  int servers = 2;  ///< of each job, drawn anew for each; at most those of the fabric
  std::uint64_t bytes = 0;
  double pause_s = 0;  ///< mean of the exponential time between two rounds, drawn once a job

  [[nodiscard]] bool any() const { return jobs > 0 && bytes > 0; }
};

struct NoiseProfile {
  std::string name = "none";
  std::string description;
  std::array<LinkLoad, 4> load;           ///< index: LinkKind
  std::array<MessageJitter, 4> jitter;    ///< index: LinkKind
  std::array<DegradedLinks, 4> degraded;  ///< index: LinkKind
  SlowGpus slow_gpus;
  BackgroundJobs background;
  /// Mean of the exponential per-rank start delay, s; nothing: as the cost model says.
  std::optional<double> start_skew_s;

  /// Nothing is set: a simulation is what it is without a profile, to the bit.
  [[nodiscard]] bool none() const;
  /// Do two repetitions of a call differ?
  [[nodiscard]] bool random() const;
  [[nodiscard]] bool any_jitter() const;
  [[nodiscard]] bool any_load() const;
  /// Every parameter with all its bits: two profiles with the same text make the same noise.
  [[nodiscard]] std::string canonical_text() const;
};

/// Keys of a profile, and of the mappings in it. Every value may be written plainly or with where
/// it comes from, "{value: 1ms, source: …}".
[[nodiscard]] const std::vector<OptionSpec>& noise_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_load_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_state_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_jitter_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_degraded_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_slow_gpu_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_background_options();

/// Reads a profile. Throws UserError with the place of what is wrong.
[[nodiscard]] NoiseProfile read_noise_profile(const YamlValue& document);

/// Throws UserError, at the place in the profile's file, if it names a rank that a fabric of so
/// many ranks has not.
void require_ranks(const NoiseProfile& profile, const Fabric& fabric);

/// "none" and the shipped profiles.
[[nodiscard]] const std::vector<std::string>& noise_profile_names();
/// What a user means by a profile: one of noise_profile_names(), or the path of a file (ends in
/// .yaml or .yml). Throws UserError at `where`, naming the nearest profile.
[[nodiscard]] NoiseProfile noise_profile_for(std::string_view name,
                                             const SourceLocation& where = {});

}  // namespace cclgym
