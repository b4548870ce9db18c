// The kinds of workload streams; used only inside workload*.cpp.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "env/tuning/workload/workload.hpp"

namespace cclgym {

/// Collectives of the calls, each once, in the order of the enum.
[[nodiscard]] std::vector<CollectiveKind> collectives_of(const std::vector<WorkloadCall>& calls);

/// Repeats one iteration.
class IterationWorkload : public Workload {
 public:
  IterationWorkload(std::string name, std::vector<WorkloadCall> calls);
  [[nodiscard]] const std::vector<WorkloadCall>& calls() const override { return calls_; }
  void start(Random& random) override;
  WorkloadCall next(Random& random) override;

 private:
  std::vector<WorkloadCall> calls_;
  std::size_t position_ = 0;
};

/// All cells of a sweep in random order, then in a new random order, and so on; or always in the
/// order in which they are listed; or independent draws by weight.
class SweepWorkload : public Workload {
 public:
  SweepWorkload(std::vector<WorkloadCall> cells, bool shuffled);
  [[nodiscard]] const std::vector<WorkloadCall>& calls() const override { return cells_; }
  bool weigh(std::vector<double> weights) override;
  void start(Random& random) override;
  WorkloadCall next(Random& random) override;

 private:
  std::vector<WorkloadCall> cells_;
  std::vector<std::size_t> order_;
  std::size_t position_ = 0;
  bool shuffled_;
  std::vector<double> cumulative_;  ///< sums of the weights; empty: not weighed
};

/// Draws sizes log-uniformly between two bounds, and the collective uniformly.
class CurriculumWorkload : public Workload {
 public:
  CurriculumWorkload(std::vector<CollectiveKind> collectives, std::uint64_t least,
                     std::uint64_t most, int ranks);
  [[nodiscard]] const std::vector<WorkloadCall>& calls() const override { return none_; }
  void start(Random& random) override;
  WorkloadCall next(Random& random) override;

 private:
  std::vector<WorkloadCall> none_;
  double log_least_;
  double log_most_;
  int ranks_;
};

/// Alternates between iterations of several workloads; the next one is drawn after each.
class MixedWorkload : public Workload {
 public:
  explicit MixedWorkload(std::vector<std::unique_ptr<Workload>> parts);
  [[nodiscard]] const std::vector<WorkloadCall>& calls() const override { return calls_; }
  void start(Random& random) override;
  WorkloadCall next(Random& random) override;

 private:
  std::vector<std::unique_ptr<Workload>> parts_;
  std::vector<WorkloadCall> calls_;
  std::size_t current_ = 0;
};

/// One iteration of the job with this name (workload_jobs.cpp); empty if there is none.
[[nodiscard]] std::vector<WorkloadCall> job_iteration(std::string_view name,
                                                      const WorkloadSite& site);
[[nodiscard]] const std::vector<WorkloadInfo>& job_infos();

}  // namespace cclgym
