// Noise of a simulated call: cross-tenant load, other jobs, jitter, stragglers (docs/noise.md).
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

/// Set of links that change together.
enum class LoadScope : std::uint8_t {
  Link,    ///< each directed link by itself
  Server,  ///< all links of the kind at a node, both directions; between switches, each pair
};

/// Slow load by other tenants on the links of one kind: a continuous-time Markov chain whose states
/// are remaining shares of the capacity. It redraws its state at rate 1 / correlation_s and picks
/// state i with probability share_i, so its autocorrelation is exp(-t / correlation_s). On average
/// it stays in state i for correlation_s / (1 - share_i), and spends share_i of all time there.
struct LinkLoad {
  struct State {
    double capacity = 1;  ///< share of the link's capacity, 0 < capacity <= 1
    double share = 1;     ///< share of all time; the shares sum to 1
  };
  LoadScope scope = LoadScope::Server;
  double correlation_s = 0;  ///< > 0 if there are states
  std::vector<State> states;

  [[nodiscard]] bool any() const { return !states.empty(); }
  /// True if the states have different capacities.
  [[nodiscard]] bool varies() const;
};

/// Extra latency of each message: lognormal, plus a Pareto part with a small probability.
struct MessageJitter {
  double median_s = 0;  ///< median of the lognormal part
  double sigma = 0;     ///< standard deviation of its logarithm
  double tail_probability = 0;
  double tail_least_s = 0;  ///< minimum of the Pareto part
  double tail_shape = 2;    ///< P(tail > x) = (tail_least / x)^tail_shape

  [[nodiscard]] bool any() const {
    return median_s > 0 || (tail_probability > 0 && tail_least_s > 0);
  }
};

/// Links that stay partly broken as long as the machine (the seed) is the same.
struct DegradedLinks {
  double probability = 0;  ///< probability per link (both its directions)
  double capacity = 1;     ///< remaining share of the capacity

  [[nodiscard]] bool any() const { return probability > 0 && capacity < 1; }
};

/// GPUs that stay slow as long as the machine (the seed) is the same.
struct SlowGpus {
  double probability = 0;  ///< probability per GPU
  std::vector<int> ranks;  ///< ranks that are always slow
  double rate = 1;         ///< remaining share of their thread blocks' rates
  double all = 1;  ///< remaining share of the rates of all GPUs, also of these: the job computes
  SourceLocation where{};  ///< location of `ranks`, if read from a file

  [[nodiscard]] bool any() const {
    return all < 1 || ((probability > 0 || !ranks.empty()) && rate < 1);
  }
};

/// NICs that have failed in part: their links to the network have a fraction of their bandwidth.
struct SlowNics {
  std::vector<int> nics;   ///< numbers within a node
  std::vector<int> nodes;  ///< empty: every node
  double capacity = 1;     ///< remaining share of the capacity
  SourceLocation where{};  ///< location of the mapping, if read from a file

  [[nodiscard]] bool any() const { return !nics.empty() && capacity < 1; }
};

/// Other jobs: each repeatedly sends around a ring of some nodes, then waits.
struct BackgroundJobs {
  int jobs = 0;
  int servers = 2;  ///< nodes per job, drawn separately for each job; at most those of the fabric
  std::uint64_t bytes = 0;
  double pause_s = 0;  ///< mean of the exponential time between two rounds, drawn once per job

  [[nodiscard]] bool any() const { return jobs > 0 && bytes > 0; }
};

struct NoiseProfile {
  std::string name = "none";
  std::string description;
  std::array<LinkLoad, 4> load;           ///< index: LinkKind
  std::array<MessageJitter, 4> jitter;    ///< index: LinkKind
  std::array<DegradedLinks, 4> degraded;  ///< index: LinkKind
  SlowGpus slow_gpus;
  SlowNics slow_nics;
  BackgroundJobs background;
  /// Mean of the exponential start delay per rank, s; nullopt if the cost model's applies.
  std::optional<double> start_skew_s;

  /// True if nothing is set: simulations are bit-identical to those without a profile.
  [[nodiscard]] bool none() const;
  /// True if two repetitions of a call differ.
  [[nodiscard]] bool random() const;
  [[nodiscard]] bool any_jitter() const;
  [[nodiscard]] bool any_load() const;
  /// Every parameter at full precision: profiles with the same text make the same noise.
  [[nodiscard]] std::string canonical_text() const;
};

/// Keys of a profile and of the mappings in it. Every value may be plain or have a source, "{value:
/// 1ms, source: …}".
[[nodiscard]] const std::vector<OptionSpec>& noise_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_load_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_state_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_jitter_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_degraded_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_slow_gpu_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_slow_nic_options();
[[nodiscard]] const std::vector<OptionSpec>& noise_background_options();

/// Reads a profile. Throws UserError with the location of the error.
[[nodiscard]] NoiseProfile read_noise_profile(const YamlValue& document);

/// Throws UserError, at the location in the profile's file, if the profile names a rank, a node or
/// a NIC that the fabric does not have.
void require_ranks(const NoiseProfile& profile, const Fabric& fabric);

/// Names of the built-in profiles: "none" and the shipped ones.
[[nodiscard]] const std::vector<std::string>& noise_profile_names();
/// The profile that a user names: one of noise_profile_names(), or the path of a file (ends in
/// .yaml or .yml). Throws UserError at `where`, naming the nearest profile.
[[nodiscard]] NoiseProfile noise_profile_for(std::string_view name,
                                             const SourceLocation& where = {});

}  // namespace cclgym
