#include "synthesis/symmetry/partition_pair.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/hash.hpp"
#include "core/index.hpp"

namespace cclgym::synthesis {

AdjacentVertices::AdjacentVertices(const ColouredDigraph& graph)
    : first_(graph.colours.size() + 1, 0), entries_(2 * graph.edges.size()) {
  for (const ColouredEdge& edge : graph.edges) {
    ++first_[at(edge.source) + 1];
    ++first_[at(edge.target) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::size_t> next = first_;
  for (const ColouredEdge& edge : graph.edges) {
    const auto colour = static_cast<std::uint64_t>(edge.colour);
    const std::uint64_t out = splitmix64_finaliser(2 * colour + 1);
    const std::uint64_t in = splitmix64_finaliser(out + kGoldenRatio);
    entries_[next[at(edge.source)]++] = {edge.target, out};
    entries_[next[at(edge.target)]++] = {edge.source, in};
  }
}

std::span<const AdjacentVertices::Entry> AdjacentVertices::of(int vertex) const {
  return {entries_.data() + first_[at(vertex)], first_[at(vertex) + 1] - first_[at(vertex)]};
}

PartitionPair::PartitionPair(const ColouredDigraph& graph, const AdjacentVertices& adjacent)
    : adjacent_(&adjacent), size_(graph.colours.size(), 0), waits_(graph.colours.size(), 0) {
  const std::size_t count = graph.colours.size();
  Side side;
  side.order.resize(count);
  side.position.resize(count);
  side.cell.resize(count);
  std::iota(side.order.begin(), side.order.end(), 0);
  std::stable_sort(side.order.begin(), side.order.end(), [&](int one, int other) {
    return graph.colours[at(one)] < graph.colours[at(other)];
  });
  int cell = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const int vertex = side.order[k];
    if (graph.colours[at(vertex)] != graph.colours[at(side.order[at(cell)])]) {
      cell = static_cast<int>(k);
    }
    side.position[at(vertex)] = static_cast<int>(k);
    side.cell[at(vertex)] = cell;
    if (++size_[at(cell)] == 1) enqueue(cell);
  }
  sides_ = {side, side};
  // A graph refined against itself cannot contradict itself.
  static_cast<void>(refine());
}

void PartitionPair::enqueue(int cell) {
  if (waits_[at(cell)]) return;
  waits_[at(cell)] = 1;
  pending_.push_back(cell);
}

void PartitionPair::move_to(Side& side, int vertex, int position) {
  const int other = side.order[at(position)];
  const int from = side.position[at(vertex)];
  std::swap(side.order[at(position)], side.order[at(from)]);
  side.position[at(vertex)] = position;
  side.position[at(other)] = from;
}

bool PartitionPair::map(int vertex, int image) {
  const int cell = sides_[0].cell[at(vertex)];
  if (sides_[1].cell[at(image)] != cell) return false;
  const int size = size_[at(cell)];
  if (size == 1) return true;
  const int last = cell + size - 1;
  move_to(sides_[0], vertex, last);
  move_to(sides_[1], image, last);
  sides_[0].cell[at(vertex)] = last;
  sides_[1].cell[at(image)] = last;
  size_[at(cell)] = size - 1;
  size_[at(last)] = 1;
  enqueue(last);
  return refine();
}

std::vector<PartitionPair::Touch> PartitionPair::touches(const Side& side, int splitter) const {
  std::vector<Touch> found;
  const int end = splitter + size_[at(splitter)];
  for (int k = splitter; k < end; ++k) {
    for (const AdjacentVertices::Entry& entry : adjacent_->of(side.order[at(k)])) {
      const int cell = side.cell[at(entry.vertex)];
      if (size_[at(cell)] > 1) {
        found.push_back({cell, entry.tag, entry.vertex});
      } else {
        // A cell of one vertex cannot split, but both sides must agree on it: its vertex is left
        // out of the comparison.
        found.push_back({cell, entry.tag, -1});
      }
    }
  }
  const auto by_vertex = [](const Touch& one, const Touch& other) {
    return std::tie(one.cell, one.vertex) < std::tie(other.cell, other.vertex);
  };
  std::sort(found.begin(), found.end(), by_vertex);
  std::size_t kept = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    // Sums do not depend on the order, so that equal multisets of tags have equal sums. A collision
    // only makes the partition coarser: every permutation is checked in the end.
    if (k > 0 && found[kept - 1].cell == found[k].cell &&
        found[kept - 1].vertex == found[k].vertex) {
      found[kept - 1].sum += found[k].sum;
    } else {
      found[kept++] = found[k];
    }
  }
  found.resize(kept);
  std::sort(found.begin(), found.end(), [](const Touch& one, const Touch& other) {
    return std::tie(one.cell, one.sum, one.vertex) < std::tie(other.cell, other.sum, other.vertex);
  });
  return found;
}

void PartitionPair::split(std::span<const Touch> left, std::span<const Touch> right) {
  const int cell = left.front().cell;
  const int size = size_[at(cell)];
  const int touched = static_cast<int>(left.size());
  if (size == 1 || (touched == size && left.front().sum == left.back().sum)) return;
  // Touched vertices go to the end of the cell, ordered by their sums.
  int position = cell + size;
  int fragment_end = position;
  std::vector<int> fragments;
  for (std::size_t k = left.size(); k-- > 0;) {
    --position;
    move_to(sides_[0], left[k].vertex, position);
    move_to(sides_[1], right[k].vertex, position);
    if (k > 0 && left[k - 1].sum == left[k].sum) continue;
    if (position == cell) break;
    for (int member = position; member < fragment_end; ++member) {
      for (Side& side : sides_) side.cell[at(side.order[at(member)])] = position;
    }
    size_[at(position)] = fragment_end - position;
    fragments.push_back(position);
    fragment_end = position;
  }
  size_[at(cell)] = fragment_end - cell;
  fragments.push_back(cell);
  if (waits_[at(cell)]) {
    for (const int fragment : fragments) enqueue(fragment);
    return;
  }
  // All but one fragment are enough (Hopcroft): the largest is left out.
  const auto largest =
      std::max_element(fragments.begin(), fragments.end(),
                       [&](int one, int other) { return size_[at(one)] < size_[at(other)]; });
  for (auto fragment = fragments.begin(); fragment != fragments.end(); ++fragment) {
    if (fragment != largest) enqueue(*fragment);
  }
}

bool PartitionPair::refine() {
  while (!pending_.empty()) {
    const int splitter = pending_.back();
    pending_.pop_back();
    waits_[at(splitter)] = 0;
    const std::vector<Touch> left = touches(sides_[0], splitter);
    const std::vector<Touch> right = touches(sides_[1], splitter);
    if (left.size() != right.size()) return false;
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (left[k].cell != right[k].cell || left[k].sum != right[k].sum) return false;
    }
    for (std::size_t begin = 0; begin < left.size();) {
      std::size_t end = begin;
      while (end < left.size() && left[end].cell == left[begin].cell) ++end;
      split(std::span(left).subspan(begin, end - begin),
            std::span(right).subspan(begin, end - begin));
      begin = end;
    }
  }
  return true;
}

int PartitionPair::open_cell() const {
  int best = -1;
  for (int cell = 0; cell < static_cast<int>(size_.size()); cell += size_[at(cell)]) {
    const int size = size_[at(cell)];
    if (size > 1 && (best < 0 || size < size_[at(best)])) best = cell;
    if (size == 2) break;
  }
  return best;
}

std::vector<int> PartitionPair::candidates(int vertex) const {
  const int cell = sides_[0].cell[at(vertex)];
  const auto begin = sides_[1].order.begin() + cell;
  std::vector<int> result(begin, begin + size_[at(cell)]);
  std::sort(result.begin(), result.end());
  return result;
}

int PartitionPair::first_of(int cell) const {
  const auto begin = sides_[0].order.begin() + cell;
  return *std::min_element(begin, begin + size_[at(cell)]);
}

Permutation PartitionPair::permutation() const {
  Permutation result(sides_[0].order.size());
  for (std::size_t k = 0; k < result.size(); ++k)
    result[at(sides_[0].order[k])] = sides_[1].order[k];
  return result;
}

}  // namespace cclgym::synthesis
