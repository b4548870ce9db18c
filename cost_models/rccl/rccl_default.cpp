#include "cost_models/rccl/rccl_default.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/core.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "cost_models/rccl/rccl_model.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

constexpr int kThreads = 256;  // NCCL_MAX_NTHREADS of RCCL
constexpr int kBufferSteps = 8;

int floor_log2(std::uint64_t value) {
  return value == 0 ? 0 : static_cast<int>(std::bit_width(value)) - 1;
}

constexpr int kGfx942 = 0x942;  // MI300X and MI325X, which RCCL does not tell apart

const GpuModel& amd_gpu(const Fabric& fabric) {
  const std::string& model = fabric.gpu_model();
  if (model.empty()) {
    throw UserError(fmt::format(
        "RCCL's default choice depends on the GPU, but fabric '{}' does not say which it has; set "
        "its gpu_model (e.g. MI250X)",
        fabric.name()));
  }
  const GpuModel* gpu = find_gpu_model(model);
  if (gpu == nullptr) throw std::logic_error("a fabric has GPU model '" + model + "'");
  if (gpu->vendor != GpuVendor::Amd) {
    throw UserError(fmt::format(
        "RCCL runs on AMD's GPUs; fabric '{}' has {}, which uses NCCL: name nccl-default",
        fabric.name(), model));
  }
  if (gpu->name != "MI250X" && gpu->gfx != kGfx942) {
    throw UserError(
        fmt::format("RCCL's default choice is modelled for MI250X, MI300X and MI325X; fabric '{}' "
                    "has {}: name an algorithm",
                    fabric.name(), model));
  }
  return *gpu;
}

// Maximum number of xGMI links of a GPU of the first node.
int xgmi_links(const Fabric& fabric, int gpus) {
  std::vector<int> units(static_cast<std::size_t>(gpus), 0);
  for (const Link& link : fabric.links()) {
    if (link.kind != LinkKind::NvLink) continue;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      if (link.source == fabric.gpu(gpu)) units[static_cast<std::size_t>(gpu)] += link.multiplicity;
    }
  }
  return *std::ranges::max_element(units);
}

int nics_of_first_node(const Fabric& fabric) {
  const int here = fabric.nodes()[static_cast<std::size_t>(fabric.gpu(0))].server;
  return static_cast<int>(std::ranges::count_if(fabric.nodes(), [&](const Node& node) {
    return node.kind == NodeKind::Nic && node.server == here;
  }));
}

// A node of RCCL's list: its rings and its tuning model.
struct KnownNode {
  int rings = 2;
  int model = 0;
};

KnownNode known_node(bool mi300, int gpus, int nodes, int nics) {
  const bool one = nodes == 1;
  if (mi300 && gpus == 8) return one ? KnownNode{28, 5} : KnownNode{64, 5};
  if (!mi300 && gpus == 8) {
    if (one) return {4, 0};
    if (nics == 4) return {8, 3};
  }
  if (!mi300 && gpus == 16) {
    if (one) return {6, 1};
    if (nics == 8) return {32, 4};
  }
  // RCCL searches for rings as NCCL does. Two, one in each direction, is an assumption.
  return {2, mi300 ? 5 : 0};
}

std::size_t row_of(NcclAlgorithm algorithm) { return algorithm == NcclAlgorithm::Tree ? 0 : 1; }
std::size_t column_of(Protocol protocol) { return protocol == Protocol::LL ? 0 : 1; }

double latency_us(const RcclComm& comm, NcclCollective collective, NcclAlgorithm algorithm,
                  Protocol protocol) {
  const rccl::RcclModel& model = rccl::rccl_model(comm.model, comm.release);
  const bool simple = protocol == Protocol::Simple;
  const double base = simple ? 17 : 12;
  const double inside = model.inside_us[row_of(algorithm)][column_of(protocol)];
  const double between = model.between_us[row_of(algorithm)][column_of(protocol)];
  const int gpus = comm.ranks / comm.nodes;
  if (algorithm == NcclAlgorithm::Tree) {
    const int depth = floor_log2(static_cast<std::uint64_t>(comm.nodes));
    return base + 2 * ((gpus - 1) * inside + depth * between);
  }
  if (collective == NcclCollective::Broadcast || collective == NcclCollective::Reduce) {
    return base + (comm.nodes == 1 ? inside : between);
  }
  const bool twice = collective == NcclCollective::AllReduce;
  const int steps = (twice ? 2 : 1) * (comm.ranks - 1);
  const int network_steps = comm.nodes == 1 ? 0 : twice ? 2 * comm.nodes : comm.nodes - 1;
  // Cost of posting to the network with an AMD CPU, three times as much for Simple.
  const double post = comm.nodes == 1 ? 0 : simple ? 6 : 2;
  return base + (steps - network_steps) * std::max(inside, post) + network_steps * between;
}

