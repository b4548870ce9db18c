// Tests of options bound to members: values are set, read, written and read again.
#include "core/options/field.hpp"

#include <array>

#include "core/yaml/yaml.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

enum class Colour : std::uint8_t { Red, Green };

struct Settings {
  bool on = false;
  int count = 7;
  std::uint64_t bytes = 0;
  double time_s = 0;
  std::optional<double> rate_Bps{};
  std::optional<Colour> colour{};
  std::string text{};
  std::array<double, 2> pair{};
};

const std::vector<Field<Settings>>& fields() {
  static const std::vector<Field<Settings>> all{
      {{.name = "on", .kind = OptionKind::Flag}, &Settings::on},
      {{.name = "count", .kind = OptionKind::Integer, .max = 20, .multiple_of = 2},
       &Settings::count},
      {{.name = "bytes", .kind = OptionKind::Bytes}, &Settings::bytes},
      {{.name = "time", .kind = OptionKind::Time}, &Settings::time_s},
      {{.name = "rate", .kind = OptionKind::Rate}, &Settings::rate_Bps},
      {{.name = "colour", .kind = OptionKind::Choice, .choices = {"red", "green"}},
       &Settings::colour},
      {{.name = "text"}, &Settings::text},
      {{.name = "second", .kind = OptionKind::Real},
       [](auto& settings) -> auto& {return settings.pair[1];
}
}  // namespace
,
};  // namespace cclgym::test
return all;
}

TEST_CASE("fields set and get members of every type", "[core][options]") {
  Settings settings;
  CHECK_FALSE(fields()[4].get(settings));
  CHECK_FALSE(fields()[5].get(settings));
  CHECK(std::get<std::int64_t>(*fields()[1].get(settings)) == 7);
  const std::vector<std::string> texts{"true",    "12",    "64KiB", "0.7us",
                                       "25 GB/s", "green", "words", "0.125"};
  for (std::size_t k = 0; k < texts.size(); ++k) {
    fields()[k].set(settings, read_option(texts[k], fields()[k].spec()));
  }
  CHECK(settings.on);
  CHECK(settings.count == 12);
  CHECK(settings.bytes == 65536);
  CHECK(settings.time_s == 0.7e-6);
  CHECK(settings.rate_Bps == 25e9);
  CHECK(settings.colour == Colour::Green);
  CHECK(settings.text == "words");
  CHECK(settings.pair == std::array<double, 2>{0, 0.125});
  // A written value is read as the same value.
  Settings again;
  for (const Field<Settings>& field : fields()) {
    const std::string text = option_text(*field.get(settings), field.spec());
    field.set(again, read_option(text, field.spec()));
    CHECK(field.get(again) == field.get(settings));
  }
  // A number sets a member of another type of number.
  fields()[2].set(again, OptionValue(4096.0));
  CHECK(again.bytes == 4096);
  CHECK(option_number(*fields()[1].get(again)) == 12);
}

TEST_CASE("values are checked as their texts are", "[core][options]") {
  const OptionSpec& count = fields()[1].spec();
  CHECK_NOTHROW(check_option(std::int64_t{20}, count));
  CHECK(thrown([&] { check_option(std::int64_t{22}, count); }) ==
        "count is '22'; expected <= 20, a multiple of 2");
  CHECK(thrown([&] { check_option(std::int64_t{5}, count); }) ==
        "count is '5'; expected a multiple of 2");
  CHECK(thrown([&] { (void)read_option("5", count); }) == "count is '5'; expected a multiple of 2");
  const OptionSpec rate{.name = "rate", .kind = OptionKind::Rate, .min = 1e3};
  CHECK(thrown([&] { check_option(10.0, rate); }) == "rate is '10 B/s'; expected >= 1.0 KB/s");
}

TEST_CASE("a key has one of its names, not two", "[core][options]") {
  const std::vector<OptionSpec> specs{
      {.name = "nodes", .kind = OptionKind::Integer, .required = true, .aliases = {"servers"}}};
  for (const char* text : {"{nodes: 3}", "{servers: 3}"}) {
    const YamlValue mapping = parse_yaml(text, "f");
    check_keys(mapping, specs, "thing");
    CHECK(read_integer(option_value(mapping, find_option(specs, "servers")), specs[0]) == 3);
  }
  CHECK(thrown([&] { check_keys(parse_yaml("{servers: 3, nodes: 3}", "f"), specs, "thing"); }) ==
        "f:1:14: thing has both 'servers' and 'nodes', which are two names of one key; expected "
        "'nodes' alone");
  CHECK(thrown([&] { check_keys(parse_yaml("{}", "f"), specs, "thing"); }).find("has no 'nodes'") !=
        std::string::npos);
  CHECK(try_find_option(specs, "hosts") == nullptr);
  CHECK(markdown_table(specs).find(
            "| `nodes` | whole number |  | *required* |  | ; also `servers` |") !=
        std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
