#include "env/gym/space.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "env/gym/env_error.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;
using Mask = std::vector<std::uint8_t>;

Space dict() {
  return Dict{
      {{"load", Box({0, -1}, {1, 1})}, {"kind", Discrete{3, 1}}, {"more", MultiDiscrete({2, 4})}}};
}

TEST_CASE("Spaces print as Gymnasium's do", "[env][space]") {
  CHECK(Space(Box(-kInfinity, kInfinity, {17})).text() == "Box(-inf, inf, (17,), float32)");
  CHECK(Space(Box(0, 1, {2, 3})).text() == "Box(0.0, 1.0, (2, 3), float32)");
  CHECK(Space(Box(0, 1, {})).text() == "Box(0.0, 1.0, (), float32)");
  CHECK(Space(Box({0, -1}, {1, 0.5F})).text() == "Box([0.0 -1.0], [1.0 0.5], (2,), float32)");
  CHECK(Space(Box({0, 1, 2, 3, 4, 5}, {9, 9, 9, 9, 9, 9})).text() ==
        "Box([0.0 1.0 2.0 3.0 4.0 5.0], 9.0, (6,), float32)");
  CHECK(Space(Box({0, 1, 2, 3, 4, 5, 6}, {9, 9, 9, 9, 9, 9, 9})).text() ==
        "Box([0.0 1.0 2.0 ... 4.0 5.0 6.0], 9.0, (7,), float32)");
  CHECK(Space(Discrete{5}).text() == "Discrete(5)");
  CHECK(Space(Discrete{5, 2}).text() == "Discrete(5, start=2)");
  CHECK(Space(MultiDiscrete({3, 4})).text() == "MultiDiscrete([3 4])");
  CHECK(Space(MultiDiscrete({3, 4}, {0, 1})).text() == "MultiDiscrete([3 4], start=[0 1])");
  CHECK(Space(Dict{{{"load", Box(0, 1, {1})}, {"kind", Discrete{2}}}}).text() ==
        "Dict('load': Box(0.0, 1.0, (1,), float32), 'kind': Discrete(2))");
}

TEST_CASE("Values of spaces are flat", "[env][space]") {
  CHECK(Space(Box(0, 1, {2, 3})).size() == 6);
  CHECK(Space(Box(0, 1, {})).size() == 1);
  CHECK(Space(Box(0, 1, {0})).size() == 0);
  CHECK(Space(Discrete{5}).size() == 1);
  CHECK(dict().size() == 5);
  CHECK(dict().dimensions().size() == 3);
  CHECK(dict().mask_size() == 3 + 2 + 4);
  CHECK(dict().mask_offset(2) == 5);
  CHECK_FALSE(dict().is_discrete());
  CHECK(Space(MultiDiscrete({2, 4})).is_discrete());
  CHECK(Space(Dict{{{"a", Discrete{2}}, {"b", MultiDiscrete({2, 4})}}}).is_discrete());
}

TEST_CASE("Spaces are equal if they contain the same", "[env][space]") {
  CHECK(Space(Discrete{5}) == Space(Discrete{5}));
  CHECK_FALSE(Space(Discrete{5}) == Space(Discrete{5, 1}));
  CHECK_FALSE(Space(Discrete{5}) == Space(MultiDiscrete({5})));
  CHECK(dict() == dict());
  CHECK_FALSE(Space(Dict{{{"a", Discrete{2}}}}) == Space(Dict{{{"b", Discrete{2}}}}));
  CHECK_FALSE(Space(Box(0, 1, {2, 3})) == Space(Box(0, 1, {3, 2})));
}

