// Feeds arbitrary bytes to the YAML reader, and its results to the option readers. They may only
// throw UserError with a short printable line.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/yaml/yaml.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace cclgym;

const std::vector<OptionSpec>& options() {
  static const std::vector<OptionSpec> specs{
      {.name = "name"},
      {.name = "engine", .kind = OptionKind::Choice, .choices = {"simgrid", "flow"}},
      {.name = "size",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::OneOrList,
       .min = 1,
       .default_text = "[1KiB..1MiB x2]"},
      {.name = "channels",
       .kind = OptionKind::Integer,
       .shape = OptionShape::OneOrList,
       .min = 1,
       .max = 32},
      {.name = "latency", .kind = OptionKind::Time},
      {.name = "bandwidth", .kind = OptionKind::Rate, .exclusive_min = true},
      {.name = "efficiency", .kind = OptionKind::Real, .shape = OptionShape::OneOrList},
      {.name = "fresh", .kind = OptionKind::Flag},
  };
  return specs;
}

// Runs `call`, which may only return or throw a well-formed UserError.
template <typename Call>
void guarded(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() > 1000) std::abort();
    for (const char c : message) {
      if (static_cast<unsigned char>(c) < 0x20) std::abort();
    }
  }
}

void read_everything(const YamlValue& value) {
  if (value.is_mapping()) {
    guarded([&] { check_keys(value, options(), "document"); });
    for (const OptionSpec& spec : options()) {
      guarded([&] { static_cast<void>(option_value(value, spec)); });
    }
    for (const YamlEntry& entry : value.entries()) {
      if (entry.key_location.line == 0) std::abort();
      read_everything(entry.value);
    }
  }
  if (value.is_sequence()) {
    for (const YamlValue& item : value.items()) read_everything(item);
  }
  if (value.location().line == 0) std::abort();
  for (const OptionSpec& spec : options()) {
    guarded([&] {
      switch (spec.kind) {
        case OptionKind::Flag:
          return static_cast<void>(read_flag(value, spec));
        case OptionKind::Integer:
          return static_cast<void>(read_integers(value, spec));
        case OptionKind::Real:
          return static_cast<void>(read_real(value, spec));
        case OptionKind::Bytes:
          return static_cast<void>(read_byte_sizes(value, spec));
        case OptionKind::Time:
          return static_cast<void>(read_time_s(value, spec));
        case OptionKind::Rate:
          return static_cast<void>(read_rate_Bps(value, spec));
        case OptionKind::Choice:
          return static_cast<void>(read_choice(value, spec));
        default:
          return static_cast<void>(read_text(value, spec));
      }
    });
  }
}

}  // namespace

FUZZ_TARGET(yaml) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  guarded([&] {
    // A few nodes are enough to reach every check, and keep each input cheap.
    const YamlLimits limits{.bytes = 1 << 16, .nodes = 500, .depth = 16};
    read_everything(parse_yaml(text, "fuzz.yaml", limits));
  });
  return 0;
}
