#include "sim/lowering/message_index.hpp"

#include <algorithm>

namespace cclgym {

MessageIndex::MessageIndex(const ProgramOutline& outline) : outline_(outline), tables_(3) {
  for (Table& table : tables_) table.loops.resize(outline.loops.size());
  for (std::uint32_t block = 0; block + 1 < outline.blocks.size(); ++block) {
    std::int32_t numbers[3] = {0, 0, 0};
    for (std::uint32_t l = outline.blocks[block].first_loop;
         l < outline.blocks[block + 1].first_loop; ++l) {
      const OutlineLoop& loop = outline.loops[l];
      const std::uint32_t end = loop.first + static_cast<std::uint32_t>(loop.body);
      for (const Of what : {Of::Steps, Of::Sends, Of::Receives}) {
        Table& table = tables_[static_cast<std::size_t>(what)];
        std::int32_t& number = numbers[static_cast<std::size_t>(what)];
        Numbers& own = table.loops[l];
        own = {number, loop.body, loop.first};
        if (what != Of::Steps) {
          own.first_member = static_cast<std::uint32_t>(table.members.size());
          for (std::uint32_t step = loop.first; step < end; ++step) {
            const Opcode opcode = outline.steps[step].opcode;
            if (what == Of::Sends ? sends(opcode) : receives(opcode)) table.members.push_back(step);
          }
          own.each = static_cast<std::int32_t>(table.members.size() - own.first_member);
        }
        number += own.each * loop.times;
      }
    }
  }
}

std::int32_t MessageIndex::count(Of what, std::uint32_t block) const {
  const std::uint32_t end = outline_.blocks[block + 1].first_loop;
  if (end == outline_.blocks[block].first_loop) return 0;
  const Numbers& last = table(what).loops[end - 1];
  return last.first + last.each * outline_.loops[end - 1].times;
}

bool MessageIndex::find(Of what, std::uint32_t block, std::int32_t first, std::int32_t stride,
                        std::int32_t times, std::vector<IterationPiece>& pieces) const {
  const Table& own = table(what);
  const auto begin = own.loops.begin() + outline_.blocks[block].first_loop;
  const auto end = own.loops.begin() + outline_.blocks[block + 1].first_loop;
  const std::int32_t numbers = count(what, block);
  for (std::int32_t i = 0; i < times;) {
    const std::int32_t number = first + i * stride;
    if (number >= numbers) return false;
    // The number is in the last loop that begins at or before it: later loops begin later, and a
    // loop without any numbers begins where the next loop does.
    const auto loop = std::prev(
        std::upper_bound(begin, end, number, [](std::int32_t searched, const Numbers& candidate) {
          return searched < candidate.first;
        }));
    const std::int32_t offset = number - loop->first;
    const std::int32_t iteration = offset / loop->each;
    const std::uint32_t member =
        loop->first_member + static_cast<std::uint32_t>(offset % loop->each);
    pieces.push_back({i, what == Of::Steps ? member : own.members[member], iteration - i});
    const std::int32_t loop_times =
        outline_.loops[static_cast<std::size_t>(loop - own.loops.begin())].times;
    i += stride == loop->each ? std::min(times - i, loop_times - iteration) : 1;
  }
  return true;
}

}  // namespace cclgym
