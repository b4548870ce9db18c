#include "calibration/measure/systems.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "core/error.hpp"
#include "core/names.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

// Measured by argonne-lcf/alcf-nccl-tests, in the environments that it numbers.
bool of_alcf(const MeasuredSystem& system) {
  return system.name == "Polaris" || system.name == "Sirius";
}

// The plan of a row of such a system. Its config decides which parameter set describes the row.
RunPlan alcf_plan(RunPlan plan, const std::string& config) {
  if (config == "envset5") {
    // Environment 5 sets FI_CXI_RX_MATCH_MODE=software.
    plan.cost_model = "a100-slingshot-software";
  } else if (config == "envset1" || config == "envset2") {
    plan.refusal = fmt::format(
        "config '{}' ran over TCP sockets, which no parameter set of these servers describes",
        config);
  } else if (!config.empty() && config != "envset3" && config != "envset4") {
    plan.refusal = fmt::format(
        "config '{}' is none of the environments of argonne-lcf/alcf-nccl-tests that are known "
        "here, envset1 to envset5",
        config);
  }
  return plan;
}

// RCCL's configuration on 8 MI300X, inferred. The runs have names of MSCCL programs
// (ag_ring_ll_8_2), but all 32 take equal times at every size within 2 %, from ring on one channel
// to all-pairs on eight: RCCL ran its own choice. The jump between 256 KiB and 512 KiB (28 to 50
// us) is the end of LL; 7 rings use every link of the mesh; 56 channels, 8 per ring, are an
// assumption.
Config rccl_on_mi300x(std::uint64_t bytes) {
  constexpr std::uint64_t kMostLL = std::uint64_t{256} << 10;
  constexpr int kRings = 7;
  if (bytes <= kMostLL) return {.algorithm = "ring", .protocol = Protocol::LL, .channels = kRings};
  return {.algorithm = "ring", .protocol = Protocol::Simple, .channels = 8 * kRings};
}

}  // namespace

const std::vector<MeasuredSystem>& measured_systems() {
  static const std::vector<MeasuredSystem> systems{
      {"A100-cloud-TCP", "a100-tcp", "auto", "2.21.5",
       "A100 of a cloud, NCCL over TCP: an AllReduce and then a kernel that computes"},
      {"A100-cloud-TCP-overlap", "a100-tcp", "auto", "2.21.5",
       "the same, an AllReduce beside a kernel that computes"},
      {"ABCI-A100", "abci-a", "auto", "2.8.4", "AIST ABCI 2.0: servers of 8 A100, HDR InfiniBand"},
      {"ABCI-V100", "abci-v", "auto", "2.8.4", "AIST ABCI: servers of 4 V100, EDR InfiniBand"},
      {"AWS-g5.xlarge", "aws-g5", "auto", "2.21.5",
       "AWS g5.xlarge: an A10G each, NCCL over TCP: an AllReduce and then a kernel that computes"},
      {"AWS-g5.xlarge-overlap", "aws-g5", "auto", "2.21.5",
       "the same, an AllReduce beside a kernel that computes"},
      {"Alps-GH200", "alps", "auto", "2.23.4", "CSCS Alps: servers of 4 GH200, Slingshot"},
      {"Azure-NDv4", "ndv4", "auto", "2.8.4", "one Azure NDv4 server: 8 A100 on NVSwitch"},
      {"H100-SXM-slice", "hgx-h100", "auto", "2.18.3", "4 of the 8 H100 of an HGX server"},
      {"H100-cluster", "hgx-h100", "auto", "2.29.2", "servers of 8 H100, NDR InfiniBand"},
      {"MI300Xx8", "mi300x", "auto", "", "one server of 8 MI300X; RCCL's own choice, inferred"},
      {"MSCCLPP-NDmv4", "ndv4", "a100-mscclpp", "",
       "one Azure NDm A100 v4 server, MSCCL++'s test kernels"},
      {"MSCCLPP-NDmv5", "hgx-h100", "h100-mscclpp", "",
       "one Azure ND H100 v5 server, MSCCL++'s test kernels"},
      {"Polaris", "polaris", "auto", "2.18", "ALCF Polaris: servers of 4 A100, Slingshot"},
      {"Sirius", "polaris", "auto", "2.18",
       "ALCF Sirius, the test system of Polaris: the same servers"},
  };
  return systems;
}

