#include "workloads/generators/dlrm_job.hpp"

#include <fmt/format.h>
#include <utility>

#include "workloads/generators/model_tensors.hpp"
#include "workloads/generators/parallel_plan.hpp"
#include "workloads/generators/transformer_job.hpp"
#include "workloads/graph/program_builder.hpp"

namespace cclgym {

namespace {

constexpr std::uint64_t kIndexBytes = 8;
constexpr std::uint64_t kMostSamples = 1 << 24;
constexpr double kMlpBytes = 4;

// Width of the input of the top MLP: the dot products of all pairs of embeddings and the output of
// the bottom MLP, and that output (dlrm_s_pytorch.py, interact_features).
std::uint64_t interactions(std::uint64_t tables, std::uint64_t width) {
  return (tables + 1) * tables / 2 + width;
}

// Model of Mudigere et al. 2022, table 3, which has averages: `layers` MLP layers of width `mlp`,
// here half of them below and half above the interaction.
DlrmModel production_model(std::string name, std::uint64_t tables, std::uint64_t width,
                           std::uint64_t pooling, std::uint64_t layers, std::uint64_t mlp) {
  DlrmModel model{.name = std::move(name),
                  .tables = tables,
                  .width = width,
                  .pooling = pooling,
                  .bottom = std::vector<std::uint64_t>(layers / 2 + 1, mlp),
                  .top = std::vector<std::uint64_t>(layers - layers / 2 + 1, mlp),
                  .samples_per_rank = 512,
                  .source =
                      "after Mudigere et al. 2022, table 3 (averages); not checked "
                      "against the page"};
  return model;
}

std::vector<DlrmModel> all_dlrm_models() {
  return {
      {.name = "dlrm-kaggle",
       .tables = 26,
       .width = 16,
       .pooling = 1,
       .bottom = {13, 512, 256, 64, 16},
       .top = {interactions(26, 16), 512, 256, 1},
       .samples_per_rank = 2048,
       .source = "Naumov et al. 2019, section 5; bench/dlrm_s_criteo_kaggle.sh"},
      {.name = "dlrm-terabyte",
       .tables = 26,
       .width = 128,
       .pooling = 1,
       .bottom = {13, 512, 256, 128},
       .top = {interactions(26, 128), 1024, 1024, 512, 256, 1},
       .samples_per_rank = 2048,
       .source = "MLPerf Training 0.7, DLRM; bench/run_and_time.sh"},
      production_model("dlrm-a", 1000, 93, 15, 20, 3375),
      production_model("dlrm-f", 10, 256, 20, 7, 490),
      production_model("dlrm-i", 100, 92, 70, 43, 682),
  };
}

double matrix_elements(const std::vector<std::uint64_t>& widths) {
  double sum = 0;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    sum += static_cast<double>(widths[i - 1]) * static_cast<double>(widths[i]);
  }
  return sum;
}

double width_sum(const std::vector<std::uint64_t>& widths) {
  double sum = 0;
  for (const std::uint64_t width : widths) sum += static_cast<double>(width);
  return sum;
}

void append_layers(std::vector<std::uint64_t>& tensors, const std::vector<std::uint64_t>& widths) {
  for (std::size_t i = 1; i < widths.size(); ++i) {
    tensors.push_back(widths[i - 1] * widths[i]);
    tensors.push_back(widths[i]);
  }
}

}  // namespace

std::vector<std::uint64_t> DlrmModel::mlp_tensors() const {
  std::vector<std::uint64_t> tensors;
  append_layers(tensors, bottom);
  append_layers(tensors, top);
  return tensors;
}

const std::vector<DlrmModel>& dlrm_models() {
  static const std::vector<DlrmModel> models = all_dlrm_models();
  return models;
}

std::vector<std::string> dlrm_model_names() {
  std::vector<std::string> names;
  for (const DlrmModel& model : dlrm_models()) names.push_back(model.name);
  return names;
}

