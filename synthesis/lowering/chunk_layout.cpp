#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/lowering/messages.hpp"

namespace cclgym::synthesis {

CompileOptions lowered_compile_options(bool fuse) {
  return {.fuse = fuse, .share_blocks = false, .join_forwarding = false, .keep_order = true};
}

namespace {

std::vector<int> members_of(const ProgramForm& form, int ranks) {
  if (!form.group.empty()) return form.group;
  std::vector<int> all(at(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool has_pairs(CollectiveKind kind) {
  return kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter ||
         kind == CollectiveKind::AllToAll;
}

}  // namespace

ChunkLayout::ChunkLayout(ProgramForm form, int fabric_ranks, int slice_chunks,
                         std::vector<PlannedChunk> chunks)
    : form_(std::move(form)),
      members_(members_of(form_, fabric_ranks)),
      member_(at(fabric_ranks), -1),
      relays_(!form_.members_only && std::ssize(members_) < fabric_ranks),
      slice_chunks_(slice_chunks),
      chunks_(std::move(chunks)),
      scratch_used_(at(fabric_ranks), 0) {
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const int rank = members_[k];
    if (rank < 0 || rank >= fabric_ranks || (k > 0 && rank <= members_[k - 1])) {
      throw UserError(fmt::format("rank {} of the group; expected ascending ranks from 0 to {}",
                                  rank, fabric_ranks - 1));
    }
    member_[at(rank)] = static_cast<int>(k);
  }
  if (is_rooted(form_.collective) &&
      (form_.root < 0 || form_.root >= fabric_ranks || !is_member(form_.root))) {
    throw UserError(fmt::format("root {} is not a rank of the group", form_.root));
  }
  if (has_pairs(form_.collective) || relays_) form_.in_place = false;
  (void)plain_contract();
  scratch_.assign(chunks_.size() * at(fabric_ranks), -1);
}

Contract ChunkLayout::plain_contract() const {
  if (form_.collective == CollectiveKind::AllToNext || form_.collective == CollectiveKind::Custom) {
    throw UserError(fmt::format("no schedule of {} can be lowered", to_string(form_.collective)));
  }
  const int root = is_rooted(form_.collective) ? member_[at(form_.root)] : 0;
  return Contract::make(form_.collective, static_cast<int>(members_.size()), slice_chunks_,
                        form_.in_place, root);
}

Contract ChunkLayout::contract() const {
  const Contract plain = plain_contract();
  if (!relays_) return plain;
  std::vector<int> inputs(member_.size(), 0);
  std::vector<int> outputs(member_.size(), 0);
  for (const int rank : members_) {
    inputs[at(rank)] = plain.input_chunks(member_[at(rank)]);
    outputs[at(rank)] = plain.output_chunks(member_[at(rank)]);
  }
  return Contract::custom(
      fmt::format("{} of {} ranks", plain.name(), members_.size()), fabric_ranks(), inputs, outputs,
      [plain, members = members_, member = member_](int rank,
                                                    int index) -> std::optional<RequiredValue> {
        if (member[at(rank)] < 0) return std::nullopt;
        std::optional<RequiredValue> value = plain.postcondition(member[at(rank)], index);
        if (value) {
          for (ChunkId& chunk : *value) chunk.rank = members[at(chunk.rank)];
        }
        return value;
      });
}

int ChunkLayout::program_rank(int rank) const {
  if (!form_.members_only) return rank;
  if (!is_member(rank)) {
    throw UserError(fmt::format(
        "rank {} passes data on, but it is not in the group; a program of the group's ranks only "
        "cannot have it",
        rank));
  }
  return member_[at(rank)];
}

std::optional<Location> ChunkLayout::own(int chunk, int rank) const {
  const PlannedChunk& planned = chunks_[at(chunk)];
  const bool summand = is_reduction(form_.collective);
  if (summand ? !is_member(rank) : rank != planned.source) return std::nullopt;
  int index = planned.number;
  Buffer buffer = Buffer::Input;
  switch (form_.collective) {
    case CollectiveKind::AllGather:
      if (form_.in_place) {
        buffer = Buffer::Output;
        index += member_[at(planned.source)] * slice_chunks_;
      }
      break;
    case CollectiveKind::Scatter:
    case CollectiveKind::AllToAll:
      index += member_[at(planned.target)] * slice_chunks_;
      break;
    case CollectiveKind::ReduceScatter:
      index += member_[at(planned.source)] * slice_chunks_;
      break;
    default:
      break;
  }
  return Location{program_rank(rank), buffer, index};
}

bool ChunkLayout::required(int chunk, int rank) const {
  const PlannedChunk& planned = chunks_[at(chunk)];
  switch (form_.collective) {
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Reduce:
      return rank == planned.source;
    case CollectiveKind::Gather:
    case CollectiveKind::Scatter:
    case CollectiveKind::AllToAll:
      return rank == planned.target;
    default:
      return is_member(rank);
  }
}

Location ChunkLayout::held(int chunk, int rank) {
  const PlannedChunk& planned = chunks_[at(chunk)];
  if (form_.in_place && is_member(rank)) {
    if (is_reduction(form_.collective)) return *own(chunk, rank);
    if (form_.collective == CollectiveKind::Broadcast) {
      return {program_rank(rank), Buffer::Input, planned.number};
    }
  }
  if (!required(chunk, rank)) return scratch(chunk, rank);
  const bool slices = form_.collective == CollectiveKind::AllGather ||
                      form_.collective == CollectiveKind::Gather ||
                      form_.collective == CollectiveKind::AllToAll;
  const int first = slices ? member_[at(planned.source)] * slice_chunks_ : 0;
  return {program_rank(rank), Buffer::Output, first + planned.number};
}

Location ChunkLayout::scratch(int chunk, int rank) {
  int& index = scratch_[at(chunk) * member_.size() + at(rank)];
  if (index < 0) index = scratch_used_[at(rank)]++;
  return {program_rank(rank), Buffer::Scratch, index};
}

std::vector<ChunkLayout::LocalCopy> ChunkLayout::own_slices() const {
  std::vector<LocalCopy> copies;
  if (form_.in_place) return copies;
  const auto add = [&](int rank, int source, int target) {
    const int here = program_rank(rank);
    copies.push_back(
        {{here, Buffer::Input, source}, {here, Buffer::Output, target}, slice_chunks_});
  };
  const auto first = [&](int rank) { return member_[at(rank)] * slice_chunks_; };
  switch (form_.collective) {
    case CollectiveKind::AllGather:
      for (const int rank : members_) add(rank, 0, first(rank));
      break;
    case CollectiveKind::AllToAll:
      for (const int rank : members_) add(rank, first(rank), first(rank));
      break;
    case CollectiveKind::Broadcast:
      add(form_.root, 0, 0);
      break;
    case CollectiveKind::Gather:
      add(form_.root, 0, first(form_.root));
      break;
    case CollectiveKind::Scatter:
      add(form_.root, first(form_.root), 0);
      break;
    default:
      break;
  }
  return copies;
}

}  // namespace cclgym::synthesis
