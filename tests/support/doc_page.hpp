// Pages of docs/ with tables that a test compares with the records from which they are generated.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "core/options/option.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {

/// A page with parts between "<!-- begin generated: NAME -->" and "<!-- end generated -->".
class DocPage {
 public:
  /// Reads a page by its file name, for example "fabrics.md".
  explicit DocPage(const std::string& name)
      : path_(source_path("docs/").append(name)), text_(read_file(path_)), expected_(text_) {}

  /// The page as it is in the file.
  [[nodiscard]] const std::string& text() const { return text_; }

  /// Replaces the generated part `name` in the expected page.
  void put(const std::string& name, const std::string& part) {
    const std::string begin = "<!-- begin generated: " + name + " -->\n";
    INFO(path_ << ", " << name);
    const std::size_t from = expected_.find(begin);
    REQUIRE(from != std::string::npos);
    const std::size_t to = expected_.find("<!-- end generated -->", from);
    REQUIRE(to != std::string::npos);
    expected_ = expected_.substr(0, from) + begin + part + expected_.substr(to);
  }
  void put(const std::string& name, const std::vector<OptionSpec>& specs) {
    put(name, markdown_table(specs));
  }

  /// Checks that the page equals the expected page. With CCLGYM_UPDATE_DOCS=1 in the environment,
  /// writes the expected page first.
  void check() const {
    if (std::getenv("CCLGYM_UPDATE_DOCS") != nullptr) write_file(path_, expected_);
    INFO("this test writes " << path_ << " if CCLGYM_UPDATE_DOCS=1");
    const bool up_to_date = read_file(path_) == expected_;
    CHECK(up_to_date);
  }

 private:
  std::string path_;
  std::string text_;
  std::string expected_;
};

}  // namespace cclgym::test
