// Colour refinement of a graph against itself: the step of a search for automorphisms.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "synthesis/symmetry/coloured_digraph.hpp"

namespace cclgym::synthesis {

/// Neighbours of each vertex in both directions, with a hash of the edge's colour and direction.
class AdjacentVertices {
 public:
  struct Entry {
    int vertex = 0;
    std::uint64_t tag = 0;
  };

  explicit AdjacentVertices(const ColouredDigraph& graph);
  [[nodiscard]] std::span<const Entry> of(int vertex) const;
  [[nodiscard]] int vertices() const { return static_cast<int>(first_.size()) - 1; }

 private:
  std::vector<std::size_t> first_;
  std::vector<Entry> entries_;
};

/// Two partitions of the vertices into cells of the same sizes, such that every automorphism that
/// agrees with the pairs mapped so far takes each cell of the left partition to the same cell of
/// the right one. A cell is named by its first position. Copy it to backtrack.
class PartitionPair {
 public:
  PartitionPair(const ColouredDigraph& graph, const AdjacentVertices& adjacent);

  /// Requires that a vertex goes to its image, and refines. False if no automorphism does; the
  /// object must not be used any more.
  [[nodiscard]] bool map(int vertex, int image);
  /// First position of the smallest cell of more than one vertex; -1 if there is none, so that at
  /// most one automorphism is left.
  [[nodiscard]] int open_cell() const;
  /// Possible images of a vertex, ascending.
  [[nodiscard]] std::vector<int> candidates(int vertex) const;
  /// Smallest vertex of a cell on the left.
  [[nodiscard]] int first_of(int cell) const;
  /// Permutation that is left if there is no open cell.
  [[nodiscard]] Permutation permutation() const;

 private:
  struct Side {
    std::vector<int> order;     ///< vertices, cell by cell
    std::vector<int> position;  ///< by vertex
    std::vector<int> cell;      ///< by vertex
  };
  /// A vertex with neighbours in the splitting cell, and the sum of their tags.
  struct Touch {
    int cell = 0;
    std::uint64_t sum = 0;
    int vertex = 0;
  };

  [[nodiscard]] bool refine();
  [[nodiscard]] std::vector<Touch> touches(const Side& side, int splitter) const;
  void split(std::span<const Touch> left, std::span<const Touch> right);
  static void move_to(Side& side, int vertex, int position);
  void enqueue(int cell);

  const AdjacentVertices* adjacent_;
  std::array<Side, 2> sides_;
  std::vector<int> size_;  ///< by first position of the cell
  std::vector<int> pending_;
  std::vector<char> waits_;
};

}  // namespace cclgym::synthesis
