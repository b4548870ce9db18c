// Tests of texts cut and wrapped to a width.
#include "core/text_columns.hpp"

#include "support/catch.hpp"

namespace cclgym {
namespace {

TEST_CASE("lists keep the parts that fit, other lines are wrapped", "[core][text-columns]") {
  CHECK(fitted_lines("short\n  a  b; c\n", 20) == "short\n  a  b; c\n");
  CHECK(fitted_lines("  ring  1KiB a; 2KiB b; 4KiB c; 8KiB d\nnext", 32) ==
        "  ring  1KiB a; 2KiB b; … 2 more\nnext");
  CHECK(fitted_lines("  ring  1KiB a; 2KiB b; 4KiB c; 8KiB d", 31) == "  ring  1KiB a; … 3 more");
  CHECK(fitted_lines("one two three four five", 10) == "one two\n    three\n    four\n    five");
  CHECK(fitted_lines("unbreakable-and-long", 5) == "unbreakable-and-long");
  CHECK(fitted_lines("", 5).empty());
}

}  // namespace
}  // namespace cclgym
