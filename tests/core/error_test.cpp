#include "core/error.hpp"

#include <iomanip>  // its std::quoted must not be chosen instead of cclgym's

#include "support/catch.hpp"

using namespace cclgym;

TEST_CASE("a location shows what is known of it", "[core][error]") {
  CHECK(SourceLocation{"a.yaml", 3, 7}.to_string() == "a.yaml:3:7");
  CHECK(SourceLocation{"a.yaml", 3, 0}.to_string() == "a.yaml:3");
  CHECK(SourceLocation{"a.yaml", 0, 0}.to_string() == "a.yaml");
  CHECK(SourceLocation{"", 3, 7}.to_string() == "line 3:7");
  CHECK(std::string(UserError({"a.yaml", 3, 7}, "bad").what()) == "a.yaml:3:7: bad");
  CHECK(std::string(UserError(SourceLocation{}, "bad").what()) == "bad");
}

TEST_CASE("quoted text is short and printable", "[core][error]") {
  CHECK(quoted("ring") == "'ring'");
  CHECK(quoted(std::string("a\nb\tc\x1b[0m\0", 10)) == "'a\\nb\\tc\\x1b[0m\\x00'");
  CHECK(quoted(std::string(100, 'x')) == "'" + std::string(60, 'x') + "…'");
  CHECK(quoted("12345", 5) == "'12345'");
  // "µ" has two bytes: a cut between them moves before it.
  CHECK(quoted("abc\u00b5def", 4) == "'abc…'");
  CHECK(quoted("abc\u00b5def", 5) == "'abc\u00b5…'");
}

TEST_CASE("the nearest name is a likely slip or nothing", "[core][error]") {
  const std::vector<std::string> names{"fabric", "collective", "algorithm"};
  CHECK(nearest_name("fabrik", names) == "fabric");
  CHECK(nearest_name("FABRIC", names) == "fabric");
  CHECK(nearest_name("algoritmh", names) == "algorithm");
  CHECK(nearest_name("zzz", names).empty());
  CHECK(nearest_name(std::string(1'000'000, 'f'), names).empty());
  CHECK(nearest_name("x", {}).empty());
  CHECK(unknown_name_message("key", "fabrik", names) ==
        "unknown key 'fabrik'; expected one of fabric, collective, algorithm (did you mean "
        "'fabric'?)");
}
