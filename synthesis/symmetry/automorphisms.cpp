#include "synthesis/symmetry/automorphisms.hpp"

#include <algorithm>
#include <numeric>

#include "core/index.hpp"
#include "synthesis/symmetry/partition_pair.hpp"

namespace cclgym::synthesis {
namespace {

/// Depth-first search for one automorphism below a pair of partitions.
class LeafSearch {
 public:
  LeafSearch(const ColouredDigraph& graph, std::int64_t node_limit)
      : graph_(&graph), left_(node_limit) {}

  [[nodiscard]] std::optional<Permutation> find(const PartitionPair& pair) {
    const int cell = pair.open_cell();
    if (cell < 0) {
      Permutation permutation = pair.permutation();
      if (is_automorphism(*graph_, permutation)) return permutation;
      return std::nullopt;
    }
    const int vertex = pair.first_of(cell);
    std::vector<int> images = pair.candidates(vertex);
    // Vertices that can stay in place do, so that generators move few vertices.
    const auto itself = std::find(images.begin(), images.end(), vertex);
    if (itself != images.end()) std::rotate(images.begin(), itself, itself + 1);
    for (const int image : images) {
      if (left_ <= 0) return std::nullopt;
      --left_;
      PartitionPair next = pair;
      if (!next.map(vertex, image)) continue;
      if (std::optional<Permutation> found = find(next)) return found;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool exhausted() const { return left_ <= 0; }
  /// Counts a refinement; false if none is left.
  bool spend() { return left_-- > 0; }

 private:
  const ColouredDigraph* graph_;
  std::int64_t left_;
};

/// Search for automorphisms whose cycles on the points all have one length.
class CycleSearch {
 public:
  CycleSearch(const ColouredDigraph& graph, int points, int length, std::int64_t node_limit,
              std::size_t max_found)
      : leaves_(graph, node_limit), points_(points), length_(length), max_found_(max_found) {}

  /// All that take point 0 to `image`, as far as the limits allow.
  std::vector<Permutation> find(const PartitionPair& pair, int image) {
    used_.assign(at(points_), 0);
    done_.assign(at(points_), 0);
    found_.clear();
    extend(pair, 0, 0, 1, image);
    return std::move(found_);
  }

 private:
  // `vertex` is the `count`-th point of the cycle that began at `start`.
  void extend(const PartitionPair& pair, int start, int vertex, int count, int forced) {
    if (found_.size() >= max_found_) return;
    std::vector<int> images;
    if (forced >= 0) {
      images = {forced};
    } else if (count == length_) {
      images = {start};
    } else {
      for (const int image : pair.candidates(vertex)) {
        if (image < points_ && image != start && !used_[at(image)]) images.push_back(image);
      }
    }
    done_[at(vertex)] = 1;
    for (const int image : images) {
      if (!leaves_.spend()) break;
      PartitionPair next = pair;
      if (!next.map(vertex, image)) continue;
      used_[at(image)] = 1;
      if (image != start) {
        extend(next, start, image, count + 1, -1);
      } else {
        const auto open = std::find(done_.begin(), done_.end(), 0);
        if (open != done_.end()) {
          const int first = static_cast<int>(open - done_.begin());
          extend(next, first, first, 1, -1);
        } else if (std::optional<Permutation> leaf = leaves_.find(next)) {
          found_.push_back(std::move(*leaf));
        }
      }
      used_[at(image)] = 0;
    }
    done_[at(vertex)] = 0;
  }

  LeafSearch leaves_;
  int points_;
  int length_;
  std::size_t max_found_;
  std::vector<char> used_;  ///< by point: it is an image
  std::vector<char> done_;  ///< by point: it has an image
  std::vector<Permutation> found_;
};

std::vector<int> divisors(int number) {
  std::vector<int> result;
  for (int k = 1; k <= number; ++k) {
    if (number % k == 0) result.push_back(k);
  }
  return result;
}

/// Rotations by `shift` within blocks of consecutive points, extended to automorphisms.
std::vector<Permutation> rotations(const ColouredDigraph& graph, const AdjacentVertices& adjacent,
                                   int points, const SymmetryOptions& options) {
  std::vector<Permutation> found;
  const PartitionPair whole(graph, adjacent);
  for (const int block : divisors(points)) {
    for (const int shift : divisors(block)) {
      if (shift == block) continue;
      PartitionPair pair = whole;
      bool possible = true;
      for (int point = 0; point < points && possible; ++point) {
        possible = pair.map(point, point / block * block + (point % block + shift) % block);
      }
      if (!possible) continue;
      LeafSearch leaves(graph, options.node_limit);
      if (std::optional<Permutation> leaf = leaves.find(pair)) found.push_back(std::move(*leaf));
    }
  }
  return found;
}

std::vector<Permutation> semiregular_elements(const ColouredDigraph& graph, int points,
                                              const SymmetryOptions& options) {
  constexpr int kSearchPoints = 32;
  constexpr std::size_t kFoundPerStart = 8;
  const AdjacentVertices adjacent(graph);
  std::vector<Permutation> found = rotations(graph, adjacent, points, options);
  if (points <= kSearchPoints) {
    const PartitionPair whole(graph, adjacent);
    const std::vector<int> images = whole.candidates(0);
    std::vector<int> lengths = divisors(points);
    std::reverse(lengths.begin(), lengths.end());
    const std::int64_t starts = std::ssize(images) * std::ssize(lengths);
    for (const int length : lengths) {
      for (const int image : images) {
        if (length == 1 || image == 0 || image >= points) continue;
        CycleSearch search(graph, points, length, options.node_limit / starts + 1, kFoundPerStart);
        for (Permutation& element : search.find(whole, image)) found.push_back(std::move(element));
      }
    }
  }
  // First occurrence of each: rotations stay in front.
  std::vector<Permutation> distinct;
  for (Permutation& element : found) {
    if (std::ssize(distinct) >= options.max_elements) break;
    if (std::find(distinct.begin(), distinct.end(), element) == distinct.end()) {
      distinct.push_back(std::move(element));
    }
  }
  return distinct;
}

}  // namespace

std::optional<Permutation> find_automorphism(const ColouredDigraph& graph,
                                             std::span<const int> images,
                                             const SymmetryOptions& options) {
  const AdjacentVertices adjacent(graph);
  PartitionPair pair(graph, adjacent);
  for (std::size_t vertex = 0; vertex < images.size(); ++vertex) {
    if (images[vertex] < 0) continue;
    if (!pair.map(static_cast<int>(vertex), images[vertex])) return std::nullopt;
  }
  return LeafSearch(graph, options.node_limit).find(pair);
}

AutomorphismGroup automorphism_group(const ColouredDigraph& graph, const SymmetryOptions& options) {
  struct Level {
    PartitionPair pair;
    int vertex;
  };
  const AdjacentVertices adjacent(graph);
  std::vector<Level> levels;
  PartitionPair pair(graph, adjacent);
  for (int cell = pair.open_cell(); cell >= 0; cell = pair.open_cell()) {
    const int vertex = pair.first_of(cell);
    levels.push_back({pair, vertex});
    static_cast<void>(pair.map(vertex, vertex));
  }
  AutomorphismGroup group;
  LeafSearch leaves(graph, options.node_limit);
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    // All generators so far fix the vertices of the levels above.
    std::vector<int> failed;
    std::vector<int> orbit = orbits(graph.vertices(), group.generators);
    for (const int image : level->pair.candidates(level->vertex)) {
      const int representative = orbit[at(image)];
      const bool known = representative == orbit[at(level->vertex)] ||
                         std::any_of(failed.begin(), failed.end(), [&](int vertex) {
                           return orbit[at(vertex)] == representative;
                         });
      if (known) continue;
      PartitionPair next = level->pair;
      std::optional<Permutation> found;
      if (leaves.spend() && next.map(level->vertex, image)) found = leaves.find(next);
      if (leaves.exhausted() && !found) {
        group.complete = false;
        return group;
      }
      if (found) {
        group.generators.push_back(std::move(*found));
        orbit = orbits(graph.vertices(), group.generators);
      } else {
        failed.push_back(image);
      }
    }
    group.order *=
        static_cast<double>(std::count(orbit.begin(), orbit.end(), orbit[at(level->vertex)]));
  }
  return group;
}

std::optional<PermutationGroup> generated_group(int vertices,
                                                std::span<const Permutation> generators,
                                                int max_order) {
  Permutation identity(at(vertices));
  std::iota(identity.begin(), identity.end(), 0);
  PermutationGroup group{{identity}};
  // Every new element is multiplied by every generator: a finite group needs no inverses.
  for (std::size_t next = 0; next < group.elements.size(); ++next) {
    for (const Permutation& generator : generators) {
      Permutation product = composed(group.elements[next], generator);
      if (std::find(group.elements.begin(), group.elements.end(), product) !=
          group.elements.end()) {
        continue;
      }
      if (group.order() >= max_order) return std::nullopt;
      group.elements.push_back(std::move(product));
    }
  }
  std::sort(group.elements.begin(), group.elements.end());
  return group;
}

bool is_semiregular(const PermutationGroup& group, int points) {
  for (const Permutation& element : group.elements) {
    if (&element == &group.elements.front()) continue;
    for (int point = 0; point < points; ++point) {
      if (element[at(point)] == point) return false;
    }
  }
  return true;
}

std::vector<PermutationGroup> semiregular_groups(const ColouredDigraph& graph, int points,
                                                 const SymmetryOptions& options) {
  const std::vector<Permutation> elements = semiregular_elements(graph, points, options);
  std::vector<PermutationGroup> groups;
  std::vector<std::vector<Permutation>> generators_of;
  const auto add = [&](std::vector<Permutation> generators) {
    std::optional<PermutationGroup> group = generated_group(graph.vertices(), generators, points);
    if (!group || !is_semiregular(*group, points)) return;
    const bool known = std::any_of(groups.begin(), groups.end(), [&](const auto& other) {
      return other.elements == group->elements;
    });
    if (known) return;
    groups.push_back(std::move(*group));
    generators_of.push_back(std::move(generators));
  };
  const auto full = [&] { return std::ssize(groups) >= options.max_groups; };
  for (const Permutation& element : elements) {
    if (!full()) add({element});
  }
  // Larger groups, one more generator at a time.
  for (std::size_t next = 0; next < groups.size() && !full(); ++next) {
    for (const Permutation& element : elements) {
      const PermutationGroup& group = groups[next];
      if (full() || group.order() * 2 > points) break;
      if (std::binary_search(group.elements.begin(), group.elements.end(), element)) continue;
      std::vector<Permutation> generators = generators_of[next];
      generators.push_back(element);
      add(std::move(generators));
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& one, const auto& other) { return one.order() > other.order(); });
  return groups;
}

InstanceSymmetry instance_symmetry(const Instance& instance, const Permutation& permutation) {
  InstanceSymmetry result;
  const auto part = [&](std::size_t first, std::size_t count) {
    Permutation images;
    for (std::size_t k = first; k < first + count; ++k) {
      images.push_back(permutation[k] - static_cast<int>(first));
    }
    return images;
  };
  const std::size_t ranks = at(instance.ranks);
  result.ranks = part(0, ranks);
  result.hops = part(ranks, instance.hops.size());
  result.limits = part(ranks + instance.hops.size(), instance.limits.size());
  return result;
}

std::vector<InstanceGroup> semiregular_groups(const Instance& instance,
                                              const SymmetryOptions& options) {
  std::vector<InstanceGroup> result;
  for (const PermutationGroup& group :
       semiregular_groups(coloured_digraph(instance), instance.ranks, options)) {
    InstanceGroup& symmetries = result.emplace_back();
    for (const Permutation& element : group.elements) {
      symmetries.push_back(instance_symmetry(instance, element));
    }
  }
  return result;
}

}  // namespace cclgym::synthesis
