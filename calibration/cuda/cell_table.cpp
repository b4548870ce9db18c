#include "calibration/cuda/cell_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "core/error.hpp"

namespace cclgym {

namespace {

SourceLocation option_location(const OptionSpec& spec) { return {.file = "--" + spec.name}; }

std::vector<std::string> comma_parts(const OptionTexts& texts, const OptionSpec& spec) {
  const std::string text = option_text(texts, spec);
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

template <class Value, class Read>
std::vector<Value> listed(const OptionTexts& texts, const OptionSpec& spec, Read read) {
  std::vector<Value> values;
  for (const std::string& part : comma_parts(texts, spec)) {
    for (const Value value : read(part, spec, option_location(spec))) {
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  return values;
}

}  // namespace

std::string option_text(const OptionTexts& texts, const OptionSpec& spec) {
  const auto found = texts.find(spec.name);
  return found == texts.end() ? spec.default_text : found->second;
}

std::vector<std::uint64_t> listed_bytes(const OptionTexts& texts, const OptionSpec& spec) {
  return listed<std::uint64_t>(texts, spec, read_bytes_range);
}

std::vector<std::int64_t> listed_integers(const OptionTexts& texts, const OptionSpec& spec) {
  return listed<std::int64_t>(texts, spec, read_integer_range);
}

std::vector<std::string> listed_choices(const OptionTexts& texts, const OptionSpec& spec) {
  std::vector<std::string> values;
  for (const std::string& part : comma_parts(texts, spec)) {
    const std::string& name = spec.choices[read_choice(part, spec, option_location(spec))];
    if (std::find(values.begin(), values.end(), name) == values.end()) values.push_back(name);
  }
  return values;
}

void check_option_texts(const OptionTexts& texts, const std::vector<OptionSpec>& specs) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) names.push_back(spec.name);
  for (const auto& [name, text] : texts) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw UserError(unknown_name_message("option", name, names));
    }
  }
}

}  // namespace cclgym
