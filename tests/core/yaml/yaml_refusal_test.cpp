// Tests of the YAML reader's errors and their messages.
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "core/random.hpp"
#include "core/yaml/yaml.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace cclgym;
using cclgym::test::contains;

namespace {

std::string refused(std::string_view text) {
  const std::string message = thrown([&] { return parse_yaml(text, "f"); });
  // Every message is one short printable line.
  CHECK(message.size() < 300);
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

}  // namespace

TEST_CASE("duplicate keys", "[core][yaml-refusal]") {
  CHECK(refused("a: 1\nb: 2\na: 3\n") ==
        "f:3:1: found the key 'a' a second time; expected it once (first in line 1)");
  CHECK(contains(refused("x: {k: 1, 'k': 2}"), "f:1:11: found the key 'k' a second time"));
}

TEST_CASE("a quote that is not closed is named at its place", "[core][yaml-refusal]") {
  CHECK(refused("a: \"b\n") == "f:1:4: quote not closed; expected another \"");
  CHECK(refused("a: 1\nb: 'c\n") == "f:2:4: quote not closed; expected another '");
  CHECK(refused("a: 1\nb: 'c''\n\n") == "f:2:4: quote not closed; expected another '");
  CHECK(refused("b: \"c\\\"\n") == "f:1:4: quote not closed; expected another \"");
  CHECK(refused("é: [1, \"c\n") == "f:1:9: quote not closed; expected another \"");
  CHECK(refused("b: &x \"c\n") == "f:1:7: quote not closed; expected another \"");
  CHECK(refused("\xEF\xBB\xBF"
                "b: 'c\n") == "f:1:4: quote not closed; expected another '");
  CHECK(refused("a: 1\r\nb: 'c\r\n") == "f:2:4: quote not closed; expected another '");
  for (const std::string good :
       {"a: \"b\"\n", "a: 'it''s'\n", "a: ''\n", "a: \"\"", "a: \"x\\\\\"", "a: 'x\n\n  y'\n",
        "a: b'\n", "a: &x 'b' # isn't\n", "a: |\n  'b\n", "a: 'b'\n# don't\n", "a: !!str 'b'\n"}) {
    CAPTURE(good);
    CHECK_NOTHROW(parse_yaml(good, "f"));
  }
}

TEST_CASE("tabs as indentation are named", "[core][yaml-refusal]") {
  CHECK(refused("a:\n\tb: 1\n") == "f:2:1: found a tab in the indentation; expected spaces only");
  CHECK(refused("a:\n  \tb: 1\n") == "f:2:3: found a tab in the indentation; expected spaces only");
  CHECK(refused("a: 1\n\t# comment\n") ==
        "f:2:1: found a tab in the indentation; expected spaces only");
  // Tabs elsewhere are harmless.
  CHECK(parse_yaml("a:\t1\t# comment\n", "f").find("a")->as_text() == "1");
}

TEST_CASE("anchor bombs, cycles and depth", "[core][yaml-refusal]") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i <= 9; ++i) {
    const std::string n = std::to_string(i), alias = "*a" + std::to_string(i - 1);
    bomb += "a" + n + ": &a" + n + " [" + alias;
    for (int k = 0; k < 9; ++k) bomb += ", " + alias;
    bomb += "]\n";
  }
  CHECK(contains(refused(bomb), "found more than 1000000 values, aliases counted as copies"));
  CHECK(refused("a: &a [*a]") == "f:1:8: found an alias of a value inside that value itself");
  CHECK(refused("&a a: *a") == "(nothing thrown)");
  CHECK(contains(refused("a: *nobody"), "not valid YAML: the referenced anchor is not defined"));

  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "x" + std::string(depth, ']');
  };
  CHECK(parse_yaml(nested(63), "f").is_sequence());
  CHECK(contains(refused(nested(65)), "nested more than 64 deep"));
  CHECK(contains(refused(nested(30'000)), "nested more than 64 deep"));
  CHECK(contains(refused(std::string(30'000, '{')), "f:1:"));
  std::string block;
  for (std::size_t i = 0; i < 100; ++i) block += std::string(i, ' ') + "a:\n";
  CHECK(contains(refused(block), "nested more than 64 deep"));
  CHECK(contains(refused("a: " +
                         [] {
                           std::string text;
                           for (int i = 0; i < 500; ++i) text += "- ";
                           return "\n  " + text;
                         }()),
                 "nested more than 64 deep"));
  // Nesting through aliases also counts.
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i) {
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  }
  CHECK(contains(refused(chain), "nested more than 64 deep"));
}

TEST_CASE("things that are not one YAML document of names and values", "[core][yaml-refusal]") {
  CHECK(refused("") == "f: found nothing; expected a YAML document");
  CHECK(refused("# only a comment\n") == "f: found nothing; expected a YAML document");
  CHECK(refused("---\n...\n") == "f: found nothing; expected a YAML document");
  CHECK(contains(refused("a: 1\n---\nb: 2\n"),
                 "found a second document; expected only one in a file"));
  CHECK(refused("? [a]\n: 1\n") == "f:1:3: found a list as a key; expected a name");
  CHECK(refused("? {a: b}\n: 1\n") == "f:1:3: found a mapping as a key; expected a name");
  CHECK(contains(refused(": 1\n"), "found an empty key; expected 'key: value'"));
  CHECK(contains(refused("a: !exec ls"), "found the tag '!exec'; expected no tag"));
  CHECK(parse_yaml("a: !!str 1", "f").find("a")->as_text() == "1");
  CHECK(contains(refused("a: [1, 2\nb: 3"), "f:2:"));
  CHECK(contains(refused("a: b: c"), "not valid YAML: "));
  CHECK(contains(
      refused("a:\n  - 1\n - 2\n"),
      ":3:2: not valid YAML: wrong indentation: this line is in no column of its mapping"));
  CHECK(contains(refused("a:\n  - b: 1\n   c: 2\n"),
                 ":3:4: not valid YAML: wrong indentation: this line is in no column of its list"));
  CHECK(contains(refused("a: 1\n  b: 2\n"), ":2:4: not valid YAML: found ':' where no value"));
  CHECK(contains(refused("a: {b: 1\nc: 2\n"), "expected '}'"));
  CHECK(contains(refused("a: [1, 2\nb: 3\n"), "expected ']'"));
  CHECK(contains(refused("a: 'x"), "not valid YAML: "));
}

TEST_CASE("bytes that are not text", "[core][yaml-refusal]") {
  using namespace std::string_view_literals;
  CHECK(refused("a: 1\nb: \0"sv) == "f:2:4: found byte 0x00; expected YAML text");
  CHECK(refused("\x7f"
                "ELF") == "f:1:1: found byte 0x7f; expected YAML text");
  for (const std::string_view bad :
       {"\xff"sv, "\xc0\x80"sv, "\xe0\x80\x80"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv,
        "\xf5\x80\x80\x80"sv, "\xc3"sv, "\xc3\x28"sv, "\xf0\x80\x80\x80"sv, "\x80"sv}) {
    const std::string message = refused("a: " + std::string(bad));
    CHECK(contains(message, "f:1:4: found byte 0x"));
    CHECK(contains(message, "which is not UTF-8"));
  }
  const std::string good = "a: \u00b5 \u20ac \U0001f600";
  CHECK(parse_yaml(good, "f").find("a")->as_text() == "\u00b5 \u20ac \U0001f600");
  CHECK(parse_yaml("\xef\xbb\xbf"
                   "a: 1",
                   "f")
            .find("a")
            ->as_text() == "1");
  CHECK(parse_yaml("a: 1\r\nb: 2\r\n", "f").find("b")->as_text() == "2");
  CHECK(refused("a: " + std::string(70'000, 'x')) == "f:1: line too long; expected at most 64KiB");
}

TEST_CASE("a garbage file of 10 MB is refused at once", "[core][yaml-refusal]") {
  Random random(1);
  std::string garbage(10'000'000, '\0');
  for (char& c : garbage) c = static_cast<char>(random() & 0xFFU);
  CHECK(refused(garbage) == "f: too large; expected at most 4MiB of YAML");
  garbage.resize(4'000'000);
  CHECK(contains(refused(garbage), "expected YAML text"));
  // Printable garbage in short lines reaches the parser.
  for (std::size_t i = 0; i < garbage.size(); ++i) {
    garbage[i] = i % 80 == 79 ? '\n' : static_cast<char>(random.integer(32, 126));
  }
  CHECK(contains(refused(garbage), "f:"));
  CHECK(refused(std::string((std::size_t{4} << 20U) + 1, 'x')) ==
        "f: too large; expected at most 4MiB of YAML");
}

TEST_CASE("hostile documents cost work in proportion to their size", "[core][yaml-refusal]") {
  // Bytes of memory count the work: every node, token and copy of a text needs some.
  const auto work = [](const std::string& unit, std::size_t size) {
    std::string text;
    while (text.size() < size) text += unit;
    const std::size_t before = test::allocated_bytes();
    refused(text);
    return test::allocated_bytes() - before;
  };
  constexpr std::size_t kSmall = std::size_t{1} << 14U;
  constexpr std::size_t kTimes = 16;
  for (const char* unit :
       {"[\n",  "{\n", "- \n", "? \n",      "a: [\n", "\"\n",   "'\n",     "&a ",   "&a\n", "*a\n",
        "!a\n", "|\n", "%\n",  "---\n",     "a\n",    "a:\n",   "- - -\n", "#\n",   ",\n",  "]\n",
        "}\n",  "\n",  " \n",  "a: &a b\n", "{a\n",   "<<: \n", "!<\n",    "[a: \n"}) {
    CAPTURE(unit);
    const std::size_t small = work(unit, kSmall);
    const std::size_t large = work(unit, kTimes * kSmall);
    CHECK(large <= 2 * kTimes * small);
  }
}

TEST_CASE("files that cannot be read", "[core][yaml-refusal]") {
  const test::TemporaryFolder folder;
  const std::string missing = folder / "missing.yaml";
  CHECK(thrown([&] { return load_yaml_file(missing); }) == "'" + missing + "' does not exist");
  const std::string directory = folder / "folder";
  std::filesystem::create_directory(directory);
  CHECK(thrown([&] { return load_yaml_file(directory); }) ==
        "'" + directory + "' is a folder; expected a file");
  CHECK(thrown([&] { return load_yaml_file(""); }) ==
        "an empty file name; expected the path of a file");
  const std::string large = folder / "large.yaml";
  std::ofstream(large) << std::string((std::size_t{4} << 20U) + 1, '\n');
  CHECK(thrown([&] { return load_yaml_file(large); }) ==
        "'" + large + "': too large; expected at most 4MiB");
  CHECK(thrown([&] { return load_yaml_file("/dev/zero"); }) ==
        "'/dev/zero': too large; expected at most 4MiB");
  const std::string good = folder / "good.yaml";
  std::ofstream(good) << "a: 1\n";
  CHECK(load_yaml_file(good).find("a")->location().to_string() == good + ":1:4");
}

TEST_CASE("a file that may not be read is refused", "[core][yaml-refusal]") {
  SKIP_UNLESS(::geteuid() != 0, test::kNeedsNoRoot);
  const test::TemporaryFolder folder;
  const std::string secret = folder / "secret.yaml";
  std::ofstream(secret) << "a: 1\n";
  ::chmod(secret.c_str(), 0);
  CHECK(contains(thrown([&] { return load_yaml_file(secret); }), "cannot be opened: "));
}