TEST_CASE("Invalid spaces are refused", "[env][space]") {
  CHECK_THROWS_AS(Box(1, 0, {2}), std::invalid_argument);
  CHECK_THROWS_AS(Box(kNotANumber, 0, {2}), std::invalid_argument);
  CHECK_THROWS_AS(Box(Floats{0}, Floats{1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(Box(Floats{0}, Floats{1}, {2}), std::invalid_argument);
  CHECK_THROWS_AS(Space(Discrete{0}), std::invalid_argument);
  CHECK_THROWS_AS(Space(Discrete{2, std::numeric_limits<std::int32_t>::max()}),
                  std::invalid_argument);
  CHECK_THROWS_AS(Space(MultiDiscrete(Ints{})), std::invalid_argument);
  CHECK_THROWS_AS(Space(MultiDiscrete({3, 0})), std::invalid_argument);
  CHECK_THROWS_AS(MultiDiscrete({3, 4}, {0}), std::invalid_argument);
  CHECK_THROWS_AS(Space(Dict{}), std::invalid_argument);
  CHECK_THROWS_AS(Space(Dict{{{"a", Discrete{2}}, {"a", Discrete{3}}}}), std::invalid_argument);
}

TEST_CASE("A space contains the values within its bounds", "[env][space]") {
  const Space box = Box({0, -kInfinity}, {1, kInfinity});
  CHECK(box.contains(Floats{0, 7e20F}));
  CHECK(box.contains(Floats{1, -kInfinity}));
  CHECK_FALSE(box.contains(Floats{1.0001F, 0}));
  CHECK_FALSE(box.contains(Floats{-0.0001F, 0}));
  CHECK_FALSE(box.contains(Floats{0, kNotANumber}));
  CHECK_FALSE(box.contains(Floats{0}));
  CHECK_FALSE(box.contains(Floats{0, 0, 0}));

  const Space discrete = Discrete{3, 2};
  CHECK(discrete.contains(Ints{2}));
  CHECK(discrete.contains(Ints{4}));
  CHECK_FALSE(discrete.contains(Ints{1}));
  CHECK_FALSE(discrete.contains(Ints{5}));
  CHECK_FALSE(discrete.contains(Ints{}));
  CHECK(discrete.contains(Floats{3}));
  CHECK_FALSE(discrete.contains(Floats{2.5F}));
  CHECK_FALSE(discrete.contains(Floats{kNotANumber}));

  CHECK(dict().contains(Floats{0.5F, -1, 3, 1, 3}));
  CHECK_FALSE(dict().contains(Floats{0.5F, -1, 0, 1, 3}));
  CHECK_FALSE(dict().contains(Floats{0.5F, -1, 3, 1, 4}));
}

TEST_CASE("Samples are in their space and depend only on the seed", "[env][space]") {
  const Space boxes[] = {Box({0, -3, -kInfinity, 2, -kInfinity}, {1, -3, 5, kInfinity, kInfinity}),
                         dict(), Space(Discrete{7, -3})};
  for (const Space& space : boxes) {
    SpaceSampler one(space, 5);
    SpaceSampler two(space, 5);
    Floats a(space.size());
    Floats b(space.size());
    bool moved = false;
    for (int i = 0; i < 1000; ++i) {
      const Floats before = a;
      one.sample(a);
      two.sample(b);
      REQUIRE(space.contains(a));
      REQUIRE(a == b);
      moved = moved || (i > 0 && a != before);
    }
    CHECK(moved);
    one.seed(5);
    two.seed(6);
    int same = 0;
    Floats first(space.size());
    SpaceSampler(space, 5).sample(first);
    for (int i = 0; i < 20; ++i) {
      one.sample(a);
      if (i == 0) CHECK(a == first);
      two.sample(b);
      same += a == b ? 1 : 0;
    }
    CHECK(same < 20);
  }
}

TEST_CASE("Samples of a Box follow its bounds: uniform, exponential, normal", "[env][space]") {
  const Space space = Box({2, 2, -kInfinity, -kInfinity}, {4, kInfinity, 2, kInfinity});
  Random random(11);
  std::array<double, 4> sum{};
  std::array<double, 4> square{};
  Floats value(4);
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) {
    space.sample(random, value);
    for (std::size_t j = 0; j < 4; ++j) {
      const auto x = static_cast<double>(value[j]);
      sum[j] += x;
      square[j] += x * x;
    }
  }
  const auto mean = [&](std::size_t j) { return sum[j] / kDraws; };
  const auto variance = [&](std::size_t j) { return square[j] / kDraws - mean(j) * mean(j); };
  CHECK(mean(0) == Approx(3).margin(0.02));
  CHECK(variance(0) == Approx(4.0 / 12).margin(0.02));
  CHECK(mean(1) == Approx(3).margin(0.03));
  CHECK(variance(1) == Approx(1).margin(0.06));
  CHECK(mean(2) == Approx(1).margin(0.03));
  CHECK(mean(3) == Approx(0).margin(0.03));
  CHECK(variance(3) == Approx(1).margin(0.04));
}

TEST_CASE("Masked samples are uniform among the allowed values", "[env][space]") {
  const Space space = MultiDiscrete({3, 4}, {0, 10});
  const Mask mask{1, 0, 1, 0, 0, 1, 0};
  Random random(3);
  std::map<Ints, int> counts;
  Ints value(2);
  for (int i = 0; i < 10000; ++i) {
    space.sample(random, value, mask);
    REQUIRE(space.allows(mask, value));
    ++counts[value];
  }
  CHECK(counts.size() == 2);
  CHECK(counts[Ints{0, 12}] == Approx(5000).margin(300));
  CHECK(counts[Ints{2, 12}] == Approx(5000).margin(300));
  CHECK_FALSE(space.allows(mask, Ints{1, 12}));
  CHECK_FALSE(space.allows(mask, Ints{0, 13}));
  CHECK_FALSE(space.allows(mask, Ints{0, 14}));
}

TEST_CASE("Masks without a choice and malformed masks are refused by name", "[env][space]") {
  const Space space = MultiDiscrete({3, 4});
  Random random(3);
  Ints value(2);
  const auto message = [&](const Mask& mask) {
    try {
      space.sample(random, value, mask);
    } catch (const InvalidMask& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  CHECK(message({1, 1, 1, 0, 0, 0, 0}) ==
        "the mask of dimension 1 of MultiDiscrete([3 4]) leaves no choice: all zeros");
  CHECK(message({0, 0, 0, 1, 0, 0, 0}) ==
        "the mask of dimension 0 of MultiDiscrete([3 4]) leaves no choice: all zeros");
  CHECK(message({1, 1, 1}) == "the mask of MultiDiscrete([3 4]) must have 7 bytes, found 3");
  CHECK(message({1, 1, 2, 1, 0, 0, 0}) ==
        "the mask of dimension 0 of MultiDiscrete([3 4]) has bytes other than 0 and 1");
  CHECK_THROWS_AS(Space(Discrete{2}).check_mask(Mask{0, 0}), InvalidMask);
  CHECK_NOTHROW(Space(Discrete{2}).check_mask(Mask{0, 1}));
  CHECK_THROWS_AS(sample_index(random, Mask{}), InvalidMask);
}

TEST_CASE("Samples of the wrong kind or size are refused", "[env][space]") {
  Random random(3);
  Ints integers(2);
  Floats floats(2);
  CHECK_THROWS_AS(Space(Box(0, 1, {2})).sample(random, integers), std::logic_error);
  CHECK_THROWS_AS(Space(Discrete{2}).sample(random, integers), std::logic_error);
  CHECK_THROWS_AS(Space(Discrete{2}).sample(random, floats), std::logic_error);
}

}  // namespace
}  // namespace cclgym
