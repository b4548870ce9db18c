#include "agents/export/deployed_setup.hpp"

#include <algorithm>
#include <filesystem>
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

// The part of a label that names the fabric, which is a word or the path of a file.
std::string_view name_in(std::string_view label) {
  for (const std::string_view end : {".yaml", ".yml", ".xml", ".txt"}) {
    const std::size_t at = label.find(end);
    if (at == std::string_view::npos) continue;
    const std::string_view name = label.substr(0, at + end.size());
    if (name.size() == label.size() || label[name.size()] == ' ') return name;
  }
  return label.substr(0, label.find(' '));
}

// Label of a fabric as a YAML mapping: "{name: 'ndv4', 'servers': '2'}".
std::string fabric_yaml(std::string_view label) {
  const std::string_view name = name_in(label);
  if (name.empty()) throw UserError("the machine has no name");
  // Otherwise the path would be taken from the folder of the label.
  std::string yaml =
      "{name: " +
      scalar(is_fabric_file(name) ? std::filesystem::absolute(name).string() : std::string(name));
  for (const std::string& word : words_of(label.substr(name.size()), ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      throw UserError("machine " + quoted(label) + ": " + quoted(word) +
                      " is not of the form NAME=VALUE");
    } else {
      yaml += ", " + word.substr(0, equals) + ": " + scalar(word.substr(equals + 1));
    }
  }
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

std::vector<std::string> collectives_of_policy(const PolicyFile& policy,
                                               const std::string& machine) {
  const std::string prefix = std::string(kMasks) + machine + "/";
  std::vector<std::string> collectives;
  for (const PolicyFileTable& table : policy.tables) {
    if (table.name.starts_with(prefix)) collectives.push_back(table.name.substr(prefix.size()));
  }
  return collectives;
}

std::vector<NamedMachine> named_machines(const std::vector<std::string>& known,
                                         const std::vector<std::string>& wanted) {
  std::vector<NamedMachine> machines;
  for (const std::string& spec : wanted.empty() ? known : wanted) {
    std::string label = spec;
    const std::string* found = find_fabric_label(known, spec);
    if (found == nullptr && is_fabric_file(name_in(spec))) {
      const FabricSpec file = fabric_of_label(spec);
      label = fabric_label(file, *make_fabric(file));
      found = find_fabric_label(known, label);
    }
    if (found == nullptr) throw UserError(unknown_name_message("machine", label, known));
    machines.push_back({*found, label == spec ? *found : spec});
  }
  return machines;
}

FabricSpec fabric_of_label(std::string_view label) {
  const std::string_view name = name_in(label);
  if (!name.empty() && !is_fabric_file(name) && find_fabric_info(name) == nullptr) {
    std::vector<std::string> shipped;
    for (const FabricInfo& info : fabric_infos()) shipped.push_back(info.name);
    throw UserError(
        fmt::format("fabric {} is not shipped; give the file as --machine FILE.yaml if "
                    "it has one: {}",
                    quoted(name), unknown_name_message("fabric", name, shipped)));
  }
  return read_fabric_spec(parse_yaml(fabric_yaml(label), "machine " + quoted(label)));
}

std::string options_of_policy(const PolicyFile& policy,
                              const std::vector<std::string>& collectives) {
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
  std::string names;
  for (const std::string& collective : collectives) {
    names += (names.empty() ? "" : ", ") + scalar(collective);
  }
  return fmt::format(
      "actions: {}, window: {}, tuners: [{}],\n"
      " workload: {{name: sweep, collectives: [{}], sizes: 1MiB}}",
      scalar(profile->text), window, tuners, names);
}

std::shared_ptr<const TuningSetup> setup_of_label(const PolicyFile& policy,
                                                  const NamedMachine& machine,
                                                  const std::string& cost_model) {
  const std::string& label = machine.label;
  const std::vector<std::string> collectives = collectives_of_policy(policy, label);
  const std::string options = options_of_policy(policy, collectives);
  static_cast<void>(fabric_of_label(machine.spec));  // its errors name the option
  if (collectives.empty()) {
    throw UserError(unknown_name_message("machine", label, machines_of_policy(policy)));
  }
  auto setup = std::make_shared<TuningSetup>(*read_tuning_setup(
      parse_yaml(fmt::format("{{fabric: {}, cost_model: {}, {}}}", fabric_yaml(machine.spec),
                             scalar(cost_model), options),
                 "machine " + quoted(label))));
  // The rules of the policy have this label, which may name options as earlier versions did.
  setup->fabric_label = label;
  return setup;
}

}  // namespace cclgym
