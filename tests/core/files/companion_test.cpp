// Files that come with the program, beside it or in an installation. A copy of this test program
// plays the installed program.
#include "core/files/companion.hpp"

#include <cstdio>
#include <filesystem>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym {
namespace {

namespace fs = std::filesystem;

// Path that a copy of the program in `folder` finds for "tool".
std::string found_from(const std::string& folder) {
  const std::string copy = folder + "/program";
  fs::create_directories(folder);
  fs::copy_file("/proc/self/exe", copy, fs::copy_options::skip_existing);
  std::FILE* pipe = ::popen((copy + " '[.companion]'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  CHECK(::pclose(pipe) == 0);
  const std::size_t begin = text.find("found <");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin + 7, text.find('>', begin) - begin - 7);
}

}  // namespace

TEST_CASE("the copy prints where a companion is", "[.companion]") {
  std::printf("found <%s>\n", companion_file("tool").c_str());
  std::fflush(stdout);
}

TEST_CASE("companions are beside a program, or where an installation has them", "[core][files]") {
  const test::TemporaryFolder folder;
  const std::string bin = fs::canonical(folder.path()).string() + "/bin";
  fs::create_directories(bin);
  const fs::path installed = (fs::path(bin) / CCLGYM_COMPANIONS / "tool").lexically_normal();
  CHECK(found_from(bin) == bin + "/tool");  // for the message that there is none
  test::write_file(installed.string(), "installed");
  CHECK(found_from(bin) == installed.string());
  test::write_file(bin + "/tool", "built");
  CHECK(found_from(bin) == bin + "/tool");
}

}  // namespace cclgym
