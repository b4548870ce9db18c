// Collective, buffers and participants of a lowered program.
#pragma once

#include <string>
#include <vector>

#include "collectives/compiler/compile.hpp"
#include "collectives/contract.hpp"

namespace cclgym::synthesis {

struct ProgramForm {
  std::string name = "synthesised";
  CollectiveKind collective = CollectiveKind::AllGather;
  int root = 0;          ///< rank of the fabric, for rooted collectives
  bool in_place = true;  ///< ignored for collectives that have no in-place form, and with relays
  /// Participating ranks of the fabric, ascending; empty: all.
  std::vector<int> group{};
  /// Only with a group. True: the program has the group's ranks only, renumbered from 0, so that
  /// the other ranks cannot pass data on. False: it has all ranks of the fabric, and a custom
  /// contract in which the others have no data (only Microsoft's XML dialect has those).
  bool members_only = false;
};

/// Options with which lowered programs are compiled: messages on a connection keep the order of the
/// plan, and a block serves one peer, except for fused steps. Fuse instructions for deployment, and
/// for every cost model but `hockney`, in which a fused step ends too late for other readers of the
/// data.
[[nodiscard]] CompileOptions lowered_compile_options(bool fuse = true);

}  // namespace cclgym::synthesis
