// Checks that an environment keeps the conventions of env/gym/environment.hpp and
// env/gym/vector_env.hpp, as Gymnasium's `check_env` does for Python's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/gym/vector_env.hpp"

namespace cclgym {

/// Drives environments with random legal actions and reports violations of the conventions, one
/// sentence each; the list is empty for a correct environment. `maker` is called many times.
class EnvChecker {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::size_t steps = 200;  ///< steps of each run
  };

  explicit EnvChecker(EnvironmentMaker maker) : EnvChecker(std::move(maker), Options()) {}
  EnvChecker(EnvironmentMaker maker, Options options);

  /// Checks a single environment:
  /// * its spec: names, spaces, no duplicate info;
  /// * reset and step write all of their buffers, wherever these are in memory: observations in
  ///   their space, masks of zeros and ones with a choice in every dimension, finite rewards;
  /// * conditional masks stay within the marginal mask and always leave a choice; each choice that
  ///   the marginal mask allows is part of a legal action (if there are few enough to try all);
  /// * actions outside the space, of the wrong size, or illegal (unless the spec says that these
  ///   are accepted) throw InvalidAction and change nothing;
  /// * the same seed and actions give the same bits in a new environment and, unless it
  ///   keeps_statistics, in a used one; a reset without a seed continues the stream;
  /// * steps before the first reset and after the end throw ResetNeeded;
  /// * a reset refuses unknown options, and treats no options and an empty mapping the same.
  [[nodiscard]] std::vector<std::string> check() const;

  /// Checks a vector of `environments` environments with `workers` threads (0: SyncVectorEnv): its
  /// results must equal, bit for bit, those of single environments reset as the mode prescribes.
  [[nodiscard]] std::vector<std::string> check_vector(Autoreset autoreset, std::size_t workers,
                                                      std::size_t environments = 3) const;

 private:
  EnvironmentMaker maker_;
  Options options_;
};

}  // namespace cclgym
