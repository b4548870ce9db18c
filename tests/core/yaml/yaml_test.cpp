#include "core/yaml/yaml.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

#include "core/random.hpp"
#include "core/yaml/yaml_scalar.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

using namespace cclgym;

namespace {

std::string place(const YamlValue& value) { return value.location().to_string(); }

}  // namespace

TEST_CASE("a text as a scalar reads back as the same text", "[core][yaml]") {
  CHECK(yaml_scalar("a: 'b' # c") == "\"a: 'b' # c\"");
  CHECK(yaml_scalar("\"\\\n\t\x01") == "\"\\\"\\\\\\n\\t\\u0001\"");
  CHECK(yaml_scalar("\xC3\xA9 \xC3") == "\"\xC3\xA9 \xEF\xBF\xBD\"");
  for (const std::string text :
       {"", "12", "~", "a\"b\\c", "line\nline\ttab\r\f\b", "\xE2\x82\xAC"}) {
    CHECK(parse_yaml("{key: " + yaml_scalar(text) + "}", "f").find("key")->as_text() == text);
  }
}

TEST_CASE("every value has its kind and place", "[core][yaml]") {
  const YamlValue root = parse_yaml(
      "# a comment\n"
      "name: quickstart\n"
      "sizes: [1KiB, 2KiB]\n"
      "fabric:\n"
      "  kind: ring\n"
      "  gpus: \"8\"\n"
      "nothing:\n"
      "list:\n"
      "  - a\n"
      "  - b: c\n",
      "f.yaml");
  REQUIRE(root.is_mapping());
  CHECK(place(root) == "f.yaml:2:1");
  REQUIRE(root.entries().size() == 5);
  CHECK(root.entries()[1].key == "sizes");
  CHECK(root.entries()[1].key_location.to_string() == "f.yaml:3:1");
  CHECK(root.find("name")->as_text() == "quickstart");
  CHECK(place(*root.find("name")) == "f.yaml:2:7");
  const YamlValue sizes = *root.find("sizes");
  REQUIRE(sizes.is_sequence());
  CHECK(place(sizes) == "f.yaml:3:8");
  CHECK(sizes.items()[1].as_text() == "2KiB");
  CHECK(place(sizes.items()[1]) == "f.yaml:3:15");
  CHECK(root.find("fabric")->find("gpus")->as_text() == "8");
  CHECK(place(*root.find("fabric")->find("gpus")) == "f.yaml:6:9");
  CHECK(root.find("nothing")->is_null());
  CHECK(root.find("list")->items()[1].find("b")->as_text() == "c");
  CHECK(root.find("absent") == nullptr);
  CHECK(thrown([&] { return sizes.as_text(); }) ==
        "f.yaml:3:8: found a list; expected a single value");
  CHECK(thrown([&] { return root.find("name")->items(); }) ==
        "f.yaml:2:7: found 'quickstart'; expected a list");
  CHECK(thrown([&] { return sizes.find("x"); }) ==
        "f.yaml:3:8: found a list; expected a mapping (key: value)");
  CHECK(YamlValue().is_null());
  CHECK(YamlValue().location().to_string().empty());
}

TEST_CASE("null in its spellings, and texts that look like it", "[core][yaml]") {
  const YamlValue root = parse_yaml("[~, null, Null, NULL, '', 'null', nul]", "f");
  for (std::size_t i = 0; i < 4; ++i) CHECK(root.items()[i].is_null());
  for (std::size_t i = 4; i < 7; ++i) CHECK(root.items()[i].is_scalar());
  CHECK(root.items()[4].as_text().empty());
}

TEST_CASE("aliases share what they stand for", "[core][yaml]") {
  const YamlValue root = parse_yaml("a: &x {k: [1, 2]}\nb: *x\nc: &s text\n*s : as a key\n", "f");
  CHECK(&root.find("a")->entries() == &root.find("b")->entries());
  CHECK(place(*root.find("b")) == place(*root.find("a")));
  CHECK(root.find("text")->as_text() == "as a key");
}

