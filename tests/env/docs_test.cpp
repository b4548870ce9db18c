// Checks that docs/gym.md shows the examples verbatim and names every environment and wrapper.
#include <fstream>
#include <sstream>
#include <string>

#include "env/gym/wrappers/wrapper_registry.hpp"
#include "env/registry.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace cclgym {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(test::source_path(path));
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("docs/gym.md shows the examples that the tests run", "[env][docs]") {
  const std::string page = text_of("docs/gym.md");
  CHECK(page.find("```cpp\n" + text_of("docs/examples/gym.cpp") + "```") != std::string::npos);
  CHECK(page.find("```python\n" + text_of("docs/examples/gym.py") + "```") != std::string::npos);
}

TEST_CASE("docs/gym.md names every environment, every wrapper and its options", "[env][docs]") {
  const std::string page = text_of("docs/gym.md");
  for (const EnvironmentEntry& entry : environment_entries()) {
    INFO(entry.name);
    CHECK(page.find("| `" + entry.name + "` | " + entry.description) != std::string::npos);
  }
  for (const WrapperEntry& entry : wrapper_entries()) {
    INFO(entry.name);
    std::string options;
    for (const OptionSpec& option : entry.options) {
      options += (options.empty() ? "`" : ", `") + option.name + "`";
    }
    CHECK(page.find("| `" + entry.name + "` | " + options + (options.empty() ? "|" : " |")) !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace cclgym
