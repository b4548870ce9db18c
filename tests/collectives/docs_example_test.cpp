#include "collectives/docs_example.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/places.hpp"

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(cclgym::test::source_path(path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("docs: the example of docs/collectives.md is the one compiled here, and is correct",
          "[collectives][docs-example]") {
  const std::string source = text_of("tests/collectives/docs_example.hpp");
  const std::string begin = "// --- example begins\n";
  const auto from = source.find(begin);
  const auto to = source.find("// --- example ends");
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  const std::string example = source.substr(from + begin.size(), to - from - begin.size());
  CHECK(text_of("docs/collectives.md").find("```cpp\n" + example + "```") != std::string::npos);
  CHECK(compile_and_verify());
}
