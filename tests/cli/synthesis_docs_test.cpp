// The commands of docs/synthesis.md and their outputs.
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

const std::string kRoot = source_folder();
const std::string kSynthesisPage = kRoot + "/docs/synthesis.md";

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The arguments of a line of a shell without the program's name. Quotes keep blanks; paths that
// start with docs/ or experiments/ refer to the source tree.
std::vector<std::string> arguments_of(const std::string& line) {
  std::vector<std::string> words{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  REQUIRE(words.at(0) == "cclgym");
  words.erase(words.begin());
  for (std::string& word : words) {
    if (word.starts_with("docs/") || word.starts_with("experiments/")) word.insert(0, kRoot + "/");
  }
  return words;
}

// Runs the commands of a block and returns the output of the last one.
std::string run_block(const std::vector<std::string>& block, const std::string& folder) {
  std::string line;
  std::string out;
  for (const std::string& part : block) {
    line += part;
    if (line.ends_with('\\')) {
      line.pop_back();
      continue;
    }
    std::vector<std::string> args = arguments_of(line);
    // A limit that no machine reaches; that of the page is enough on most.
    if (args[0] == "synthesize") args.insert(args.end(), {"--time-limit", "86400"});
    const Ended ended = run_program(args, folder);
    INFO(line << "\n" << ended.err);
    REQUIRE(ended.code == 0);
    out = ended.out;
    line.clear();
  }
  return out;
}

// The lines of an output as the page shows them: without blanks at their ends, and cut after as
// many lines as the page has if it ends with "…".
std::vector<std::string> shown(const std::string& out, const std::vector<std::string>& block) {
  std::vector<std::string> lines = split_lines(out);
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  if (!block.empty() && block.back() == "…" && lines.size() >= block.size()) {
    lines.resize(block.size() - 1);
    lines.emplace_back("…");
  }
  return lines;
}

}  // namespace

TEST_CASE("the commands of docs/synthesis.md have the outputs that the page shows",
          "[cli][synthesis]") {
  const TemporaryFolder folder;
  const std::vector<std::string> page = split_lines(read_file(kSynthesisPage));
  std::string expected;
  std::string out;
  int commands = 0;
  int outputs = 0;
  for (std::size_t k = 0; k < page.size(); ++k) {
    expected += page[k] + '\n';
    const bool shell = page[k] == "```sh";
    if (!shell && page[k] != "```text") continue;
    std::vector<std::string> block;
    for (++k; page[k] != "```"; ++k) block.push_back(page[k]);
    if (shell) {
      out = run_block(block, folder.path());
      ++commands;
    } else {
      block = shown(out, block);
      ++outputs;
    }
    for (const std::string& line : block) expected += line + '\n';
    expected += "```\n";
  }
  CHECK(commands >= 9);
  CHECK(outputs >= 6);
  if (std::getenv("CCLGYM_UPDATE_DOCS") != nullptr) write_file(kSynthesisPage, expected);
  INFO("this test writes " << kSynthesisPage << " if CCLGYM_UPDATE_DOCS=1");
  CHECK(split_lines(read_file(kSynthesisPage)) == split_lines(expected));
}

}  // namespace cclgym::test