const DlrmModel* find_dlrm_model(std::string_view name) {
  for (const DlrmModel& model : dlrm_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

JobGraph make_dlrm_job(const DlrmJob& job) {
  const DlrmModel& model = job.model;
  const std::uint64_t samples = job.samples > 0 ? job.samples : model.samples_per_rank;
  if (job.ranks < 1 || job.ranks > kMaxJobRanks) {
    throw UserError(fmt::format("the job has {} ranks; expected 1 to {}", job.ranks, kMaxJobRanks));
  }
  if (samples < 1 || samples > kMostSamples) {
    throw UserError(fmt::format("a rank has {} samples; expected 1 to {}", samples, kMostSamples));
  }
  JobGraph graph;
  graph.name = model.name;
  PlanCommunicators groups = add_plan(graph, {.dp = job.ranks}, false);
  std::int32_t exchange = -1;
  if (groups.dp >= 0) {
    // AllToAlls have a communicator of their own, so that they overlap AllReduces.
    exchange = static_cast<std::int32_t>(graph.communicators.size());
    graph.communicators.push_back({.name = "alltoall"});
    ProcessGroup all = graph.groups.front();
    all.communicator = exchange;
    graph.groups.push_back(std::move(all));
    for (auto& of_rank : graph.groups_of) of_rank.push_back(1);
  }
  const auto count = static_cast<double>(samples);
  const std::uint64_t looked_up = samples * model.tables;  // per rank, with even sharding
  const std::uint64_t pooled = looked_up * model.width * job.embedding_bytes;
  const double rows = static_cast<double>(looked_up) * static_cast<double>(model.pooling);
  const double row_bytes = static_cast<double>(model.width) * 4;
  const auto mlp = [&](const std::vector<std::uint64_t>& widths, double passes) {
    const double elements = matrix_elements(widths);
    return std::pair{passes * 2 * count * elements,
                     passes * kMlpBytes * (elements + 2 * count * width_sum(widths))};
  };
  JobProgramBuilder builder(graph);
  const std::int32_t indices =
      builder.overlapping(CollectiveKind::AllToAll, exchange, "alltoall", "indices",
                          looked_up * model.pooling * kIndexBytes, {});
  builder.wait_for(indices);
  builder.compute("lookup", rows * static_cast<double>(model.width),
                  rows * row_bytes + static_cast<double>(pooled));
  const std::int32_t embeddings = builder.overlapping(
      CollectiveKind::AllToAll, exchange, "alltoall", "embeddings", pooled, builder.computed());
  const auto [bottom_flop, bottom_bytes] = mlp(model.bottom, 1);
  builder.compute("bottom mlp", bottom_flop, bottom_bytes);
  builder.wait_for(embeddings);
  const auto tables = static_cast<double>(model.tables);
  const double pairs = count * (tables + 1) * tables * static_cast<double>(model.width);
  const double moved = count * (tables + 1) * static_cast<double>(model.width) * kMlpBytes;
  builder.compute("interaction", pairs, moved);
  const auto [top_flop, top_bytes] = mlp(model.top, 1);
  builder.compute("top mlp", top_flop, top_bytes);
  builder.compute("top mlp backward", 2 * top_flop, 2 * top_bytes);
  // Gradients of the MLPs are reduced in the buckets of DDP. A bucket is ready once the MLP of its
  // last gradient has been computed.
  std::vector<std::uint64_t> top_tensors;
  append_layers(top_tensors, model.top);
  std::uint64_t top_left = 0;
  for (const std::uint64_t tensor : top_tensors) top_left += 4 * tensor;
  const std::vector<std::uint64_t> buckets = ddp_buckets(model.mlp_tensors());
  std::size_t bucket = 0;
  std::int32_t reduced = -1;
  const auto reduce = [&] {
    reduced = builder.overlapping(CollectiveKind::AllReduce, groups.dp, "dp", "gradients",
                                  buckets[bucket++], builder.computed());
  };
  for (; bucket < buckets.size() && buckets[bucket] <= top_left; reduce()) {
    top_left -= buckets[bucket];
  }
  builder.compute("interaction backward", 2 * pairs, 2 * moved);
  const std::int32_t gradients =
      builder.overlapping(CollectiveKind::AllToAll, exchange, "alltoall", "embedding gradients",
                          pooled, builder.computed());
  builder.compute("bottom mlp backward", 2 * bottom_flop, 2 * bottom_bytes);
  while (bucket < buckets.size()) reduce();
  builder.wait_for(gradients);
  // Each row that was looked up is read, changed, and written.
  builder.compute("update embeddings", rows * static_cast<double>(model.width),
                  2 * rows * row_bytes + static_cast<double>(pooled));
  builder.wait_for(reduced);
  const double parameters = matrix_elements(model.bottom) + matrix_elements(model.top);
  builder.compute("optimizer", 2 * parameters, 3 * kMlpBytes * parameters);
  graph.programs.push_back(builder.take());
  graph.program_of.assign(at(graph.ranks), 0);
  return graph;
}

}  // namespace cclgym
