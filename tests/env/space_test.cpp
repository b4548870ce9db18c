#include "env/space.hpp"

#include <limits>

#include "catch.hpp"
#include "env/env_error.hpp"

namespace cclgym {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("Spaces print as Gymnasium's do") {
  CHECK(Space(Box(-kInfinity, kInfinity, {17})).text() == "Box(-inf, inf, (17,), float32)");
  CHECK(Space(Box(0, 1, {2, 3})).text() == "Box(0.0, 1.0, (2, 3), float32)");
  CHECK(Space(Box(0, 1, {})).text() == "Box(0.0, 1.0, (), float32)");
  CHECK(Space(Box({0, -1}, {1, 0.5F})).text() == "Box([0.0 -1.0], [1.0 0.5], (2,), float32)");
  CHECK(Space(Discrete{5}).text() == "Discrete(5)");
  CHECK(Space(Discrete{5, 2}).text() == "Discrete(5, start=2)");
  CHECK(Space(MultiDiscrete({3, 4})).text() == "MultiDiscrete([3 4])");
  CHECK(Space(MultiDiscrete({3, 4}, {0, 1})).text() == "MultiDiscrete([3 4], start=[0 1])");
  CHECK(Space(Dict{{{"load", Box(0, 1, {1})}, {"kind", Discrete{2}}}}).text() ==
        "Dict('load': Box(0.0, 1.0, (1,), float32), 'kind': Discrete(2))");
}

}  // namespace
}  // namespace cclgym