const MeasuredSystem& measured_system(std::string_view name) {
  std::vector<std::string> names;
  for (const MeasuredSystem& system : measured_systems()) {
    if (system.name == name) return system;
    names.push_back(system.name);
  }
  throw UserError(unknown_name_message("system", name, names));
}

MeasuredSystem own_system(std::string name, std::string fabric) {
  std::string version;
  for (const MeasuredSystem& system : measured_systems()) {
    if (system.name == name) version = system.nccl_version;
  }
  if (name.empty()) name = fabric;
  return {std::move(name), std::move(fabric), "auto", std::move(version), "a system of your own"};
}

std::vector<std::string> fabrics_like(const Measurement& row) {
  if (row.gpu.empty()) return {};
  std::multimap<int, std::string> larger;  // by GPUs of a node: the smallest is the likeliest
  std::vector<std::string> equal;
  std::vector<std::string> on_network;
  for (const FabricInfo& info : fabric_infos()) {
    const std::shared_ptr<const Fabric> node = make_fabric({.name = info.name});
    if (node->gpu_model().empty() || !is_gpu(row.gpu, node->gpu_model())) continue;
    const int gpus = node->ranks() / node->servers();
    const bool all = gpus * row.nodes == row.ranks;
    // Parts of a node are an option of the fabric.
    const bool part =
        gpus * row.nodes > row.ranks && try_find_option(info.options, "gpus_per_node") != nullptr;
    // A fabric on EFA, for instance, is a cloud's variant.
    const bool between = row.nodes > 1 && row.network == node->network();
    if (all && between && (info.typical || row.network != NetworkKind::InfiniBand)) {
      on_network.push_back(info.name);
    }
    if (!info.typical) continue;
    if (all || part || info.trays > 1) larger.emplace(gpus, info.name);
    if (all) equal.push_back(info.name);
  }
  if (!on_network.empty()) return on_network;
  if (!equal.empty()) return equal;
  std::vector<std::string> names;
  for (const auto& [gpus, name] : larger) names.push_back(name);
  return names;
}

GuessedFabric guess_fabric(std::span<const Measurement> rows, const std::string& file) {
  const SourceLocation where{file, 0, 0};
  const std::string unnamed =
      "does not name the measured system; give it with --system, or its fabric with --fabric";
  const Measurement* first = nullptr;
  bool network = false;
  for (const Measurement& row : rows) {
    if (!row.system.empty()) continue;
    if (first == nullptr) first = &row;
    network = network || row.nodes > 1;
    if (row.gpu != first->gpu) {
      throw UserError(row.where,
                      fmt::format("the run is on {}, but the first one on {}; give each machine a "
                                  "file of its own",
                                  row.gpu.empty() ? "unnamed GPUs" : row.gpu,
                                  first->gpu.empty() ? "unnamed GPUs" : first->gpu));
    }
  }
  if (first == nullptr || first->gpu.empty()) throw UserError(where, unnamed);
  const int per_node = first->ranks / first->nodes;
  const std::vector<std::string> fabrics = fabrics_like(*first);
  std::vector<std::string> others;
  for (const FabricInfo& info : fabric_infos()) {
    const std::string model = make_fabric({.name = info.name})->gpu_model();
    if (model.empty() || !is_gpu(first->gpu, model)) continue;
    if (std::ranges::find(fabrics, info.name) == fabrics.end()) others.push_back(info.name);
  }
  if (fabrics.empty()) {
    throw UserError(where, others.empty()
                               ? fmt::format("{}; no shipped fabric has {} of {} per node (if they "
                                             "are on several nodes, state --nodes)",
                                             unnamed, per_node, first->gpu)
                               : fmt::format("{}; {} have such GPUs, but may be other machines",
                                             unnamed, fmt::join(others, ", ")));
  }
  if (network && fabrics.size() > 1) {
    std::vector<std::string> all = fabrics;
    all.insert(all.end(), others.begin(), others.end());
    throw UserError(
        where, fmt::format("{}; {} is the GPU of {}", unnamed, first->gpu, fmt::join(all, ", ")));
  }
  std::vector<std::string> possible(fabrics.begin() + 1, fabrics.end());
  if (network && !first->network) possible.insert(possible.end(), others.begin(), others.end());
  return {
      fabrics.front(),
      fmt::format(
          "{} names {} GPUs per node of {}: simulated on --fabric {}{}", file, per_node, first->gpu,
          fabrics.front(),
          possible.empty() ? "" : fmt::format(" (also possible: {})", fmt::join(possible, ", ")))};
}

