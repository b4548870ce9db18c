// Checks that the example of docs/deploy.md is the program that the tests build and run.
#include <cstdlib>

#include "core/files/text_file.hpp"
#include "deploy/sample_policy.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace cclgym {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

TEST_CASE("the example of docs/deploy.md is docs_example.c", "[deploy][docs-example]") {
  const std::string root = test::source_folder();
  const std::string page = read_text_file(root + "/docs/deploy.md", kMostBytes);
  const std::string begin = "<!-- example -->\n```c\n";
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t to = page.find("```", from + begin.size());
  CHECK(page.substr(from + begin.size(), to - from - begin.size()) ==
        read_text_file(root + "/tests/deploy/runtime/docs_example.c", kMostBytes));
}

TEST_CASE("the example decides", "[deploy][docs-example]") {
  const std::string folder = test::build_path("tests/deploy");
  const std::string path = folder + "/example.policy";
  const std::string out = folder + "/example.txt";
  write_text_file(path, format_policy(to_policy_file(test::sample_weights(test::small_shape(), 1),
                                                     {{"ndv4", "allreduce", {1, 0, 2}}})));
  const std::string program = "'" + folder + "/deploy_docs_example' ";
  REQUIRE(std::system((program + "'" + path + "' > '" + out + "'").c_str()) == 0);
  CHECK(read_text_file(out, kMostBytes) == "knob0=level1\nknob1=level0\nknob2=level2\n");
  CHECK(std::system((program + "'" + out + "' 2> '" + out + ".error'").c_str()) != 0);
  CHECK(read_text_file(out + ".error", kMostBytes).find("not a policy file") != std::string::npos);
}

}  // namespace
}  // namespace cclgym
