// Communicators of a job: the fabric as each process group sees it, and the choice of its calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/simulator.hpp"
#include "sim/tuners/tuner.hpp"
#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// Tuner of calls that no other tuner is named for, and of those that a named configuration cannot
/// carry out (sends and receives, for a ring): "nccl-default:2.18", "rccl-default" on AMD's GPUs,
/// and "ring/Simple/1" on a fabric that does not name its GPUs.
[[nodiscard]] std::string default_job_tuner(const Fabric& fabric);

/// A call of a communicator, by name.
struct NamedCall {
  std::string communicator;
  CollectiveKind collective = CollectiveKind::AllReduce;  ///< AllToNext: a message
  std::uint64_t bytes = 0;                                ///< as in the job (JobOp::bytes)
  friend auto operator<=>(const NamedCall&, const NamedCall&) = default;
};

/// Choices of a job's communicators. A choice is the name of a tuner ("nccl-default:2.18",
/// "dispatch:FILE", "pccl:FILE", "synth:KIND"), or a configuration
/// "ALGORITHM[/PROTOCOL[/CHANNELS]]" ("ring/LL128/8"; Simple and one channel by default).
struct JobTuners {
  std::string job{};  ///< choice of all communicators without their own; empty: default_job_tuner
  std::map<std::string, std::string> communicator{};  ///< by name of the communicator
  /// Configurations of single calls, before all tuners. Their algorithms are shipped ones.
  std::map<NamedCall, Config> calls{};
  /// Gets a sentence about each collective that another tuner chooses for, because the named one
  /// has no configuration. May be empty.
  std::function<void(const std::string&)> say{};
  /// Makes tuners of names that make_tuner does not know ("policy:FILE"); null: a configuration.
  std::function<std::unique_ptr<const Tuner>(const std::string&, const TunerSite&)> make{};
};

/// A communicator: a process group, or the two ends of a message.
struct GroupView {
  std::vector<std::int32_t> ranks;       ///< ranks of the job
  std::shared_ptr<const Fabric> fabric;  ///< with the group's ranks, in its order
  std::unique_ptr<Simulator> simulator;  ///< with engine flow
  std::map<std::string, std::unique_ptr<const Tuner>> tuners;  ///< by choice
};

/// Call of a group with the configuration that its tuner chose.
struct ConfiguredCall {
  GroupView* view = nullptr;
  Call call;
  Config config;
};

/// "ring LL128 8 ch" for tables.
[[nodiscard]] std::string config_label(const Config& config);

/// Makes communicators and chooses configurations; remembers both. Not thread-safe.
class GroupViews {
 public:
  GroupViews(std::shared_ptr<const Fabric> fabric, CostModel model);
  ~GroupViews();

  /// Chooses by these tuners from now on. Throws UserError if one is named for a communicator that
  /// the job does not have.
  void set_tuners(const JobGraph& job, JobTuners tuners);
  /// Makes the tuners that are named but have not been asked for a call, so that a wrong name is an
  /// error although no call needs it. Throws UserError as they do.
  void check_choices(const JobGraph& job);
  /// The fabric of all ranks.
  [[nodiscard]] const Fabric& fabric() const { return *fabric_; }
  /// The fabric of all ranks with the NICs that a program uses.
  [[nodiscard]] std::shared_ptr<const Fabric> bound_fabric(NicUse use);
  [[nodiscard]] const CostModel& cost_model() const { return model_; }
  [[nodiscard]] GroupView& of(const std::vector<std::int32_t>& ranks);
  /// Call of a collective of a group of at least two ranks; its size is rounded up to a valid one.
  /// Throws UserError if its tuner has no configuration for it. Collectives that the default tuner
  /// refuses as well (Reduce: NCCL has a ring, for which the library has no program) are refused
  /// with its message, as in `cclgym simulate`, unless the job's tuner chooses for them.
  [[nodiscard]] const ConfiguredCall& collective(const JobOp& op, const ProcessGroup& group);
  /// Call that carries a message from one rank to another: AllToNext on these two.
  [[nodiscard]] const ConfiguredCall& message(const JobOp& op, std::int32_t communicator,
                                              std::int32_t from, std::int32_t to);
  /// Choice of a communicator: its own, or that of the job.
  [[nodiscard]] const std::string& choice_of(std::int32_t communicator) const {
    return choices_[at(communicator)];
  }

 private:
  [[nodiscard]] Config chosen(GroupView& view, std::int32_t communicator, const std::string& choice,
                              const Call& call);
  [[nodiscard]] const Tuner& tuner(GroupView& view, const std::string& choice);
  [[nodiscard]] std::unique_ptr<const Tuner> made(const std::string& choice,
                                                  const TunerSite& site) const;

  std::shared_ptr<const Fabric> fabric_;
  CostModel model_;
  JobTuners tuners_;
  std::vector<std::string> names_;                ///< by communicator
  std::vector<std::string> choices_;              ///< by communicator
  std::map<std::string, SourceLocation> places_;  ///< places of choices that the job's file names
  std::vector<int> all_;
  std::map<std::vector<std::int32_t>, std::unique_ptr<GroupView>> views_;
  struct CallKey {
    const GroupView* view;
    std::string choice;
    CollectiveKind collective;
    std::uint64_t bytes;
    int root;
    auto operator<=>(const CallKey&) const = default;
  };
  [[nodiscard]] const ConfiguredCall& planned(GroupView& view, std::int32_t communicator,
                                              std::uint64_t bytes, const Call& call);
  std::map<CallKey, ConfiguredCall> planned_;
  std::set<std::string> said_;
  std::set<std::string> made_;  ///< choices that a tuner was made for
};

}  // namespace cclgym
