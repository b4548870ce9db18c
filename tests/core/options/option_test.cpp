#include "core/options/option.hpp"

#include "support/catch.hpp"
#include "support/thrown.hpp"

using namespace cclgym;

namespace {

const OptionSpec kChannels{.name = "channels",
                           .kind = OptionKind::Integer,
                           .shape = OptionShape::OneOrList,
                           .description = "Parallel rings",
                           .min = 1,
                           .max = 32,
                           .default_text = "1"};
const OptionSpec kLatency{
    .name = "latency", .kind = OptionKind::Time, .description = "Of one traversal", .max = 1};
const OptionSpec kBandwidth{.name = "bandwidth",
                            .kind = OptionKind::Rate,
                            .description = "One direction",
                            .min = 0,
                            .exclusive_min = true,
                            .required = true};
const OptionSpec kSizes{.name = "sizes",
                        .kind = OptionKind::Bytes,
                        .shape = OptionShape::List,
                        .description = "Message sizes",
                        .min = 1,
                        .max = 17179869184.0};
const OptionSpec kEngine{.name = "engine",
                         .kind = OptionKind::Choice,
                         .description = "a|b",
                         .default_text = "simgrid",
                         .choices = {"simgrid", "flow"}};

}  // namespace

TEST_CASE("values inside the range are read, outside it refused", "[core][option]") {
  CHECK(read_integer("1", kChannels) == 1);
  CHECK(read_integer("32", kChannels) == 32);
  const SourceLocation where{"f", 1, 2};
  CHECK(thrown([&] { return read_integer("0", kChannels, where); }) ==
        "f:1:2: channels is '0'; expected >= 1, <= 32");
  CHECK(thrown([&] { return read_integer("33", kChannels, where); }) ==
        "f:1:2: channels is '33'; expected >= 1, <= 32");
  CHECK(read_time_s("1 s", kLatency) == 1);
  CHECK(thrown([&] { return read_time_s("1.1 s", kLatency, where); }) ==
        "f:1:2: latency is '1.1 s'; expected <= 1 s");
  CHECK(thrown([&] { return read_rate_Bps("0 GB/s", kBandwidth, where); }) ==
        "f:1:2: bandwidth is '0 GB/s'; expected > 0 B/s");
  CHECK(thrown([&] { return read_bytes("0 B", kSizes, where); }) ==
        "f:1:2: sizes is '0 B'; expected >= 1B, <= 16GiB");
  CHECK(read_choice("flow", kEngine) == 1);
  CHECK(thrown([&] { return read_choice("flo", kEngine, where); }) ==
        "f:1:2: unknown engine 'flo'; expected one of simgrid, flow (did you mean 'flow'?)");
  CHECK(read_text("x", OptionSpec{.name = "title"}) == "x");
  CHECK(thrown([&] { return read_text("", OptionSpec{.name = "title"}, where); }) ==
        "f:1:2: title is empty; expected text");
  const OptionSpec warps{.name = "threads", .kind = OptionKind::Integer, .multiple_of = 32};
  CHECK(read_integer("64", warps) == 64);
  CHECK(thrown([&] { return read_integer("33", warps, where); }) ==
        "f:1:2: threads is '33'; expected a multiple of 32");
  CHECK(range_text(warps) == "a multiple of 32");
  CHECK(read_real("0.5", OptionSpec{.name = "x", .kind = OptionKind::Real, .max = 0.5}) == 0.5);
  CHECK(read_flag("true", OptionSpec{.name = "x", .kind = OptionKind::Flag}));
}

TEST_CASE("ranges expand to their values", "[core][option]") {
  using Bytes = std::vector<std::uint64_t>;
  using Integers = std::vector<std::int64_t>;
  CHECK(read_bytes_range("1KiB..8KiB x2", kSizes) == Bytes{1024, 2048, 4096, 8192});
  CHECK(read_bytes_range("1 KiB .. 9 KiB x 2", kSizes) == Bytes{1024, 2048, 4096, 8192});
  CHECK(read_bytes_range("1KiB..3KiB +1KiB", kSizes) == Bytes{1024, 2048, 3072});
  CHECK(read_bytes_range("4KiB", kSizes) == Bytes{4096});
  CHECK(read_bytes_range("128B..128B x4", kSizes) == Bytes{128});
  CHECK(read_integer_range("1..4", kChannels) == Integers{1, 2, 3, 4});
  CHECK(read_integer_range("1..32 x2", kChannels) == Integers{1, 2, 4, 8, 16, 32});
  CHECK(read_integer_range("2..32 +10", kChannels) == Integers{2, 12, 22, 32});
  const OptionSpec any{.name = "n", .kind = OptionKind::Integer};
  CHECK(read_integer_range("-2..1", any) == Integers{-2, -1, 0, 1});
  // The step past the end overflows, but the range still ends.
  CHECK(read_integer_range("9223372036854775806..9223372036854775807", any).size() == 2);

  const auto bytes = [](const char* text) {
    return thrown([&] { return read_bytes_range(text, kSizes); });
  };
  CHECK(bytes("1KiB..8KiB") ==
        "sizes is the range '1KiB..8KiB' without a step; expected e.g. '1KiB..1GiB x2'");
  CHECK(bytes("8KiB..1KiB x2") ==
        "sizes is the range '8KiB..1KiB x2', which ends before it starts");
  CHECK(bytes("1KiB..8KiB x1") ==
        "sizes is the range '1KiB..8KiB x1'; expected a factor of at least 2");
  CHECK(bytes("1KiB..8KiB x") == "factor of sizes is ''; expected a whole number");
  CHECK(bytes("1KiB..8KiB +0B") == "sizes is the range '1KiB..8KiB +0B'; expected a step above 0");
  CHECK(bytes("1B..16GiB +1B") ==
        "sizes is the range '1B..16GiB +1B' of more than 10000 values; expected at most 10000 in "
        "each range of a list");
  CHECK(bytes("1KiB..1TiB x2") == "sizes is '1TiB'; expected >= 1B, <= 16GiB");
  CHECK(bytes("..") == "sizes is the range '..' without a step; expected e.g. '1KiB..1GiB x2'");
  CHECK(thrown([&] { return read_integer_range("0..8 x2", any); }) ==
        "n is the range '0..8 x2'; expected a start above 0, because it is multiplied");
  CHECK(thrown([&] { return read_integer_range("1..", any); }) ==
        "n is ''; expected a whole number");
}

TEST_CASE("records as words", "[core][option]") {
  CHECK(type_text(kChannels) == "whole number or list of whole numbers");
  CHECK(type_text(kSizes) == "list of sizes");
  CHECK(type_text(kEngine) == "name");
  CHECK(range_text(kEngine) == "one of simgrid, flow");
  CHECK(range_text(OptionSpec{.name = "x"}).empty());
  CHECK(range_text(OptionSpec{.name = "x", .kind = OptionKind::Time, .min = 1.5e-6}) ==
        ">= 1.5 us");
  CHECK(help_text(kChannels) == "Parallel rings (>= 1, <= 32) [default: 1]");
  CHECK(markdown_table({kChannels, kBandwidth, kEngine}) ==
        "| key | type | unit | default | range | description |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| `channels` | whole number or list of whole numbers |  | `1` | >= 1, <= 32 | Parallel "
        "rings |\n"
        "| `bandwidth` | rate | B/s, GB/s, GiB/s, Gb/s, … | *required* | > 0 B/s | One direction "
        "|\n"
        "| `engine` | name |  | `simgrid` | one of simgrid, flow | a\\|b |\n");
}