double bandwidth_GBps(const RcclComm& comm, NcclCollective collective, NcclAlgorithm algorithm,
                      Protocol protocol, std::uint64_t bytes) {
  const rccl::RcclModel& model = rccl::rccl_model(comm.model, comm.release);
  const bool tree = algorithm == NcclAlgorithm::Tree;
  const std::size_t row = row_of(algorithm);
  const std::size_t column = column_of(protocol);
  double bandwidth = comm.bus_GBps * model.ratio[comm.nodes <= 2 ? 0 : 1][row][column];
  const bool rooted =
      collective == NcclCollective::Broadcast || collective == NcclCollective::Reduce;
  if (rooted && protocol == Protocol::LL && comm.mi300 && comm.nodes == 1) bandwidth *= 1.65;
  const int steps = collective == NcclCollective::AllReduce ? 2 * (comm.ranks - 1)
                    : rooted                                ? comm.ranks
                                                            : comm.ranks - 1;
  bandwidth *= tree ? .5 : static_cast<double>(comm.ranks) / steps;
  if (tree || comm.nodes > 1) {
    const auto place = static_cast<std::size_t>(floor_log2(bytes / 64));
    bandwidth *= model.factor[row][column][std::min(place, rccl::kFactors - 1)];
  }
  return bandwidth;
}

int channels_for(const RcclComm& comm, NcclAlgorithm algorithm, Protocol protocol,
                 std::uint64_t bytes) {
  std::uint64_t threshold = protocol == Protocol::Simple ? 64 : 8;
  if (algorithm == NcclAlgorithm::Ring && protocol == Protocol::LL) {
    threshold *= static_cast<std::uint64_t>(comm.ranks);
  }
  const std::uint64_t enough = std::max<std::uint64_t>(1, bytes / (kThreads * threshold));
  return static_cast<int>(std::min(enough, static_cast<std::uint64_t>(comm.channels)));
}

// Trees of AllReduce move smaller chunks if a channel would have few of them.
std::uint64_t tree_chunk(const RcclComm& comm, std::uint64_t bytes, int channels) {
  const auto depth = static_cast<std::uint64_t>(comm.ranks / comm.nodes - 1 +
                                                floor_log2(static_cast<std::uint64_t>(comm.nodes)));
  std::uint64_t chunk = 512 * 1024;
  const auto halve = [&](std::uint64_t loops, std::uint64_t least) {
    while (bytes / (static_cast<std::uint64_t>(channels) * chunk) < loops && chunk > least) {
      chunk /= 2;
    }
  };
  halve(depth * 8, 131072);
  halve(depth * 4, 65536);
  halve(depth, 32768);
  return chunk;
}

NcclChoice plan(const RcclComm& comm, NcclAlgorithm algorithm, Protocol protocol,
                std::uint64_t bytes, int channels, double predicted_s) {
  NcclChoice choice{.algorithm = algorithm,
                    .protocol = protocol,
                    .channels = channels,
                    .threads = kThreads,
                    .predicted_s = predicted_s};
  if (protocol == Protocol::LL) {
    choice.chunk_bytes = 16 * 1024;  // 256 threads, 8 lines of 16 B, half of them flags
    choice.slice_bytes = choice.chunk_bytes;
    choice.slices = kBufferSteps;
  } else if (algorithm == NcclAlgorithm::Tree) {
    choice.chunk_bytes = tree_chunk(comm, bytes, channels);
    choice.slice_bytes = choice.chunk_bytes;
    choice.slices = kBufferSteps;
  } else {
    choice.chunk_bytes = 2 << 20;  // four of the eight steps of a buffer of 4 MiB
    choice.slice_bytes = 1 << 20;
    choice.slices = kBufferSteps / 2;
  }
  return choice;
}

}  // namespace

std::string_view to_string(RcclRelease release) {
  return release == RcclRelease::Rccl2205 ? "2.20.5" : "2.21.5";
}

