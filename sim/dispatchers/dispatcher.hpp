// A dispatcher as in PCCL (Singh et al., arXiv 2504.18658, section IV-C): for each collective, a
// support vector machine that chooses a backend by message size and number of GPUs; with the grid
// of times on which it was trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/contract.hpp"
#include "core/error.hpp"
#include "core/options/option.hpp"
#include "sim/dispatchers/svm_model.hpp"

namespace cclgym {

/// A cell of the grid.
struct DispatcherCell {
  int gpus = 0;
  std::uint64_t bytes = 0;
  bool held_out = false;          ///< true if it tests the machine and did not train it
  std::vector<double> time_us{};  ///< mean over the trials, by backend

  /// Index of the first backend whose time is at most 1 + `tie` times the minimum
  /// (Dispatcher::tie).
  [[nodiscard]] std::size_t best(double tie) const;
  /// Time of a backend over the minimum time.
  [[nodiscard]] double regret(std::size_t backend) const;
};

/// Quality of a rule on the held-out cells (on all cells if none is held out).
struct DispatcherScore {
  std::string rule{};       ///< "svm", "majority class", "always pccl:rec", "nearest cell"
  double accuracy = 0;      ///< fraction of cells for which it names the label
  double regret = 1;        ///< geometric mean of its time over the minimum time
  double worst_regret = 1;  ///< maximum of it
};

/// The part for one collective.
struct CollectiveDispatcher {
  CollectiveKind collective = CollectiveKind::AllGather;
  SvmModel svm{};                       ///< its labels are indices into Dispatcher::backends
  double cross_validation = 0;          ///< accuracy of the 5-fold cross-validation
  std::vector<DispatcherCell> cells{};  ///< by number of GPUs, then by size

  [[nodiscard]] std::size_t choose(std::uint64_t bytes, int gpus) const;
};

struct Dispatcher {
  std::string fabric{};   ///< name of the machine's fabric, without options
  int gpus_per_node = 1;  ///< a node of fewer GPUs may be used alone
  std::string cost_model{};
  std::string experiment{};             ///< name and hash of the sweep
  std::vector<std::string> backends{};  ///< names of tuners
  int trials = 1;
  double sigma = 0;  ///< spread of a trial: its time is the simulated one times exp(sigma Z)
  std::uint64_t seed = 1;
  std::vector<CollectiveDispatcher> collectives{};

  /// Relative difference of two mean times below which the trials do not tell them apart: two
  /// standard errors of a difference. Backends that run the same program, as PCCL's do on one node,
  /// would otherwise have labels by chance; with it, the first of them is the label.
  [[nodiscard]] double tie() const;
  [[nodiscard]] const CollectiveDispatcher* find(CollectiveKind collective) const;
  /// "allgather, reducescatter"
  [[nodiscard]] std::string collectives_text() const;
};

/// True for the collectives of PCCL: AllGather, ReduceScatter and AllReduce.
[[nodiscard]] bool pccl_has(CollectiveKind collective);

/// The two features of PCCL: log2 of the size in bytes, and log2 of the number of GPUs.
[[nodiscard]] SvmPoint dispatcher_point(std::uint64_t bytes, int gpus);

/// The machine and its null models: the most frequent best backend of the training cells; always
/// the backend "pccl:rec", if there is one; and the best backend of the nearest training cell (by
/// the scaled features, among equals the first).
[[nodiscard]] std::vector<DispatcherScore> dispatcher_scores(const Dispatcher& dispatcher,
                                                             const CollectiveDispatcher& part);

/// Accuracy that PCCL states for a machine and collective (Table I of arXiv 2504.18658); nullopt
/// for others.
[[nodiscard]] std::optional<double> published_svm_accuracy(std::string_view fabric,
                                                           CollectiveKind collective);

/// Keys of a file, of `machine`, of an item of `collectives`, of its `svm`, and of a cell of its
/// `grid`.
[[nodiscard]] const std::vector<OptionSpec>& dispatcher_options();
[[nodiscard]] const std::vector<OptionSpec>& dispatcher_machine_options();
[[nodiscard]] const std::vector<OptionSpec>& dispatcher_collective_options();
[[nodiscard]] const std::vector<OptionSpec>& dispatcher_svm_options();
[[nodiscard]] const std::vector<OptionSpec>& dispatcher_cell_options();

/// The dispatcher as YAML (docs/pccl.md describes it), with the lines of `comment` at the top.
[[nodiscard]] std::string to_yaml(const Dispatcher& dispatcher, std::string_view comment = {});
/// Reads it. Throws UserError with the location of the error: another format, wrong or missing
/// keys, lists whose sizes disagree, and accuracies that the vectors and the grid do not give.
[[nodiscard]] Dispatcher parse_dispatcher(std::string_view text, const std::string& file_name);
[[nodiscard]] Dispatcher load_dispatcher(const std::string& path);

}  // namespace cclgym
