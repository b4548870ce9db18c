// Reader of what NCCL prints with NCCL_DEBUG=INFO: its release, graphs, rings, trees, estimates and
// choices, by communicator.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost_models/nccl/nccl_estimate.hpp"

namespace cclgym {

/// A graph of NCCL's search: "Pattern 4, crossNic 0, nChannels 8, bw 24.0/12.0, type NVL/PIX,
/// sameChannels 1".
struct DebugGraph {
  int pattern = 0;           ///< NCCL's number
  int channels = 0;          ///< before NCCL doubles them
  double inside_GBps = 0;    ///< bandwidth of a channel within a node
  double between_GBps = 0;   ///< bandwidth of a channel between nodes
  std::string inside_type;   ///< slowest kind of path within a node: "NVL"
  std::string between_type;  ///< the same to the NIC: "PIX"
  bool same_channels = true;
  bool cross_nic = false;

  friend bool operator==(const DebugGraph&, const DebugGraph&) = default;
};
[[nodiscard]] std::string_view pattern_name(int pattern);  ///< "ring", "balanced tree", …

/// The order of the ranks on one channel.
struct DebugRing {
  std::vector<int> order;  ///< ranks, beginning with rank 0
  bool whole = true;       ///< false if NCCL cut the line off and no rank printed its neighbours
};

/// Parents of the ranks on one channel: -1 for the root. Ranks that did not print are missing.
using DebugTree = std::map<int, int>;

/// A choice that NCCL logged: "AllReduce: 4 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}".
struct DebugChoice {
  /// Missing in 2.20 to 2.22, which print "4 Bytes -> Algo 0 proto 0 time 9.2".
  std::optional<NcclCollective> collective;
  std::uint64_t bytes = 0;   ///< the larger of a rank's two buffers, B
  bool of_one_rank = false;  ///< `bytes` are those that one rank sends: the ranks are unknown
  NcclAlgorithm algorithm = NcclAlgorithm::Ring;
  Protocol protocol = Protocol::Simple;
  std::optional<int> channels;       ///< channels that carry the call, if printed
  std::optional<double> printed_us;  ///< NCCL's predicted time, if printed
  std::size_t line = 0;              ///< line of the first such call
  std::size_t calls = 0;
};

/// Facts about one communicator. Those that were not printed are empty or 0.
struct DebugCommunicator {
  std::string id;  ///< NCCL's commId, or "split 1, color 0 of 0x221dee7"
  int ranks = 0;
  int nodes = 0;     ///< as printed, else the number of hosts if all ranks printed something
  int channels = 0;  ///< after doubling
  std::vector<std::string> hosts;
  std::vector<DebugGraph> graphs;
  std::map<int, DebugRing> rings;  ///< by channel
  std::map<int, DebugTree> trees;  ///< by channel
  std::optional<NcclEstimates> estimates;
  std::size_t estimates_line = 0;
  std::vector<DebugChoice> choices;
};

struct DebugLog {
  std::string version;                                         ///< "2.21.5"; empty: not printed
  bool rccl = false;                                           ///< the release is one of RCCL
  std::vector<std::pair<std::string, std::string>> variables;  ///< "NCCL_ALGO", "Tree"
  std::string tuner;                             ///< name of the tuner plugin that NCCL uses
  std::vector<DebugCommunicator> communicators;  ///< in the order of the log
  /// Choices of processes that have rank 0 of several communicators of the log, or of none.
  std::vector<DebugChoice> unassigned;
  std::size_t other_calls = 0;     ///< calls by kernels for symmetric memory or by copy engines
  std::vector<std::string> notes;  ///< lines that were left out, with the reason
};

/// Reads a log with the prefixes of any launcher (for_each_log_line). Throws UserError if no line
/// is NCCL's.
[[nodiscard]] DebugLog read_debug_log(std::string_view text, const std::string& name);

}  // namespace cclgym
