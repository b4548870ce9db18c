// Messages of a plan, as operations on the buffers of a collective.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collectives/program.hpp"
#include "synthesis/lowering/program_form.hpp"

namespace cclgym::synthesis {

/// A chunk of the plan: place in the buffers of the collective.
struct PlannedChunk {
  /// Rank that contributes the chunk; in a reduction, the rank that has the sum first.
  int source = 0;
  int target = -1;  ///< Gather, Scatter, AllToAll: rank that must receive it
  int number = 0;   ///< within its slice; AllReduce: within the buffer
};

/// One message of one chunk from rank to rank, at most one per chunk and target.
struct PlannedMessage {
  int chunk = 0;
  int source = 0;
  int target = 0;
  int channel = 0;
  bool reduces = false;  ///< adds the chunk to the target's
  int batch = 0;         ///< messages of neighbouring chunks in one batch may become one
  /// Consecutive messages of one group are carried out at once by switches: copies from one
  /// source, or reductions into one target.
  int group = kNoGroup;
};

/// Buffer locations of the chunks of a plan. Ranks that pass a chunk on without needing it hold it
/// in scratch memory.
class ChunkLayout {
 public:
  /// `slice_chunks`: chunk factor of the contract. Throws UserError for a bad group or root, and
  /// collectives that cannot be lowered.
  ChunkLayout(ProgramForm form, int fabric_ranks, int slice_chunks,
              std::vector<PlannedChunk> chunks);

  [[nodiscard]] const ProgramForm& form() const { return form_; }
  [[nodiscard]] int fabric_ranks() const { return static_cast<int>(member_.size()); }
  [[nodiscard]] int chunks() const { return static_cast<int>(chunks_.size()); }
  [[nodiscard]] const std::vector<int>& members() const { return members_; }
  [[nodiscard]] Contract contract() const;
  /// Location of a rank's own chunk, or of its summand; nullopt if it has none.
  [[nodiscard]] std::optional<Location> own(int chunk, int rank) const;
  /// Location for the chunk, or the sum, that a rank receives.
  [[nodiscard]] Location held(int chunk, int rank);
  /// True if the collective requires the chunk, or the sum, at the rank.
  [[nodiscard]] bool required(int chunk, int rank) const;

  struct LocalCopy {
    Location source;
    Location target;
    int count = 1;
  };
  /// Copies within ranks that no message of the plan implies: a rank's own slice.
  [[nodiscard]] std::vector<LocalCopy> own_slices() const;

 private:
  [[nodiscard]] Contract plain_contract() const;
  [[nodiscard]] bool is_member(int rank) const {
    return member_[static_cast<std::size_t>(rank)] >= 0;
  }
  /// Rank of the program. Throws UserError if the program does not have the rank.
  [[nodiscard]] int program_rank(int rank) const;
  [[nodiscard]] Location scratch(int chunk, int rank);

  ProgramForm form_;
  std::vector<int> members_;
  std::vector<int> member_;  ///< by rank of the fabric: index into members_, or -1
  bool relays_;              ///< custom contract over all ranks
  int slice_chunks_;
  std::vector<PlannedChunk> chunks_;
  std::vector<int> scratch_;  ///< by chunk and rank: index, -1: none
  std::vector<int> scratch_used_;
};

/// Traces the messages in their order. A message reads what its source holds after the messages
/// before it. Throws UserError if a rank sends a chunk that it does not hold.
[[nodiscard]] Program trace_messages(ChunkLayout& layout, std::span<const PlannedMessage> messages);

}  // namespace cclgym::synthesis
