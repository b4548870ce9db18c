// One training step of a deep learning recommendation model (DLRM).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// A recommendation model: tables of embeddings, and two MLPs (Naumov et al. 2019).
struct DlrmModel {
  std::string name;
  std::uint64_t tables = 0;
  std::uint64_t width = 0;             ///< elements of an embedding, averaged over the tables
  std::uint64_t pooling = 1;           ///< rows that a sample looks up per table, on average
  std::vector<std::uint64_t> bottom;   ///< widths of the bottom MLP, with its input
  std::vector<std::uint64_t> top;      ///< widths of the top MLP, with its input
  std::uint64_t samples_per_rank = 0;  ///< default of a rank's batch
  std::string source;

  /// Parameters of both MLPs, layer by layer in order: weights, biases.
  [[nodiscard]] std::vector<std::uint64_t> mlp_tensors() const;
};

struct DlrmJob {
  DlrmModel model;
  std::int64_t ranks = 1;
  std::uint64_t samples = 0;          ///< samples of each rank; 0: that of the model
  std::uint64_t embedding_bytes = 4;  ///< size of an embedding's element in AllToAll
};

[[nodiscard]] const std::vector<DlrmModel>& dlrm_models();
[[nodiscard]] std::vector<std::string> dlrm_model_names();
/// nullptr if there is no such model.
[[nodiscard]] const DlrmModel* find_dlrm_model(std::string_view name);

/// The graph of one step. Tables are spread evenly over all ranks; a rank looks up all samples in
/// its tables. AllToAlls (communicator "alltoall", stream "alltoall") exchange indices (8 B, as
/// PyTorch's), pooled embeddings, and their gradients; the MLPs are data-parallel (communicator and
/// stream "dp", buckets of PyTorch DDP in 4 B). Lookups and the AllToAll overlap the bottom MLP
/// (Mudigere et al. 2022, section 4). Throws UserError if the number of ranks or samples is out of
/// range.
[[nodiscard]] JobGraph make_dlrm_job(const DlrmJob& job);

}  // namespace cclgym