TEST_CASE("merge keys", "[core][yaml]") {
  const YamlValue root = parse_yaml(
      "base: &base {a: 1, b: 2}\n"
      "other: &other {b: 20, c: 30}\n"
      "one:\n  <<: *base\n  b: 3\n"
      "two:\n  <<: [*base, *other]\n"
      "quoted:\n  '<<': 5\n",
      "f");
  const YamlValue one = *root.find("one");
  REQUIRE(one.entries().size() == 2);
  CHECK(one.find("a")->as_text() == "1");
  CHECK(one.find("b")->as_text() == "3");
  const YamlValue two = *root.find("two");
  CHECK(two.find("b")->as_text() == "2");
  CHECK(two.find("c")->as_text() == "30");
  CHECK(root.find("quoted")->find("<<")->as_text() == "5");
  CHECK(thrown([] { return parse_yaml("<<: 5", "f"); }) ==
        "f:1:5: found a value under '<<'; expected a mapping or a list of mappings");
  CHECK(thrown([] { return parse_yaml("<<: [{a: 1}, 5]", "f"); }) ==
        "f:1:5: found a list under '<<'; expected a mapping or a list of mappings");
}

TEST_CASE("a random tree written as YAML reads back as itself", "[core][yaml]") {
  Random random(23);
  const auto word = [&random] {
    std::string text;
    for (int i = 0; i < 6; ++i) text += static_cast<char>('a' + random.integer(0, 25));
    return text;
  };
  // Writes a random tree in flow or block style, and in its plain form.
  const std::function<void(int, int, std::string&, std::string&)> write =
      [&](int depth, int indent, std::string& yaml, std::string& plain) {
        const std::int64_t kind = depth == 0 ? 0 : random.integer(0, 2);
        const std::int64_t count = random.integer(1, 4);
        const std::string pad(static_cast<std::size_t>(indent), ' ');
        if (kind == 0) {
          const std::string text = word();
          yaml += " " + text + "\n";
          plain += text;
        } else if (kind == 1) {
          yaml += "\n";
          plain += "[";
          for (std::int64_t i = 0; i < count; ++i) {
            yaml += pad + "-";
            write(depth - 1, indent + 2, yaml, plain);
            plain += ",";
          }
          plain += "]";
        } else {
          yaml += "\n";
          plain += "{";
          for (std::int64_t i = 0; i < count; ++i) {
            const std::string key = word() + std::to_string(i);
            yaml += pad + key + ":";
            plain += key + ":";
            write(depth - 1, indent + 2, yaml, plain);
            plain += ",";
          }
          plain += "}";
        }
      };
  const std::function<void(const YamlValue&, std::string&)> show = [&](const YamlValue& value,
                                                                       std::string& plain) {
    if (value.is_scalar()) plain += value.as_text();
    if (value.is_sequence()) {
      plain += "[";
      for (const YamlValue& item : value.items()) {
        show(item, plain);
        plain += ",";
      }
      plain += "]";
    }
    if (value.is_mapping()) {
      plain += "{";
      for (const YamlEntry& entry : value.entries()) {
        plain += entry.key + ":";
        show(entry.value, plain);
        plain += ",";
      }
      plain += "}";
    }
  };
  for (int i = 0; i < 300; ++i) {
    std::string yaml, expected, read;
    write(4, 0, yaml, expected);
    show(parse_yaml(yaml, "f"), read);
    REQUIRE(read == expected);
  }
}

