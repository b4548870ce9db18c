// The steps of one thread block on a ring, as the compiler generates them. Internal to the
// algorithms.
#pragma once

#include <array>
#include <span>

#include "collectives/compiler/compile.hpp"
#include "collectives/outline.hpp"

namespace cclgym::algorithms {

/// Opcodes with which a rank passes a received chunk on in a fused step, or keeps it.
struct RingOpcodes {
  Opcode pass_on;
  Opcode keep;
};
inline constexpr RingOpcodes kReduceOnRing{Opcode::RecvReduceSend, Opcode::RecvReduceCopy};
inline constexpr RingOpcodes kCopyOnRing{Opcode::RecvCopySend, Opcode::Recv};

/// True if a receive and the send of the same chunks become one step.
inline bool fuses(const CompileOptions& options) { return options.fuse && options.slots > 1; }
/// True if one block receives chunks and sends them on.
inline bool joins(const CompileOptions& options) {
  return fuses(options) || options.join_forwarding;
}

/// Number of steps of a rank in RingSteps::all_reduce.
inline int all_reduce_steps(const CompileOptions& options, int ranks) {
  return fuses(options) ? 2 * ranks - 1 : 4 * (ranks - 1);
}

/// Writes the steps of one rank of a ring of n >= 3 ranks: it sends its own chunk, passes on the
/// chunks that arrive, and keeps the last. With fusion these are one send, one fused step per
/// message and one receive; without fusion, sends and receives alternate.
class RingSteps {
 public:
  RingSteps(ProgramOutline& outline, const CompileOptions& options, int ranks)
      : outline_(outline), fused_(fuses(options)), ranks_(ranks) {}

  /// The first step waits for `waits`.
  void all_reduce(std::span<const OutlineWait> waits = {}) {
    if (fused_) {
      loop(1, Opcode::Send, waits);
      loop(ranks_ - 2, kReduceOnRing.pass_on);
      loop(1, Opcode::RecvReduceCopySend);
      loop(ranks_ - 2, kCopyOnRing.pass_on);
      loop(1, kCopyOnRing.keep);
    } else {
      take_turns(ranks_ - 1, kReduceOnRing.keep, waits);
      take_turns(ranks_ - 1, kCopyOnRing.keep);
    }
  }
  /// ReduceScatter or AllGather.
  void phase(const RingOpcodes& opcodes) {
    if (!fused_) return take_turns(ranks_ - 1, opcodes.keep);
    loop(1, Opcode::Send);
    loop(ranks_ - 2, opcodes.pass_on);
    loop(1, opcodes.keep);
  }
  /// Broadcast or Reduce: passes `chunks` chunks from position 0 of the ring to its last position;
  /// `place` is the rank's position.
  void line(const RingOpcodes& opcodes, int place, int chunks) {
    if (place == 0) return loop(chunks, Opcode::Send);
    if (place == ranks_ - 1) return loop(chunks, opcodes.keep);
    if (fused_) return loop(chunks, opcodes.pass_on);
    loop(1, opcodes.keep);
    take_turns(chunks - 1, opcodes.keep);
    loop(1, Opcode::Send);
  }

 private:
  void loop(int times, Opcode opcode, std::span<const OutlineWait> waits = {}) {
    if (times < 1) return;
    outline_.begin_loop(times);
    outline_.add_step(opcode, 1, waits);
  }
  void take_turns(int times, Opcode receive, std::span<const OutlineWait> waits = {}) {
    if (!waits.empty()) {  // they apply to the first turn only
      outline_.begin_loop(1);
      outline_.add_step(Opcode::Send, 1, waits);
      outline_.add_step(receive, 1);
      --times;
    }
    if (times < 1) return;
    outline_.begin_loop(times);
    outline_.add_step(Opcode::Send, 1);
    outline_.add_step(receive, 1);
  }

  ProgramOutline& outline_;
  bool fused_;
  int ranks_;
};

}  // namespace cclgym::algorithms
