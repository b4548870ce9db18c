// The record of an algorithm: everything that the other layers know about it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms/algorithm_request.hpp"
#include "collectives/contract.hpp"
#include "collectives/ir.hpp"
#include "collectives/outline.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// Work that an algorithm leaves to switches.
enum class SwitchUse : std::uint8_t {
  None,
  Everywhere,  ///< between any two ranks
  InServers,   ///< between the ranks of each node
  Network      ///< between nodes, of which there must be several
};

/// The numbers of ranks that an algorithm runs on; never fewer than 2.
struct RankRule {
  std::string text;                ///< "any number of ranks >= 2", "a power of two >= 2"
  std::function<bool(int)> holds;  ///< called with at least 2 ranks

  static RankRule any();
  static RankRule even();
  static RankRule power_of_two();
  static RankRule exactly(int ranks);
};

/// One algorithm of an AlgorithmLibrary. Its programs are made by `trace` for each request, or
/// there is one fixed `program` (program_entry); exactly one of the two is set.
///
/// The functions are called with checked requests: the collective is one of `collectives`, the
/// ranks fit, channels >= 1, rings are permutations of the ranks, and ranks_per_server >= 1 divides
/// the ranks.
/// Memory that a program of many ranks takes at least, from its tracing to its simulation.
struct PairMemory {
  CollectiveKind collective{};
  /// Bytes per ordered pair of ranks, channel and instance: half of the least peak that was
  /// measured (docs/performance.md, "Memory").
  double bytes = 0;
};

/// Channels of a program that differ in the ranks that they connect.
struct DifferentChannels {
  /// Number of them: a request for so many channels has each of them once, and each stands for an
  /// equal number of the channels of the whole request.
  int count = 1;
  /// Channels that are alike have numbers, in the whole request, that differ by a multiple of this.
  int period = 1;
};

struct AlgorithmEntry {
  std::string name{};         ///< as in YAML: "ring", "recursive-doubling", "tree", …
  std::string description{};  ///< one line
  std::vector<CollectiveKind> collectives{};
  RankRule ranks = RankRule::any();
  /// Reason why the algorithm cannot serve a request whose ranks fit, for example because of its
  /// nodes; nullopt if it can. May be empty.
  std::function<std::optional<std::string>(const AlgorithmRequest&)> check{};
  CostTraits traits{};  ///< traits of its programs
  /// True if NCCL has the algorithm built in, so that a tuner of NCCL can choose it.
  bool in_nccl = false;
  /// True if one thread block serves both directions of a peer, as in MSCCL's own program.
  bool shares_blocks = false;
  /// Switches that must be able to copy and add (Node::computes).
  SwitchUse switches = SwitchUse::None;
  /// False if its reductions are local steps, separate from its messages.
  bool adds_while_receiving = true;
  /// Exchange between nodes ("pipelined", "composed", …) in an algorithm that works within each
  /// node first; empty for an algorithm that treats all ranks equally.
  std::string across_servers{};
  /// By collective, where programs grow with the square of the number of ranks; work that cannot
  /// fit is refused by these numbers before it begins.
  std::vector<PairMemory> memory{};
  /// Ranks per node if the nodes are not known; 0: all ranks are on one node.
  int ranks_per_unknown_server = 0;
  std::function<Program(const AlgorithmRequest&)> trace{};
  /// Maximum number of thread blocks on one GPU in one kernel of the program with default compile
  /// options, or an upper bound a few blocks above; `compile` of the request is ignored. Empty: the
  /// program is compiled and counted, which takes longer.
  std::function<std::int64_t(const AlgorithmRequest&)> thread_blocks{};
  /// The outline of the compiled program, written without compiling it, so that programs of many
  /// ranks cost little; nullopt for requests that it cannot serve. May be empty.
  std::function<std::optional<ProgramOutline>(const AlgorithmRequest&)> outline{};
  /// The channels that differ in more than their part of the data. Empty: all differ.
  std::function<DifferentChannels(const AlgorithmRequest&)> different_channels{};
  /// True for requests whose program is a direct exchange (library/direct_exchange.hpp). May be
  /// empty.
  std::function<bool(const AlgorithmRequest&)> exchanges{};
  std::shared_ptr<const ThreadBlockProgram> program{};
  /// True if the name spells parameters ("hierarchical:8x4:ring"), which may have other characters.
  bool spelled = false;
  std::string file{};  ///< file from which the program was read; empty: not from a file
  /// Messages that every connection must hold for the fixed program not to deadlock.
  int min_slots = 1;

  /// True if the entry is one fixed program, with its own ranks, channels and root.
  [[nodiscard]] bool fixed() const { return program != nullptr; }
};

}  // namespace cclgym
