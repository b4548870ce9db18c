#include "cost_models/nccl/nccl_plan.hpp"

#include <utility>

namespace cclgym::nccl {

namespace {

constexpr NcclVersion kFirstScheduler{2, 22, 0};

bool is_nvls(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::Nvls || algorithm == NcclAlgorithm::NvlsTree;
}
bool is_collnet(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::CollNetDirect || algorithm == NcclAlgorithm::CollNetChain;
}

int most_threads(const Task& task) {
  constexpr int kLlMost = 512;
  constexpr int kSimpleMost = 512;
  constexpr int kSlowRing = 256;
  constexpr double kSlowRing_GBps = 12;  // one PCIe Gen3 x16
  if (task.protocol == Protocol::LL) return kLlMost;
  if (task.protocol == Protocol::LL128) return kMostThreads;
  if (task.algorithm == NcclAlgorithm::Ring) {
    const NcclGraph& ring = *task.comm.graph(NcclAlgorithm::Ring);
    return ring.intra_Bps / 1e9 * ring.channels <= kSlowRing_GBps ? kSlowRing : kSimpleMost;
  }
  return task.algorithm == NcclAlgorithm::Tree || family(task.version) == NcclFamily::V2_8
             ? kSimpleMost
             : kMostThreads;
}

// Minimum bytes per thread: with fewer, NCCL uses fewer channels or threads.
std::uint64_t thread_threshold(const Task& task) {
  if (task.protocol == Protocol::Simple) {
    return is_collnet(task.algorithm) && family(task.version) != NcclFamily::V2_8 ? 512 : 64;
  }
  const bool ring_ll = task.algorithm == NcclAlgorithm::Ring && task.protocol == Protocol::LL;
  return 8 * static_cast<std::uint64_t>(ring_ll ? task.comm.ranks : 1);
}

std::uint64_t product(int a, int b) {
  return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
}

// The fewer channels are left, the more reluctantly CollNetDirect drops one.
int collnet_channels(const Task& task, int threads, std::uint64_t threshold) {
  int channels = task.comm.channels;
  bool few = true;
  for (int least = 16; least >= 1 && few; least /= 2) {
    while (
        (few = task.bytes < product(channels, threads) * product(task.comm.heads, 1) * threshold) &&
        channels > least) {
      if (channels == least + least / 2) threshold /= 2;
      --channels;
    }
  }
  return channels;
}

int extra_threads(const Task& task) {
  if (task.protocol != Protocol::Simple) return 0;
  const bool tree = task.algorithm == NcclAlgorithm::Tree;
  if (family(task.version) == NcclFamily::V2_8) return tree ? 2 * kWarp : kWarp;
  if (tree) return 4 * kWarp;
  return task.algorithm == NcclAlgorithm::Ring ? kWarp : 0;
}

// Traffic below which a channel is not worth its launch, B; 0: no scheduler.
std::uint64_t least_traffic(const NcclVersion& version) {
  if (version < kFirstScheduler) return 0;
  if (version < NcclVersion{2, 23, 0}) return 512;
  return version < NcclVersion{2, 29, 0} ? 16 * 1024 : 32 * 1024;
}

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Granularity of a chunk, B.
std::uint64_t grain(Protocol protocol) {
  return protocol == Protocol::LL ? 16 : protocol == Protocol::LL128 ? 1920 : 512;
}

// Halves the chunk while it is above `least` and a channel has fewer than `loops` chunks.
std::uint64_t halved(std::uint64_t chunk, std::uint64_t bytes, std::uint64_t channels, double loops,
                     std::uint64_t least) {
  while (chunk > least && static_cast<double>(bytes / (channels * chunk)) < loops) chunk /= 2;
  return chunk;
}

std::uint64_t tree_ll128_chunk(const Task& task, std::uint64_t chunk, std::uint64_t bytes,
                               std::uint64_t channels) {
  const Shape shape(task.comm);
  const double steps = 1 + shape.log2_nodes + .1 * shape.ranks_per_node;
  chunk = halved(chunk, bytes, channels, steps * 64 / shape.ranks_per_node, 131072);
  return halved(chunk, bytes, channels, steps * 16 / shape.ranks_per_node, 32768);
}

// Up to 2.19, small calls have smaller chunks.
std::uint64_t tree_simple_chunk(const Task& task, std::uint64_t chunk, std::uint64_t channels) {
  const Shape shape(task.comm);
  const double depth = shape.whole_ranks_per_node - 1 + shape.log2_nodes;
  chunk = halved(chunk, task.bytes, channels, depth * 8, 131072);
  chunk = halved(chunk, task.bytes, channels, depth * 4, 65536);
  return halved(chunk, task.bytes, channels, depth, 32768);
}

std::uint64_t collnet_chunk_2_8(const Task& task, std::uint64_t chunk, std::uint64_t channels) {
  const double depth = Shape(task.comm).whole_ranks_per_node;
  chunk = halved(chunk, task.bytes, channels, depth * 16, 131072);
  chunk = halved(chunk, task.bytes, channels, depth * 4, 65536);
  return halved(chunk, task.bytes, channels, depth, 32768);
}

std::uint64_t collnet_chunk(const Task& task, std::uint64_t chunk, std::uint64_t channels) {
  const bool direct = task.algorithm == NcclAlgorithm::CollNetDirect;
  if (!direct) chunk = std::min<std::uint64_t>(256 * 1024, chunk);
  // A chain passes every GPU of the node; Direct has two levels, or one with one GPU per node
  // (src/graph/connect.cc).
  const int inside = Shape(task.comm).whole_ranks_per_node;
  const double depth = direct ? std::min(inside, 2) : inside;
  const std::uint64_t ways = channels * (direct ? static_cast<std::uint64_t>(task.comm.heads) : 1);
  chunk = halved(chunk, task.bytes, ways, depth * 64, 131072);
  chunk = halved(chunk, task.bytes, ways, depth * 8, 65536);
  return halved(chunk, task.bytes, ways, direct ? depth * 8 : depth, 32768);
}

// A step down to a smaller chunk: `chunk` becomes `size` if bytes < count * ways * chunk.
struct Rung {
  std::uint64_t count;
  std::uint64_t size;
};
template <std::size_t N>
std::uint64_t down_the_ladder(std::uint64_t chunk, std::uint64_t bytes, std::uint64_t ways,
                              const std::array<Rung, N>& ladder) {
  for (const auto& [count, size] : ladder) {
    if (bytes < count * (ways * chunk) && chunk > size) chunk = size;
  }
  return chunk;
}

std::uint64_t nvls_chunk(const Task& task, std::uint64_t chunk, std::uint64_t bytes,
                         double simple_nvls_GBps) {
  constexpr std::uint64_t kMost = 131072;
  constexpr std::uint64_t kMostWhenSlow = 32768;
  constexpr double kSlow_GBps = 150;
  const auto heads = static_cast<std::uint64_t>(task.comm.heads);
  if (task.algorithm == NcclAlgorithm::Nvls) {
    const bool slow = task.comm.nodes > 1 && simple_nvls_GBps < kSlow_GBps;
    chunk = std::min(chunk, slow ? kMostWhenSlow : kMost);
    return down_the_ladder(chunk, bytes, heads,
                           std::array<Rung, 3>{{{64, 65536}, {8, 32768}, {2, 16384}}});
  }
  if (task.version >= kFirstScheduler) chunk = std::min(chunk, kMost);
  if (task.comm.nodes >= 4) chunk = std::min<std::uint64_t>(chunk, 65536);
  return down_the_ladder(chunk, bytes, heads,
                         std::array<Rung, 4>{{{32, 262144}, {16, 131072}, {4, 65536}, {1, 32768}}});
}

std::uint64_t pat_chunk(const Task& task, std::uint64_t chunk, std::uint64_t bytes) {
  const std::uint64_t parallel = task.collective == NcclCollective::AllGather ? 32 : 16;
  while (chunk * parallel > bytes && chunk > 65536) chunk /= 2;
  return chunk;
}

// Data of a slice of a ring's chunk: slices are equal, and at least 1/32 of the largest slice.
std::uint64_t ring_slice(const Task& task, const Share& share, std::uint64_t chunk,
                         std::uint64_t largest) {
  constexpr std::uint64_t kLine = 16;
  const std::uint64_t data =
      std::min(chunk, ceil_div(task.bytes, product(share.channels, task.comm.ranks)));
  const std::uint64_t even = ceil_div(data, kLine * (chunk / largest)) * kLine;
  return std::clamp(even, largest / 32, largest);
}

}  // namespace

Launch launch(const Task& task) {
  int threads = most_threads(task);
  const std::uint64_t threshold = thread_threshold(task);
  int channels = task.comm.channels;
  if (is_nvls(task.algorithm)) {
    channels = task.comm.nvls_channels;
  } else if (task.algorithm == NcclAlgorithm::CollNetDirect &&
             family(task.version) != NcclFamily::V2_8) {
    channels = collnet_channels(task, threads, threshold);
  } else {
    const auto too_few = [&] { return task.bytes < product(channels, threads) * threshold; };
    if (is_collnet(task.algorithm) && family(task.version) == NcclFamily::V2_8) {
      channels = std::max(1, channels / 2);  // one for up and one for down
    } else {
      while (too_few() && channels >= 2) --channels;
    }
    while (too_few() && threads % 128 == 0) threads /= 2;
  }
  threads += extra_threads(task);
  if (family(task.version) != NcclFamily::V2_8) threads = std::max(threads, 3 * kWarp);
  const bool all_threads =
      (task.algorithm == NcclAlgorithm::Tree && task.version >= kFirstScheduler) ||
      task.algorithm == NcclAlgorithm::Pat;
  return {channels, all_threads ? kMostThreads : threads};
}

Share schedule(const Task& task, int channels) {
  const std::uint64_t least = least_traffic(task.version);
  const std::uint64_t even = ceil_div(task.bytes, static_cast<std::uint64_t>(channels));
  if (least == 0 || is_collnet(task.algorithm)) return {channels, even};
  const auto ranks = static_cast<std::uint64_t>(task.comm.ranks);
  const int most = is_nvls(task.algorithm) ? task.comm.nvls_channels : task.comm.channels;
  const std::uint64_t count = task.bytes / (sliced(task.collective) ? ranks : 1);
  // LL's bytes count four times since 2.26.
  constexpr NcclVersion kFirstWithFactor{2, 26, 0};
  const std::uint64_t factor =
      task.protocol == Protocol::LL && task.version >= kFirstWithFactor ? 4 : 1;
  const std::uint64_t traffic_a_byte = factor * (task.collective == NcclCollective::AllReduce ? 2
                                                 : sliced(task.collective) ? ranks
                                                                           : 1);
  const std::uint64_t traffic = count * traffic_a_byte;
  const std::uint64_t a_channel = std::max(
      least, std::max(least, traffic) / static_cast<std::uint64_t>(std::min(channels, most)));
  // The scheduler assigns complete cells.
  constexpr std::uint64_t kLine = 16;
  const std::uint64_t cell = ceil_div(ceil_div(least, traffic_a_byte), kLine) * kLine;
  const std::uint64_t cells = std::max<std::uint64_t>(1, ceil_div(count, cell));
  const std::uint64_t cells_a_channel = std::min(cells, ceil_div(a_channel, cell * traffic_a_byte));
  const std::uint64_t first = most == 1 ? cells : cells_a_channel;
  const std::uint64_t used = 1 + ceil_div(cells - first, cells_a_channel);
  const std::uint64_t part = first * cell * (sliced(task.collective) ? ranks : 1);
  return {static_cast<int>(std::min(used, static_cast<std::uint64_t>(most))),
          std::min(task.bytes, part)};
}

std::uint64_t slot_bytes(const NcclVersion& version, NcclCpu cpu, Protocol protocol) {
  constexpr std::uint64_t kLlBuffer = 512 * 8 * 16 * kSteps;      // threads, lines, bytes per line
  constexpr std::uint64_t kLl128Buffer = 640 * 120 * 8 * kSteps;  // threads, elements, bytes
  constexpr std::uint64_t kSimpleBuffer = 4 << 20;
  constexpr std::uint64_t kSimpleBufferOnArm = 1 << 20;  // dropped by 2.19
  switch (protocol) {
    case Protocol::LL:
      return kLlBuffer / kSteps / 2;  // half of a line are flags
    case Protocol::LL128:
      return kLl128Buffer / kSteps / 16 * 15;
    case Protocol::Simple:
      break;
  }
  const bool small = cpu == NcclCpu::Arm && version < NcclVersion{2, 19, 0};
  return (small ? kSimpleBufferOnArm : kSimpleBuffer) / kSteps;
}

Chunking chunking(const Task& task, const Share& share, double simple_nvls_GBps) {
  const std::uint64_t slot = slot_bytes(task.version, task.comm.cpu, task.protocol);
  const bool long_chunks = task.algorithm == NcclAlgorithm::Ring &&
                           task.protocol == Protocol::Simple && !rooted(task.collective);
  const std::uint64_t chunk_steps = long_chunks ? 4 : 1;
  const std::uint64_t slice_steps = long_chunks ? 2 : 1;
  std::uint64_t chunk = slot * chunk_steps;
  const std::uint64_t largest_slice = slot * slice_steps;
  // With the scheduler, the chunk depends on the channel's part.
  const bool by_part = task.version >= kFirstScheduler && !is_collnet(task.algorithm);
  const std::uint64_t bytes = by_part ? share.part_bytes : task.bytes;
  const std::uint64_t channels = by_part ? 1 : static_cast<std::uint64_t>(share.channels);
  if (is_collnet(task.algorithm) && family(task.version) == NcclFamily::V2_8) {
    if (task.protocol == Protocol::Simple) chunk = collnet_chunk_2_8(task, chunk, channels);
  } else if (is_collnet(task.algorithm)) {
    chunk = collnet_chunk(task, chunk, channels);
  }
  if (is_nvls(task.algorithm)) {
    const std::uint64_t part = by_part ? bytes : ceil_div(bytes, channels);
    chunk = nvls_chunk(task, chunk, part, simple_nvls_GBps);
  }
  if (task.algorithm == NcclAlgorithm::Pat) chunk = pat_chunk(task, chunk, bytes);
  if (task.algorithm == NcclAlgorithm::Tree) {
    const bool old = family(task.version) == NcclFamily::V2_8;
    if (task.protocol == Protocol::LL128) {
      // 2.8.4 halves the slot including its flags.
      chunk = old ? tree_ll128_chunk(task, chunk / 15 * 16, bytes, channels) / 16 * 15
                  : tree_ll128_chunk(task, chunk, bytes, channels);
    }
    if (task.protocol == Protocol::Simple && task.version < NcclVersion{2, 20, 0}) {
      chunk = tree_simple_chunk(task, chunk, channels);
    }
  }
  if (by_part) chunk = chunk / grain(task.protocol) * grain(task.protocol);
  // PAT sends the data for one neighbour when a slot is full.
  const std::uint64_t whole = task.algorithm == NcclAlgorithm::Pat ? slot : chunk;
  return {.chunk_bytes = chunk,
          .slice_bytes = long_chunks ? ring_slice(task, share, chunk, largest_slice) : whole,
          .slices = kSteps / static_cast<int>(slice_steps)};
}

}  // namespace cclgym::nccl