RcclRelease parse_rccl_release(std::string_view text) {
  for (const RcclRelease each : {RcclRelease::Rccl2205, RcclRelease::Rccl2215}) {
    if (to_string(each) == text) return each;
  }
  throw UserError(
      fmt::format("RCCL release {}; expected 2.20.5 or 2.21.5, whose tuning tables are "
                  "here",
                  quoted(text)));
}

RcclComm rccl_comm_for(const Fabric& fabric, int nodes, RcclRelease release) {
  const GpuModel& gpu = amd_gpu(fabric);
  const auto gpus = fabric.ranks_per_server();
  if (!gpus) {
    throw UserError(fmt::format(
        "RCCL's default choice is modelled for nodes with the same number of GPUs; those of fabric "
        "'{}' differ",
        fabric.name()));
  }
  RcclComm comm;
  comm.nodes = nodes > 0 ? nodes : fabric.ranks() / *gpus;
  comm.ranks = comm.nodes * *gpus;
  if (comm.ranks < 2) throw UserError("RCCL calls no algorithm on one GPU");
  comm.mi300 = gpu.gfx == kGfx942;
  const KnownNode known = known_node(comm.mi300, *gpus, comm.nodes, nics_of_first_node(fabric));
  comm.model = known.model;
  comm.release = release;
  comm.by_size = known.model == 1;
  // MI200_XGMI_WIDTH and GFX94X_XGMI_WIDTH; without xGMI, PCIe Gen4.
  const double xgmi = xgmi_links(fabric, *gpus) * (comm.mi300 ? 48.0 : 36.0);
  comm.bus_GBps = known.model == 4 ? 161.4 : std::max(24.0, xgmi);
  // Rings are doubled, and then copied (ncclTopoPostset).
  const int most = comm.mi300 && comm.nodes == 1 ? 128 : comm.mi300 ? 64 : 32;
  const int doubled = known.rings <= most / 2 ? 2 * known.rings : known.rings;
  const int copies = comm.nodes == 1 && !comm.mi300 ? 4 : 2;
  comm.channels = std::max(doubled, std::min(most / known.rings, copies) * known.rings);
  return comm;
}

std::optional<double> rccl_time_s(const RcclComm& comm, NcclCollective collective,
                                  NcclAlgorithm algorithm, Protocol protocol, std::uint64_t bytes) {
  const bool tree = algorithm == NcclAlgorithm::Tree;
  if ((!tree && algorithm != NcclAlgorithm::Ring) || protocol == Protocol::LL128) {
    return std::nullopt;
  }
  if (tree && collective != NcclCollective::AllReduce) return std::nullopt;
  if (tree && protocol == Protocol::Simple && comm.mi300 && comm.nodes == 1) return std::nullopt;
  const double bandwidth = bandwidth_GBps(comm, collective, algorithm, protocol, bytes);
  if (bandwidth <= 0) return std::nullopt;
  return (latency_us(comm, collective, algorithm, protocol) +
          static_cast<double>(bytes) / (1e3 * bandwidth)) *
         1e-6;
}

NcclChoice rccl_choice(const RcclComm& comm, NcclCollective collective, std::uint64_t bytes) {
  if (comm.by_size && collective == NcclCollective::AllReduce) {
    constexpr std::uint64_t kMostOfTree = 2200008;
    const bool small = bytes <= kMostOfTree;
    const auto algorithm = small ? NcclAlgorithm::Tree : NcclAlgorithm::Ring;
    const Protocol protocol = small ? Protocol::LL : Protocol::Simple;
    const int channels =
        small ? std::min(24, comm.channels) : channels_for(comm, algorithm, protocol, bytes);
    return plan(comm, algorithm, protocol, bytes, channels,
                rccl_time_s(comm, collective, algorithm, protocol, bytes).value_or(0));
  }
  std::optional<double> least;
  NcclAlgorithm best = NcclAlgorithm::Ring;
  Protocol best_protocol = Protocol::Simple;
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::Tree, NcclAlgorithm::Ring}) {
    for (const Protocol protocol : {Protocol::LL, Protocol::Simple}) {
      const auto time = rccl_time_s(comm, collective, algorithm, protocol, bytes);
      if (!time || (least && *time >= *least)) continue;
      least = time;
      best = algorithm;
      best_protocol = protocol;
    }
  }
  return plan(comm, best, best_protocol, bytes, channels_for(comm, best, best_protocol, bytes),
              *least);
}

}  // namespace cclgym
