// Spaces of observations and actions, by Gymnasium's conventions
// (https://gymnasium.farama.org/api/spaces/).
//
// A value of any space is flat: `size()` numbers in the caller's buffer, so that a step writes
// without allocating. A Box of shape (2, 3) has 6 numbers in row-major order, a Discrete has 1, a
// MultiDiscrete one per dimension, a Dict those of its sub-spaces concatenated. Observations are
// float (integers as floats), actions int32.
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
  /// The same bounds for every element. An empty shape is a single number. Throws
  /// std::invalid_argument if low > high or a bound is NaN.
  Box(float low, float high, std::vector<std::size_t> shape);
  /// Bounds per element, in row-major order. Throws std::invalid_argument for the same reasons, and
  /// if the sizes differ from the shape's.
  Box(std::vector<float> low, std::vector<float> high, std::vector<std::size_t> shape);
  /// Bounds of a vector; the shape is (low.size(),).
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

/// Several Discrete side by side.
struct MultiDiscrete {
  std::vector<Discrete> dimensions;  ///< not empty

  MultiDiscrete() = default;
  /// Dimension i has the integers 0 .. nvec[i] - 1.
  explicit MultiDiscrete(const std::vector<std::int32_t>& nvec);
  /// Dimension i has the integers start[i] .. start[i] + nvec[i] - 1.
  MultiDiscrete(const std::vector<std::int32_t>& nvec, const std::vector<std::int32_t>& start);

  friend bool operator==(const MultiDiscrete&, const MultiDiscrete&) = default;
};

class Space;

/// Named sub-spaces, in the given order.
struct Dict {
  std::vector<std::pair<std::string, Space>> entries;  ///< not empty; names are distinct
};
[[nodiscard]] bool operator==(const Dict& a, const Dict& b);

class Space {
 public:
  using Kind = std::variant<Box, Discrete, MultiDiscrete, Dict>;

  // The constructors are implicit, because a Space is any one of the four. Each throws
  // std::invalid_argument if the description is invalid (n < 1, no dimension, a duplicate name).
  Space(Box box);                      // NOLINT(google-explicit-constructor)
  Space(Discrete discrete);            // NOLINT(google-explicit-constructor)
  Space(MultiDiscrete multidiscrete);  // NOLINT(google-explicit-constructor)
  Space(Dict dict);                    // NOLINT(google-explicit-constructor)

  [[nodiscard]] const Kind& kind() const { return kind_; }
  /// Number of elements of a value.
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  /// The integers among the numbers of a value, in order: all of a MultiDiscrete, none of a Box.
  [[nodiscard]] std::span<const Discrete> dimensions() const { return dimensions_; }
  /// True if all numbers are integers, as in an action space.
  [[nodiscard]] bool is_discrete() const { return dimensions_.size() == elements_.size(); }
  /// Bytes of a mask: the sum of n over all dimensions. Dimension i has n bytes starting at
  /// mask_offset(i); byte j is 1 if start + j is allowed, else 0.
  [[nodiscard]] std::size_t mask_size() const { return mask_size_; }
  [[nodiscard]] std::size_t mask_offset(std::size_t dimension) const {
    return mask_offsets_[dimension];
  }

  /// True if `value` is in the space; false if it has the wrong size or contains NaN.
  [[nodiscard]] bool contains(std::span<const float> value) const;
  [[nodiscard]] bool contains(std::span<const std::int32_t> value) const;
  /// True if the mask allows each integer of a value of the space.
  [[nodiscard]] bool allows(std::span<const std::uint8_t> mask,
                            std::span<const std::int32_t> value) const;

  /// Draws a value into `out` (size() numbers). A number of a Box is uniform within its bounds;
  /// with one infinite bound, it is the other bound plus or minus an exponential of mean 1; with
  /// two, standard normal. Integers are uniform.
  void sample(Random& random, std::span<float> out) const;
  /// Draws a value of an integer-only space (else throws std::logic_error). With a mask, the draw
  /// is uniform among the allowed values. Throws InvalidMask as check_mask does.
  void sample(Random& random, std::span<std::int32_t> out,
              std::span<const std::uint8_t> mask = {}) const;
  /// Throws InvalidMask if the mask does not have mask_size() bytes, a byte is neither 0 nor 1, or
  /// a dimension has only zeros. The message names the dimension.
  void check_mask(std::span<const std::uint8_t> mask) const;

  /// Text as Gymnasium prints it, except that long lists of bounds are elided in the middle:
  /// "Box(-inf, inf, (17,), float32)", "Discrete(5, start=1)", "MultiDiscrete([3 4])",
  /// "Dict('load': Box(0.0, 1.0, (1,), float32), 'kind': Discrete(2))".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Space& a, const Space& b) { return a.kind_ == b.kind_; }

 private:
  /// One element of a flat value.
  struct Element {
    float low = 0;
    float high = 0;
    std::int32_t first = 0;  ///< integers are first .. last
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

/// Draws the index of a one in `mask`, uniformly. Throws InvalidMask if there is none.
[[nodiscard]] std::size_t sample_index(Random& random, std::span<const std::uint8_t> mask);

/// Draws values of a space from its own random stream, like Gymnasium's `space.seed` and
/// `space.sample`.
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
