#include "core/yaml/yaml.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "core/files/text_file.hpp"
#include "core/yaml/yaml_node.hpp"

namespace cclgym {

namespace {

// Description of a value, for "found …; expected …".
std::string found_text(const YamlValue& value) {
  if (value.is_scalar()) return quoted(value.as_text());
  return std::string(to_string(value.kind()));
}

[[noreturn]] void refuse_kind(const YamlValue& value, std::string_view expected) {
  throw UserError(value.location(),
                  "found " + found_text(value) + "; expected " + std::string(expected));
}

// A copy whose values all have one place: a default gets the place of the mapping that lacks its
// key.
YamlValue relocated(const YamlValue& value, const SourceLocation& place,
                    const std::shared_ptr<const std::string>& file) {
  auto node = std::make_shared<YamlValue::Node>();
  node->kind = value.kind();
  node->file = file;
  node->line = place.line;
  node->column = place.column;
  if (value.is_scalar()) node->text = value.as_text();
  if (value.is_sequence()) {
    for (const YamlValue& item : value.items()) {
      node->items.push_back(relocated(item, place, file));
    }
  }
  if (value.is_mapping()) {
    for (const YamlEntry& entry : value.entries()) {
      node->entries.push_back({entry.key, place, relocated(entry.value, place, file)});
    }
  }
  return YamlValue(std::move(node));
}

// A default as YAML, parsed only once in a thread: a record has one and the same, and most options
// of most files are left at their defaults.
const YamlValue& parsed_default(const OptionSpec& spec) {
  thread_local std::map<std::string, YamlValue, std::less<>> parsed;
  auto known = parsed.find(spec.default_text);
  if (known == parsed.end()) {
    YamlValue value = parse_yaml(spec.default_text, "default of " + spec.name);
    known = parsed.emplace(spec.default_text, std::move(value)).first;
  }
  return known->second;
}

// An option must not appear under two of its names.
void refuse_second_name(const YamlValue& mapping, const OptionSpec& spec, std::string_view what) {
  const YamlEntry* first = nullptr;
  for (const YamlEntry& entry : mapping.entries()) {
    if (!is_called(spec, entry.key)) continue;
    if (first != nullptr) {
      throw UserError(entry.key_location, std::string(what) + " has both " + quoted(first->key) +
                                              " and " + quoted(entry.key) +
                                              ", which are two names of one key; expected " +
                                              quoted(spec.name) + " alone");
    }
    first = &entry;
  }
}

}  // namespace

std::string_view to_string(YamlKind kind) {
  switch (kind) {
    case YamlKind::Null:
      return "nothing";
    case YamlKind::Scalar:
      return "a value";
    case YamlKind::Sequence:
      return "a list";
    case YamlKind::Mapping:
      return "a mapping";
  }
  return {};
}

YamlKind YamlValue::kind() const { return node_ ? node_->kind : YamlKind::Null; }

SourceLocation YamlValue::location() const {
  if (!node_) return {};
  return {node_->file ? *node_->file : std::string(), node_->line, node_->column};
}

const std::string& YamlValue::as_text() const {
  if (!is_scalar()) refuse_kind(*this, "a single value");
  return node_->text;
}

const std::vector<YamlValue>& YamlValue::items() const {
  if (!is_sequence()) refuse_kind(*this, "a list");
  return node_->items;
}

const std::vector<YamlEntry>& YamlValue::entries() const {
  if (!is_mapping()) refuse_kind(*this, "a mapping (key: value)");
  return node_->entries;
}

const YamlValue* YamlValue::find(std::string_view key) const {
  for (const YamlEntry& entry : entries()) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

YamlValue load_yaml_file(const std::string& path, const YamlLimits& limits) {
  return parse_yaml(read_text_file(path, limits.bytes), path, limits);
}

const YamlValue* find_value(const YamlValue& mapping, const OptionSpec& spec) {
  for (const YamlEntry& entry : mapping.entries()) {
    if (is_called(spec, entry.key)) return &entry.value;
  }
  return nullptr;
}

void check_keys(const YamlValue& mapping, const std::vector<OptionSpec>& specs,
                std::string_view what) {
  if (!mapping.is_mapping()) {
    throw UserError(mapping.location(), std::string(what) + " is " + found_text(mapping) +
                                            "; expected a mapping (key: value)");
  }
  for (const YamlEntry& entry : mapping.entries()) {
    const bool known = std::any_of(specs.begin(), specs.end(), [&](const OptionSpec& spec) {
      return is_called(spec, entry.key);
    });
    if (known) continue;
    std::vector<std::string> names;
    for (const OptionSpec& spec : specs) names.push_back(spec.name);
    throw UserError(entry.key_location,
                    unknown_name_message("key of " + std::string(what), entry.key, names));
  }
  for (const OptionSpec& spec : specs) {
    if (!spec.aliases.empty()) refuse_second_name(mapping, spec, what);
    if (!spec.required) continue;
    const YamlValue* value = find_value(mapping, spec);
    if (value == nullptr) {
      throw UserError(mapping.location(), std::string(what) + " has no " + quoted(spec.name) +
                                              "; expected " + type_text(spec));
    }
    if (value->is_null()) {
      throw UserError(value->location(), spec.name + " has no value; expected " + type_text(spec));
    }
  }
}

YamlValue option_value(const YamlValue& mapping, const OptionSpec& spec) {
  const YamlValue* value = find_value(mapping, spec);
  if (value != nullptr && !value->is_null()) return *value;
  if (spec.default_text.empty()) return value != nullptr ? *value : YamlValue();
  const SourceLocation place = mapping.location();
  return relocated(parsed_default(spec), place, std::make_shared<const std::string>(place.file));
}

}  // namespace cclgym
