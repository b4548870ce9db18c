#include "agents/export/deployed_setup.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/error.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kMasks = "masks/";

std::vector<std::string> words_of(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Quotes a YAML flow scalar with single quotes.
std::string scalar(std::string_view text) {
  std::string quoted_text = "'";
  for (const char c : text) quoted_text += c == '\'' ? "''" : std::string(1, c);
  return quoted_text + "'";
}

// Label of a fabric as a YAML mapping: "{name: 'ndv4', 'servers': '2'}".
std::string fabric_yaml(std::string_view label) {
  std::string yaml;
  for (const std::string& word : words_of(label, ' ')) {
    const std::size_t equals = word.find('=');
    if (yaml.empty()) {
      yaml = "{name: " + scalar(word);
    } else if (equals == std::string::npos) {
      throw UserError("machine " + quoted(label) + ": " + quoted(word) +
                      " is not of the form NAME=VALUE");
    } else {
      yaml += ", " + word.substr(0, equals) + ": " + scalar(word.substr(equals + 1));
    }
  }
  if (yaml.empty()) throw UserError("the machine has no name");
  return yaml + "}";
}

std::vector<std::string> lines_of(const PolicyFile& policy, const std::string& record) {
  const PolicyFileText* text = policy.text(record);
  if (text == nullptr) throw UserError("the policy has no text '" + record + "'");
  return words_of(text->text, '\n');
}

}  // namespace

std::vector<std::string> machines_of_policy(const PolicyFile& policy) {
  std::vector<std::string> machines;
  for (const PolicyFileTable& table : policy.tables) {
    if (!table.name.starts_with(kMasks)) continue;
    const std::string label =
        table.name.substr(kMasks.size(), table.name.rfind('/') - kMasks.size());
    if (std::ranges::find(machines, label) == machines.end()) machines.push_back(label);
  }
  return machines;
}

FabricSpec fabric_of_label(std::string_view label) {
  return read_fabric_spec(parse_yaml(fabric_yaml(label), "machine " + quoted(label)));
}

std::shared_ptr<const TuningSetup> setup_of_label(const PolicyFile& policy,
                                                  const std::string& label,
                                                  const std::string& cost_model) {
  const PolicyFileText* profile = policy.text("action_profile");
  if (profile == nullptr || profile->text.empty()) {
    throw UserError("the policy was not trained in CollectiveTuning-v0");
  }
  const auto features = lines_of(policy, "features");
  const auto window = std::ranges::count_if(features, [](const std::string& name) {
    return name.starts_with("back") && name.ends_with("_there");
  });
  // Tuners are the first levels of knob algorithm.
  std::string tuners;
  for (const std::string& level : lines_of(policy, "levels.0")) {
    if (is_tuner(level)) {
      tuners += (tuners.empty() ? "" : ", ") + scalar(level);
    } else if (level != "hierarchical" && AlgorithmLibrary::shipped().find(level) == nullptr) {
      throw UserError(
          fmt::format("the policy chooses program {}, whose steps are not in the policy; "
                      "expected algorithms of the library",
                      quoted(level)));
    }
  }
  std::string collectives;
  for (const PolicyFileTable& table : policy.tables) {
    const std::string prefix = std::string(kMasks) + label + "/";
    if (!table.name.starts_with(prefix)) continue;
    collectives += (collectives.empty() ? "" : ", ") + scalar(table.name.substr(prefix.size()));
  }
  if (collectives.empty()) {
    throw UserError(unknown_name_message("machine", label, machines_of_policy(policy)));
  }
  return read_tuning_setup(parse_yaml(
      fmt::format("{{fabric: {}, cost_model: {}, actions: {}, window: {}, tuners: [{}],\n"
                  " workload: {{name: sweep, collectives: [{}], sizes: 1MiB}}}}",
                  fabric_yaml(label), scalar(cost_model), scalar(profile->text), window, tuners,
                  collectives),
      "machine " + quoted(label)));
}

}  // namespace cclgym
