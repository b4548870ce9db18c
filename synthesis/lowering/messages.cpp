#include "synthesis/lowering/messages.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "collectives/msccl/msccl_limits.hpp"
#include "core/error.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

namespace {

bool follows(const Location& next, const Location& first, int count) {
  return next.rank == first.rank && next.buffer == first.buffer &&
         next.index == first.index + count;
}

class Tracer {
 public:
  explicit Tracer(ChunkLayout& layout)
      : layout_(layout),
        builder_(layout.form().name, layout.contract()),
        received_(at(layout.chunks()) * at(layout.fabric_ranks()), 0) {}

  Program trace(std::span<const PlannedMessage> messages) {
    for (std::size_t first = 0; first < messages.size();) {
      std::size_t end = first + 1;
      if (messages[first].group != kNoGroup) {
        while (end < messages.size() && messages[end].group == messages[first].group) ++end;
        add_group(messages.subspan(first, end - first));
      } else {
        while (end < messages.size() && joins(messages[first], messages[end], end - first)) ++end;
        add(messages[first], static_cast<int>(end - first));
      }
      first = end;
    }
    for (const ChunkLayout::LocalCopy& copy : layout_.own_slices()) {
      (void)builder_.chunk(copy.source.rank, copy.source.buffer, copy.source.index, copy.count)
          .copy(copy.target.rank, copy.target.buffer, copy.target.index);
    }
    return builder_.finish();
  }

 private:
  [[nodiscard]] char& received(int chunk, int rank) {
    return received_[at(chunk) * at(layout_.fabric_ranks()) + at(rank)];
  }

  // Location of the chunk, or of the partial sum, that the rank can send now.
  [[nodiscard]] Location available(int chunk, int rank) {
    if (received(chunk, rank)) return layout_.held(chunk, rank);
    const std::optional<Location> own = layout_.own(chunk, rank);
    if (own) return *own;
    throw UserError(fmt::format("rank {} sends chunk {}, which it does not hold", rank, chunk));
  }

  // True if `next`, whose chunk is `count` further on, can be part of the message that starts with
  // `first`.
  [[nodiscard]] bool joins(const PlannedMessage& first, const PlannedMessage& next,
                           std::size_t count) {
    if (count >= at(msccl::kMostCount)) return false;
    const int further = static_cast<int>(count);
    if (next.chunk != first.chunk + further || next.source != first.source ||
        next.target != first.target || next.channel != first.channel ||
        next.reduces != first.reduces || next.batch != first.batch || next.group != kNoGroup) {
      return false;
    }
    if (received(next.chunk, next.target) != received(first.chunk, first.target) ||
        received(next.chunk, next.source) != received(first.chunk, first.source)) {
      return false;
    }
    if (next.reduces && !received(next.chunk, next.target)) {
      const std::optional<Location> one = layout_.own(first.chunk, first.target);
      const std::optional<Location> other = layout_.own(next.chunk, next.target);
      if (one.has_value() != other.has_value()) return false;
      if (one && !follows(*other, *one, further)) return false;
    }
    return follows(available(next.chunk, next.source), available(first.chunk, first.source),
                   further) &&
           follows(layout_.held(next.chunk, next.target), layout_.held(first.chunk, first.target),
                   further);
  }

  [[nodiscard]] ChunkRef reference(const Location& location, int count) {
    return builder_.chunk(location.rank, location.buffer, location.index, count);
  }

  // Puts a rank's own summand where it collects the sum. False if it has none.
  bool prepare_sum(const PlannedMessage& message, const Location& sum, int count) {
    if (received(message.chunk, message.target)) return true;
    const std::optional<Location> own = layout_.own(message.chunk, message.target);
    if (!own) return false;
    if (*own != sum) {
      (void)reference(*own, count)
          .copy(sum.rank, sum.buffer, sum.index, {.channel = message.channel});
    }
    return true;
  }

  void add(const PlannedMessage& message, int count) {
    const Location source = available(message.chunk, message.source);
    const Location target = layout_.held(message.chunk, message.target);
    const OperationOptions options{.channel = message.channel};
    if (message.reduces && prepare_sum(message, target, count)) {
      (void)reference(target, count).reduce(reference(source, count), options);
    } else {
      (void)reference(source, count).copy(target.rank, target.buffer, target.index, options);
    }
    for (int k = 0; k < count; ++k) received(message.chunk + k, message.target) = 1;
  }

  void add_group(std::span<const PlannedMessage> messages) {
    const PlannedMessage& first = messages.front();
    const Location target = layout_.held(first.chunk, first.target);
    const OperationOptions options{.channel = first.channel};
    if (first.reduces) {
      std::vector<ChunkRef> others;
      for (const PlannedMessage& message : messages) {
        others.push_back(reference(available(message.chunk, message.source), 1));
      }
      if (!prepare_sum(first, target, 1)) {
        throw std::logic_error("a rank without a summand cannot add in a switch");
      }
      (void)reference(target, 1).reduce_in_switch(others, options);
    } else {
      std::vector<int> ranks;
      for (const PlannedMessage& message : messages) {
        const Location place = layout_.held(message.chunk, message.target);
        if (place.buffer != target.buffer || place.index != target.index) {
          throw std::logic_error("a switch copies a chunk to one index on all ranks");
        }
        ranks.push_back(place.rank);
      }
      reference(available(first.chunk, first.source), 1)
          .multicast(ranks, target.buffer, target.index, options);
    }
    for (const PlannedMessage& message : messages) received(message.chunk, message.target) = 1;
  }

  ChunkLayout& layout_;
  ProgramBuilder builder_;
  std::vector<char> received_;  ///< by chunk and rank
};

}  // namespace

Program trace_messages(ChunkLayout& layout, std::span<const PlannedMessage> messages) {
  return Tracer(layout).trace(messages);
}

}  // namespace cclgym::synthesis