TEST_CASE("mappings are checked against their option records", "[core][yaml]") {
  const std::vector<OptionSpec> specs{
      {.name = "fabric", .required = true},
      {.name = "channels",
       .kind = OptionKind::Integer,
       .shape = OptionShape::OneOrList,
       .min = 1,
       .default_text = "[1, 2]"},
      {.name = "size", .kind = OptionKind::Bytes, .default_text = "64KiB"},
      {.name = "seed", .kind = OptionKind::Integer}};
  const auto check = [&](const char* text) {
    return thrown([&] {
      check_keys(parse_yaml(text, "f"), specs, "experiment");
      return 0;
    });
  };
  CHECK(check("fabric: ring") == "(nothing thrown)");
  CHECK(check("fabrik: ring") ==
        "f:1:1: unknown key of experiment 'fabrik'; expected one of fabric, channels, size, seed "
        "(did you mean 'fabric'?)");
  CHECK(check("size: 1KiB") == "f:1:1: experiment has no 'fabric'; expected text");
  CHECK(check("fabric:") == "f:1:1: fabric has no value; expected text");
  CHECK(check("[a]") == "f:1:1: experiment is a list; expected a mapping (key: value)");
  CHECK(check("a") == "f:1:1: experiment is 'a'; expected a mapping (key: value)");

  const YamlValue mapping = parse_yaml("\n  fabric: ring\n  channels: 4\n  seed:\n", "f");
  CHECK(read_text(option_value(mapping, specs[0]), specs[0]) == "ring");
  CHECK(read_integers(option_value(mapping, specs[1]), specs[1]) == std::vector<std::int64_t>{4});
  const YamlValue size = option_value(mapping, specs[2]);
  CHECK(read_bytes(size, specs[2]) == 65536);
  CHECK(place(size) == "f:2:3");
  CHECK(option_value(mapping, specs[3]).is_null());
  const YamlValue bare = parse_yaml("fabric: ring", "f");
  CHECK(read_integers(option_value(bare, specs[1]), specs[1]) == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("typed reads", "[core][yaml]") {
  const YamlValue root = parse_yaml(
      "sizes: [1KiB..4KiB x2, 1 MB]\nflag: true\nx: 0.5\nt: [1us]\nr: 25\nempty: []\nnone:\nm: {}\n"
      "names: [ring, tree]\nreals: [1, 0.5]",
      "f");
  const OptionSpec sizes{.name = "sizes", .kind = OptionKind::Bytes, .shape = OptionShape::List};
  CHECK(read_byte_sizes(*root.find("sizes"), sizes) ==
        std::vector<std::uint64_t>{1024, 2048, 4096, 1'000'000});
  CHECK(read_flag(*root.find("flag"), {.name = "flag", .kind = OptionKind::Flag}));
  CHECK(read_real(*root.find("x"), {.name = "x", .kind = OptionKind::Real}) == 0.5);
  const OptionSpec names{.name = "names",
                         .kind = OptionKind::Choice,
                         .shape = OptionShape::List,
                         .choices = {"tree", "ring"}};
  CHECK(read_choices(*root.find("names"), names) == std::vector<std::size_t>{1, 0});
  CHECK(read_texts(*root.find("names"), names) == std::vector<std::string>{"ring", "tree"});
  const auto refused = [&](const char* key, OptionSpec spec) {
    spec.name = key;
    return thrown([&] {
      const YamlValue value = *root.find(key);
      if (spec.shape != OptionShape::One) return read_byte_sizes(value, spec).size();
      if (spec.kind == OptionKind::Rate)
        return static_cast<std::size_t>(read_rate_Bps(value, spec));
      return static_cast<std::size_t>(read_time_s(value, spec));
    });
  };
  CHECK(refused("r", {.kind = OptionKind::Rate}) ==
        "f:5:4: r needs a unit, e.g. '25 GB/s'; found '25'");
  CHECK(refused("t", {.kind = OptionKind::Time}) == "f:4:4: t is a list; expected time");
  CHECK(refused("none", {.kind = OptionKind::Time}) == "f:7:1: none has no value; expected time");
  CHECK(refused("empty", sizes) == "f:6:8: empty is an empty list; expected at least one value");
  CHECK(refused("r", sizes) == "f:5:4: r is '25'; expected list of sizes");
  CHECK(refused("m", sizes) == "f:8:4: m is a mapping; expected list of sizes");
  CHECK(refused("none", sizes) == "f:7:1: none has no value; expected list of sizes");
}
