// Fourth pass: which receives pass their chunks on to a send within one instruction.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// The operations whose two halves become one instruction with a half of another operation:
/// recv + send -> recvCopySend; recvReduceCopy + send -> recvReduceCopySend, or recvReduceSend if
/// nobody needs the result where it was added up.
struct Fusion {
  static constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> sent_by;  ///< by operation: whose send its receive becomes part of
  std::vector<std::int32_t> received_from;  ///< the inverse
  std::vector<bool> stored;                 ///< by operation: is what it writes needed locally?
};

/// No operation fused.
[[nodiscard]] Fusion no_fusion(const Program& program);

/// For each operation, the one whose chunks it sends on: it sends exactly what that operation wrote
/// where it wrote it, in one piece. kNone: there is none such.
[[nodiscard]] std::vector<std::int32_t> forwarded_operations(const Program& program,
                                                             const ChunkDag& dag);

/// For each operation, the longest chain of operations that wait for it (0: none does).
[[nodiscard]] std::vector<std::int32_t> reverse_depths(const ChunkDag& dag);

/// Fuses (MSCCLang, section 4.3) what is received at one level with what is sent on at the next, on
/// one channel. Where several sends could be fused with a receive, and since a connection belongs
/// to one thread block, those connections stay together that pass on most; of equals, those on the
/// longest path. A pair of halves that are levels apart stays apart: as one instruction, either the
/// receive would come late or the send overtake other messages of its connection.
///
/// Fusion is complete after one pass: an operation has two halves, each of which is fused or not.
/// Cost: O(n log n).
[[nodiscard]] Fusion fuse(const Program& program, const ChunkDag& dag, const Schedule& schedule);

}  // namespace cclgym
