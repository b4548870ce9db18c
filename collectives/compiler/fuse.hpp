// Fourth pass: fuses receives with sends of the same chunks into one instruction.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/compiler/chunk_dag.hpp"
#include "collectives/compiler/schedule.hpp"
#include "collectives/program.hpp"

namespace cclgym {

/// Operations whose halves become one instruction with a half of another operation: recv + send ->
/// recvCopySend; recvReduceCopy + send -> recvReduceCopySend, or recvReduceSend if the sum is not
/// needed where it was computed.
struct Fusion {
  static constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> sent_by;        ///< by operation: send that joins its receive
  std::vector<std::int32_t> received_from;  ///< the inverse
  std::vector<bool> stored;                 ///< by operation: true if its result is needed locally
};

/// The result if no operation is fused.
[[nodiscard]] Fusion no_fusion(const Program& program);

/// For each operation A, the operation B whose result A sends on: A sends exactly the chunks that B
/// wrote, in one piece and from the same place. kNone if there is no B.
[[nodiscard]] std::vector<std::int32_t> forwarded_operations(const Program& program,
                                                             const ChunkDag& dag);

/// For each operation, the length of the longest chain of operations that wait for it (0 if none
/// does).
[[nodiscard]] std::vector<std::int32_t> reverse_depths(const ChunkDag& dag);

/// Fuses (MSCCLang, section 4.3) a receive at one level with a send of the same chunks at the next,
/// on one channel. If several sends could be fused with a receive, the pairs of connections that
/// pass on the largest number of chunks stay together, since a connection belongs to one thread
/// block; ties go to the longest path. Halves that are levels apart are not fused: as one
/// instruction, either the receive would be late or the send would overtake other messages of its
/// connection. One pass suffices: an operation has two halves, each of which is fused or not. Cost:
/// O(n log n).
[[nodiscard]] Fusion fuse(const Program& program, const ChunkDag& dag, const Schedule& schedule);

}  // namespace cclgym
