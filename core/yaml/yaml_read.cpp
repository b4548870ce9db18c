// Typed reads of YAML values, driven by option records.
#include "core/yaml/empty_values.hpp"
#include "core/yaml/yaml.hpp"

namespace cclgym {

namespace {

const std::string& scalar(const YamlValue& value, const OptionSpec& spec) {
  if (!value.is_scalar()) {
    const std::string found =
        value.is_null() ? " has no value" : " is " + std::string(to_string(value.kind()));
    OptionSpec single = spec;  // inside a list, a single value is expected
    single.shape = OptionShape::One;
    throw UserError(value.location(), spec.name + found + "; expected " + type_text(single));
  }
  return value.as_text();
}

// Appends read(value) for every value of a list.
template <typename Value, typename Read>
std::vector<Value> read_all(const YamlValue& value, const OptionSpec& spec, Read read) {
  std::vector<Value> values;
  for (const YamlValue& item : read_items(value, spec)) read(item, values);
  return values;
}

template <typename Value>
void append(std::vector<Value>& values, const std::vector<Value>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

}  // namespace

bool read_flag(const YamlValue& value, const OptionSpec& spec) {
  return read_flag(scalar(value, spec), spec, value.location());
}

std::int64_t read_integer(const YamlValue& value, const OptionSpec& spec) {
  return read_integer(scalar(value, spec), spec, value.location());
}

double read_real(const YamlValue& value, const OptionSpec& spec) {
  return read_real(scalar(value, spec), spec, value.location());
}

std::uint64_t read_bytes(const YamlValue& value, const OptionSpec& spec) {
  return read_bytes(scalar(value, spec), spec, value.location());
}

double read_time_s(const YamlValue& value, const OptionSpec& spec) {
  return read_time_s(scalar(value, spec), spec, value.location());
}

double read_rate_Bps(const YamlValue& value, const OptionSpec& spec) {
  return read_rate_Bps(scalar(value, spec), spec, value.location());
}

std::string read_text(const YamlValue& value, const OptionSpec& spec) {
  return read_text(scalar(value, spec), spec, value.location());
}

std::size_t read_choice(const YamlValue& value, const OptionSpec& spec) {
  return read_choice(scalar(value, spec), spec, value.location());
}

OptionValue read_option(const YamlValue& value, const OptionSpec& spec) {
  return read_option(scalar(value, spec), spec, value.location());
}

std::vector<YamlValue> read_items(const YamlValue& value, const OptionSpec& spec) {
  if (value.is_sequence()) {
    if (value.items().empty()) {
      throw UserError(value.location(),
                      spec.name + " is an empty list; expected at least one value");
    }
    return value.items();
  }
  if (spec.shape == OptionShape::List || value.is_null()) {
    const std::string found = value.is_null()     ? " has no value"
                              : value.is_scalar() ? " is " + quoted(value.as_text())
                                                  : " is " + std::string(to_string(value.kind()));
    throw UserError(value.location(), spec.name + found + "; expected " + type_text(spec));
  }
  return {value};
}

std::vector<std::int64_t> read_integers(const YamlValue& value, const OptionSpec& spec) {
  return read_all<std::int64_t>(value, spec, [&spec](const YamlValue& item, auto& values) {
    append(values, read_integer_range(scalar(item, spec), spec, item.location()));
  });
}

std::vector<std::uint64_t> read_byte_sizes(const YamlValue& value, const OptionSpec& spec) {
  return read_all<std::uint64_t>(value, spec, [&spec](const YamlValue& item, auto& values) {
    append(values, read_bytes_range(scalar(item, spec), spec, item.location()));
  });
}

std::vector<std::string> read_texts(const YamlValue& value, const OptionSpec& spec) {
  return read_all<std::string>(value, spec, [&spec](const YamlValue& item, auto& values) {
    values.push_back(read_text(item, spec));
  });
}

std::vector<std::size_t> read_choices(const YamlValue& value, const OptionSpec& spec) {
  return read_all<std::size_t>(value, spec, [&spec](const YamlValue& item, auto& values) {
    values.push_back(read_choice(item, spec));
  });
}

void refuse_empty_values(const YamlValue& mapping, const std::vector<OptionSpec>& specs) {
  for (const YamlEntry& entry : mapping.entries()) {
    if (!entry.value.is_null()) continue;
    const OptionSpec& spec = find_option(specs, entry.key);
    const bool one_name = spec.kind == OptionKind::Choice && spec.shape == OptionShape::One;
    throw UserError(entry.value.location(), entry.key + " has no value; expected " +
                                                (one_name ? range_text(spec) : type_text(spec)));
  }
}

}  // namespace cclgym
