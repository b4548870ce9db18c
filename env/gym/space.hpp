// Spaces: what observations and actions may be, by Gymnasium's conventions
// (https://gymnasium.farama.org/api/spaces/).
//
// A value of any space is flat: `size()` numbers in a buffer of the caller, so that a step writes
// without allocating. A Box of shape (2, 3) has 6 numbers in row-major order, a Discrete 1, a
// MultiDiscrete one a dimension, a Dict those of its sub-spaces one after the other. Observations
// are float (integers as floats), actions int32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/random.hpp"

namespace cclgym {

/// Real numbers within bounds, element by element; the bounds may be infinite and are included.
class Box {
 public:
  /// The same bounds for every element. An empty shape is a single number.
  /// Throws std::invalid_argument if low > high or one of them is not a number.
  Box(float low, float high, std::vector<std::size_t> shape);
  /// Bounds by element, in row-major order. Throws std::invalid_argument, also if the sizes differ
  /// from the shape's.
  Box(std::vector<float> low, std::vector<float> high, std::vector<std::size_t> shape);
  /// A vector: shape (low.size(),).
  Box(std::vector<float> low, std::vector<float> high);

  [[nodiscard]] const std::vector<float>& low() const { return low_; }
  [[nodiscard]] const std::vector<float>& high() const { return high_; }
  [[nodiscard]] const std::vector<std::size_t>& shape() const { return shape_; }

  friend bool operator==(const Box&, const Box&) = default;

 private:
  std::vector<float> low_;
  std::vector<float> high_;
  std::vector<std::size_t> shape_;
};

/// The integers start .. start + n - 1.
struct Discrete {
  std::int32_t n = 1;  ///< >= 1
  std::int32_t start = 0;

  friend bool operator==(const Discrete&, const Discrete&) = default;
};

/// Several Discrete beside each other.
struct MultiDiscrete {
  std::vector<Discrete> dimensions;  ///< at least one

  MultiDiscrete() = default;
  /// Dimension i has the integers 0 .. nvec[i] - 1.
  explicit MultiDiscrete(const std::vector<std::int32_t>& nvec);
  /// Dimension i has the integers start[i] .. start[i] + nvec[i] - 1.
  MultiDiscrete(const std::vector<std::int32_t>& nvec, const std::vector<std::int32_t>& start);

  friend bool operator==(const MultiDiscrete&, const MultiDiscrete&) = default;
};

class Space;

/// Named sub-spaces, in the order they are given in.
struct Dict {
  std::vector<std::pair<std::string, Space>> entries;  ///< at least one; names are distinct
};
[[nodiscard]] bool operator==(const Dict& a, const Dict& b);

class Space {
 public:
  using Kind = std::variant<Box, Discrete, MultiDiscrete, Dict>;

  // Not explicit: a Space is any one of the four. Each throws std::invalid_argument if its
  // description is not a space (n < 1, no dimension, a name twice).
  Space(Box box);                      // NOLINT(google-explicit-constructor)
  Space(Discrete discrete);            // NOLINT(google-explicit-constructor)
  Space(MultiDiscrete multidiscrete);  // NOLINT(google-explicit-constructor)
  Space(Dict dict);                    // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Kind& kind() const { return kind_; }
  /// Numbers in a value.
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  /// The integers among the numbers of a value, in order: of a MultiDiscrete all, of a Box none.
  [[nodiscard]] std::span<const Discrete> dimensions() const { return dimensions_; }
  /// Whether all numbers are integers, as in an action space.
  [[nodiscard]] bool is_discrete() const { return dimensions_.size() == elements_.size(); }
  /// Bytes of a mask: the sum of n over all dimensions. Dimension i has the n bytes from
  /// mask_offset(i) on; byte j is 1 if start + j may be chosen, else 0.
  [[nodiscard]] std::size_t mask_size() const { return mask_size_; }
  [[nodiscard]] std::size_t mask_offset(std::size_t dimension) const {
    return mask_offsets_[dimension];
  }

  /// Whether `value` is in the space; not if it has the wrong size or one of its numbers is NaN.
  [[nodiscard]] bool contains(std::span<const float> value) const;
  [[nodiscard]] bool contains(std::span<const std::int32_t> value) const;
  /// Whether each integer of a value of the space is among those that the mask allows.
  [[nodiscard]] bool allows(std::span<const std::uint8_t> mask,
                            std::span<const std::int32_t> value) const;

  /// Draws a value into `out` (size() numbers). A number of a Box is uniform in its bounds; with
  /// one infinite bound, the other one plus or minus an exponential of mean 1; with two, standard
  /// normal. Integers are uniform.
  void sample(Random& random, std::span<float> out) const;
  /// Likewise for a space of integers only (else std::logic_error). With a mask, uniform among
  /// those that it allows. Throws InvalidMask as check_mask does.
  void sample(Random& random, std::span<std::int32_t> out,
              std::span<const std::uint8_t> mask = {}) const;
  /// Throws InvalidMask if the mask has not mask_size() bytes, one of them is neither 0 nor 1, or
  /// a dimension has only zeros. The message names the dimension.
  void check_mask(std::span<const std::uint8_t> mask) const;

  /// As Gymnasium prints it, but for long lists of bounds, of which the middle is left out:
  /// "Box(-inf, inf, (17,), float32)", "Discrete(5, start=1)", "MultiDiscrete([3 4])",
  /// "Dict('load': Box(0.0, 1.0, (1,), float32), 'kind': Discrete(2))".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Space& a, const Space& b) { return a.kind_ == b.kind_; }

 private:
  /// A number of a flat value.
  struct Element {
    float low = 0;
    float high = 0;
    std::int32_t first = 0;  ///< of an integer: first .. last
    std::int32_t last = 0;
    bool integer = false;
  };
  void flatten(const Kind& kind);
  void add_dimension(const Discrete& discrete);

  Kind kind_;
  std::vector<Element> elements_;
  std::vector<Discrete> dimensions_;
  std::vector<std::size_t> mask_offsets_;
  std::size_t mask_size_ = 0;
};

/// An index of a one in `mask`, uniformly. Throws InvalidMask if there is none.
[[nodiscard]] std::size_t sample_index(Random& random, std::span<const std::uint8_t> mask);

/// Draws values of a space from a stream of its own, as Gymnasium's `space.seed` and `space.sample`
/// do.
class SpaceSampler {
 public:
  SpaceSampler(Space space, std::uint64_t seed) : space_(std::move(space)), random_(seed) {}

  [[nodiscard]] const Space& space() const { return space_; }
  void seed(std::uint64_t seed) { random_ = Random(seed); }
  void sample(std::span<float> out) { space_.sample(random_, out); }
  void sample(std::span<std::int32_t> out, std::span<const std::uint8_t> mask = {}) {
    space_.sample(random_, out, mask);
  }

 private:
  Space space_;
  Random random_;
};

}  // namespace cclgym
