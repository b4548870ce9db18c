// Trains a dispatcher, as PCCL does, on the results of a sweep.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/error.hpp"
#include "experiments/run/results.hpp"
#include "experiments/sweep/experiment.hpp"
#include "sim/dispatchers/dispatcher.hpp"

namespace cclgym {

struct DispatcherTraining {
  int trials = 10;
  /// The time of a trial is the simulated time of the cell times exp(sigma Z), Z normal. The noise
  /// is drawn here and not simulated, because programs under a noise profile lose the symmetry
  /// that lets thousands of GPUs be simulated in seconds.
  double sigma = 0.02;
  std::uint64_t seed = 1;  ///< seed of the trials and of the split
};

/// The label of a cell (collective, size, number of GPUs) is the backend with the minimum mean time
/// over the trials, among those that the trials do not tell apart the first (Dispatcher::tie); one
/// support vector machine is trained for each collective (SvmClassifier). The same rows and options
/// give the same dispatcher. Throws UserError at `where` if the sweep has several machines, several
/// fabrics of the same number of GPUs, times of parts of calls, algorithms that no tuner chose,
/// fewer than two backends, fewer than five cells of a collective, or a cell without a time for
/// each backend.
[[nodiscard]] Dispatcher train_dispatcher(const Experiment& experiment,
                                          std::span<const ResultRow> rows,
                                          const DispatcherTraining& training,
                                          const SourceLocation& where);

/// Table of accuracies and regrets, beside those of the null models and PCCL's accuracies.
[[nodiscard]] std::string dispatcher_text(const Dispatcher& dispatcher);

}  // namespace cclgym
