// Streams of collective calls, as training and inference jobs make them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/contract.hpp"
#include "core/options/option.hpp"
#include "core/random.hpp"
#include "core/yaml/yaml.hpp"
#include "sim/call/call.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// What a tuner can know about a call besides its collective and size.
struct CallContext {
  double compute_s = 0;    ///< compute between the call before and this one, on one GPU, s
  double intensity = 0;    ///< of the model, FLOP a communicated byte (I = C / D); 0: no model
  int pipe_ops = 1;        ///< operations that NCCL launches together (numPipeOps)
  int local_batch = 0;     ///< samples on one GPU; 0: no model
  bool overlaps = false;   ///< does the job compute while the call runs?
  bool pipeline = false;   ///< is it a pipeline-parallel job?
  bool ends_step = false;  ///< is it the last call of an iteration of the job?
};

struct WorkloadCall {
  Call call;
  CallContext context;
};

/// Where a workload runs.
struct WorkloadSite {
  int ranks = 1;
  std::string gpu_model{};  ///< says how long it computes; Fabric::gpu_model()
};
[[nodiscard]] WorkloadSite workload_site(const Fabric& fabric);

/// A stream without an end. Next to no state: what comes next depends on the random stream and on
/// where it stands.
class Workload {
 public:
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The collectives that it calls.
  [[nodiscard]] const std::vector<CollectiveKind>& collectives() const { return collectives_; }
  /// The calls that it is made of, where they are finitely many: one iteration, the cells of a
  /// sweep.
  [[nodiscard]] virtual const std::vector<WorkloadCall>& calls() const = 0;

  /// A new episode begins.
  virtual void start(Random& random) = 0;
  /// The next call. Does not allocate.
  virtual WorkloadCall next(Random& random) = 0;

 protected:
  Workload(std::string name, std::vector<CollectiveKind> collectives)
      : name_(std::move(name)), collectives_(std::move(collectives)) {}

 private:
  std::string name_;
  std::vector<CollectiveKind> collectives_;
};

/// For `list` and messages.
struct WorkloadInfo {
  std::string name;
  std::string description;  ///< one line
};
[[nodiscard]] const std::vector<WorkloadInfo>& workload_infos();

/// Keys of a workload (docs/collective-tuning.md), and of a call of a trace.
[[nodiscard]] const std::vector<OptionSpec>& workload_options();
[[nodiscard]] const std::vector<OptionSpec>& trace_call_options();

/// Reads a workload: a name ("ddp-resnet-50") or a mapping ({name: sweep, collectives:
/// [allreduce]}) of workload_options(). Throws UserError at the place of what is wrong.
[[nodiscard]] std::unique_ptr<Workload> read_workload(const YamlValue& value,
                                                      const WorkloadSite& site);

/// The least size of at least `bytes` that a call of a collective can have.
[[nodiscard]] std::uint64_t fitting_bytes(CollectiveKind collective, std::uint64_t bytes,
                                          int ranks);

}  // namespace cclgym