FabricSpec fabric_of_row(const MeasuredSystem& system, const Measurement& row) {
  FabricSpec spec{.name = system.fabric};
  const FabricInfo* info = find_fabric_info(system.fabric);
  if (info == nullptr) {
    // A file's first nodes, as many as the row had.
    if (row.nodes_stated) spec.servers = row.nodes;
    return spec;
  }
  const int nodes = info->nodes_of(row.nodes);
  if (nodes > 1) spec.servers = nodes;
  const int gpus = row.ranks / nodes;
  if (const OptionSpec* option = try_find_option(info->options, "gpus_per_node");
      option != nullptr && (!option->max || gpus < static_cast<int>(*option->max))) {
    spec.gpus_per_server = gpus;
  }
  // Our model of NCCL 2.18.3, which was never compared with the real release, chooses NVLS for
  // AllReduce of 2 and 4 MiB here. But the measured times lie on the curve of rings, and below the
  // 25 us that NCCL states for NVLS.
  if (system.name == "H100-SXM-slice") spec.nvls = false;
  if (try_find_option(info->options, "cross_nic") != nullptr) {
    spec.cross_nic = row.cross_nic;
    // Eight of ten settings have NCCL_CROSS_NIC=0 (run.sh of the source). A cell is the median over
    // all ten.
    if (system.name == "Alps-GH200" && !row.cross_nic) spec.cross_nic = false;
  }
  // AllToAll moves 15 to 22 GB/s out of a node here, which one of its NICs can carry. Rings, which
  // NCCL spreads over both NICs, move 36 GB/s.
  if (of_alcf(system) && row.collective == CollectiveKind::AllToAll) {
    spec.nic_binding = NicBinding::SingleNic;
  }
  return spec;
}

RunPlan run_plan(const MeasuredSystem& system, const Measurement& row) {
  RunPlan plan{.cost_model = system.cost_model};
  const FabricInfo* info = find_fabric_info(system.fabric);
  if (info != nullptr && row.ranks % info->nodes_of(row.nodes) != 0) {
    plan.refusal = fmt::format("{} ranks on {} hosts are not the same number in each of {} racks",
                               row.ranks, row.nodes, info->nodes_of(row.nodes));
    return plan;
  }
  if (system.name == "MI300Xx8") {
    plan.named = rccl_on_mi300x(row.bytes);
  } else if (system.name == "Azure-NDv4" && row.config.starts_with("msccl")) {
    plan.refusal =
        fmt::format("config '{}' does not tell which of MSCCL's programs ran", row.config);
  } else if (system.name == "H100-cluster" && row.config.starts_with("cluster00")) {
    plan.cost_model = "h100-cluster00";
  } else if (system.name == "Alps-GH200" && row.collective == CollectiveKind::AllGather) {
    // Each run is a run of all_reduce_perf over 30 sizes, of which at most two are called
    // all_gather (64 B on 4 ranks, 512 B on 128, …), with times that lie on the curve of the
    // others. An AllGather of 512 B on 128 ranks cannot take 80 us: its ring has 32 crossings.
    plan.collective = CollectiveKind::AllReduce;
  } else if (of_alcf(system)) {
    return alcf_plan(plan, row.config);
  }
  return plan;
}

}  // namespace cclgym
