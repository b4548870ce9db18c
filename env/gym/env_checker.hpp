// Checks that an environment keeps the conventions of env/gym/environment.hpp and
// env/gym/vector_env.hpp, as Gymnasium's `check_env` does for Python's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/gym/vector_env.hpp"

namespace cclgym {

/// Drives environments with random legal actions and reports what is against the conventions, a
/// sentence each; nothing is found in a good environment. Environments are made by `maker`, many
/// times.
class EnvChecker {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::size_t steps = 200;  ///< of each of the runs
  };

  explicit EnvChecker(EnvironmentMaker maker) : EnvChecker(std::move(maker), Options()) {}
  EnvChecker(EnvironmentMaker maker, Options options);

  /// One environment by itself:
  /// * its spec: names, spaces, no info twice;
  /// * reset and step write all of their buffers, wherever they are: observations in their space,
  ///   masks of zeros and ones with a choice in every dimension, finite rewards;
  /// * conditional masks: within the marginal one and never without a choice; each choice that the
  ///   marginal mask allows is part of a legal action (where there are few enough to try all);
  /// * actions that are outside of the space, of the wrong size, or illegal (unless the spec says
  ///   that these are not refused) throw InvalidAction and change nothing;
  /// * the same seed and actions give the same bits, in a new environment and (unless it
  ///   keeps_statistics) in a used one; a reset without a seed continues the stream;
  /// * steps before the first reset and after the end throw ResetNeeded;
  /// * a reset refuses unknown options, and takes none and an empty mapping alike.
  [[nodiscard]] std::vector<std::string> check() const;

  /// `environments` of them as a vector environment, with `workers` threads (0: SyncVectorEnv), bit
  /// for bit against single environments that are reset by hand as the mode says.
  [[nodiscard]] std::vector<std::string> check_vector(Autoreset autoreset, std::size_t workers,
                                                      std::size_t environments = 3) const;

 private:
  EnvironmentMaker maker_;
  Options options_;
};

}  // namespace cclgym
