// The plugin as NCCL loads it, cost tables like NCCL's, and deployed policies with random weights.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "deploy/nccl_plugin/deployed_policy.hpp"
#include "deploy/nccl_plugin/nccl_profiler_abi.h"
#include "deploy/nccl_plugin/nccl_tuner_abi.h"
#include "deploy/runtime/policy_file.hpp"

namespace cclgym::test {

/// dlopens build/libnccl-tuner-cclgym.so, as NCCL does. Throws std::runtime_error.
class Plugin {
 public:
  Plugin();
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  /// The symbol; null if it is missing.
  template <class Table>
  [[nodiscard]] const Table* table(const std::string& name) const {
    return static_cast<const Table*>(symbol(name));
  }
  [[nodiscard]] void* symbol(const std::string& name) const;
  static std::string path();

 private:
  void* library_;
};

/// A logger, and the lines that it received since clear().
void record_line(int level, unsigned long flags, const char* file, int line, const char* format,
                 ...);
[[nodiscard]] std::vector<std::string> recorded_lines();
void clear_lines();

/// An environment variable that is set during a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value);
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// A communicator's tuner of any plugin version, with one interface.
class AnyTuner {
 public:
  AnyTuner(const Plugin& plugin, int version, std::size_t ranks, std::size_t nodes,
           cclgym_nccl_logger logger = record_line, cclgym_nccl_constants* constants = nullptr);
  ~AnyTuner();
  AnyTuner(const AnyTuner&) = delete;
  AnyTuner& operator=(const AnyTuner&) = delete;

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] void* context() const { return context_; }
  /// Needs v3 or newer. `table` has CCLGYM_NCCL_ALGORITHMS rows or fewer, of CCLGYM_NCCL_PROTOCOLS
  /// entries.
  int decide(int collective, std::size_t bytes, float* table, int algorithms, int registered,
             int* channels) const;
  int decide_v2(int collective, std::size_t bytes, int* algorithm, int* protocol,
                int* channels) const;
  int chunk(int collective, std::size_t bytes, int algorithm, int protocol, int channels,
            std::size_t* chunk) const;

 private:
  int version_;
  cclgym_nccl_tuner_v2 v2_{};
  cclgym_nccl_tuner_v3 v3_{};
  cclgym_nccl_tuner_v6 v6_{};  ///< also for v4 and v5, which are prefixes of it
  int (*end_)(void*) = nullptr;
  void* context_ = nullptr;
  int status_ = 0;
};

/// NCCL's cost table for a tuner: predicted times, with some combinations marked as impossible.
struct NcclTable {
  float entries[CCLGYM_NCCL_ALGORITHMS * CCLGYM_NCCL_PROTOCOLS];

  NcclTable(Random& random, double impossible);
  [[nodiscard]] bool legal(int place) const { return entries[place] >= 0; }
};

/// A deployed policy for `machines` with random weights and observations. Its profile is nccl-2.30
/// if `chunks`, otherwise stock-nccl.
[[nodiscard]] PolicyFile random_deployed_policy(std::uint64_t seed,
                                                const std::vector<DeployedMachine>& machines,
                                                bool chunks);
/// Random machines with labels like "machine 16x2", from pairs of ranks and nodes.
[[nodiscard]] std::vector<DeployedMachine> random_machines(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sizes, std::uint64_t seed);

}  // namespace cclgym::test
