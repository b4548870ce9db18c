// Streams of collective calls of training and inference jobs.
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

/// Facts about a call that a tuner knows besides its collective and size.
struct CallContext {
  double compute_s = 0;    ///< compute between the previous call and this one, on one GPU, s
  double intensity = 0;    ///< FLOP per communicated byte of the model (I = C / D); 0: no model
  int pipe_ops = 1;        ///< operations that NCCL launches together (numPipeOps)
  int local_batch = 0;     ///< samples on one GPU; 0: no model
  bool overlaps = false;   ///< true if the job computes while the call runs
  bool pipeline = false;   ///< true if the job is pipeline-parallel
  bool ends_step = false;  ///< true for the last call of an iteration of the job
};

struct WorkloadCall {
  Call call;
  CallContext context;
};

/// Properties of a fabric on which a workload depends.
struct WorkloadSite {
  int ranks = 1;
  std::string gpu_model{};  ///< determines how long the workload computes; Fabric::gpu_model()
};
[[nodiscard]] WorkloadSite workload_site(const Fabric& fabric);

/// An endless stream of calls. It has almost no state: the next call depends on the random stream
/// and on the current position.
class Workload {
 public:
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Collectives of the workload's calls.
  [[nodiscard]] const std::vector<CollectiveKind>& collectives() const { return collectives_; }
  /// The calls of the workload if there are finitely many: one iteration, or the cells of a sweep.
  [[nodiscard]] virtual const std::vector<WorkloadCall>& calls() const = 0;

  /// Draws each call with a probability in proportion to its weight from now on: one weight for
  /// each of calls(). Returns false if the workload's order is fixed or it has no list.
  virtual bool weigh(std::vector<double> /*weights*/) { return false; }
  /// Starts a new episode.
  virtual void start(Random& random) = 0;
  /// Returns the next call. Does not allocate.
  virtual WorkloadCall next(Random& random) = 0;

 protected:
  Workload(std::string name, std::vector<CollectiveKind> collectives)
      : name_(std::move(name)), collectives_(std::move(collectives)) {}

 private:
  std::string name_;
  std::vector<CollectiveKind> collectives_;
};

/// Name and description for `list` and messages.
struct WorkloadInfo {
  std::string name;
  std::string description;  ///< one line
};
[[nodiscard]] const std::vector<WorkloadInfo>& workload_infos();

/// Keys of a workload (docs/collective-tuning.md), and of a call of a trace.
[[nodiscard]] const std::vector<OptionSpec>& workload_options();
[[nodiscard]] const std::vector<OptionSpec>& trace_call_options();

/// Reads a workload, which is a name ("ddp-resnet-50") or a mapping ({name: sweep, collectives:
/// [allreduce]}) of workload_options(). Throws UserError at the location of the mistake. A job is
/// read by read_job_workload, because it determines the machine.
[[nodiscard]] std::unique_ptr<Workload> read_workload(const YamlValue& value,
                                                      const WorkloadSite& site);
/// Repeats the calls of one iteration.
[[nodiscard]] std::unique_ptr<Workload> iteration_workload(std::string name,
                                                           std::vector<WorkloadCall> calls);

}  // namespace cclgym
