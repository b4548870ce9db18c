#include "collectives/dsl_example.hpp"

#include "core/files/text_file.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace cclgym;

TEST_CASE("docs: every listing of docs/dsl.md is compiled here and works",
          "[collectives][dsl-example]") {
  const std::string root = test::source_folder();
  const std::string source = read_text_file(root + "/tests/collectives/dsl_example.hpp", 1 << 20);
  const std::string page = read_text_file(root + "/docs/dsl.md", 1 << 20);
  const std::string fence = "```cpp\n";
  int listings = 0;
  for (std::size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    const std::string listing = page.substr(at, page.find("```", at) - at);
    CHECK(source.find(listing) != std::string::npos);
    ++listings;
  }
  CHECK(listings == 3);
  for (const int ranks : {3, 8}) {
    const XmlProgram read = parse_msccl_xml(test::halo_xml(ranks, 3), "halo.xml");
    CHECK(read.program.channels == 6);
    CHECK(verify(read.program).ok);
  }
}
