// Loads a training from its file, and tells trainings apart.
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <map>

#include "agents/training/train_config.hpp"
#include "collectives/library/program_entry.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "core/hash.hpp"
#include "core/split.hpp"
#include "core/yaml/yaml_scalar.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMaxTrainFile = std::size_t{4} << 20;

// Refuses programs that no environment of the training can run, and warns of those that only some
// can. All environments name the same programs, because they have the same actions.
void check_programs(TrainConfig& config) {
  std::map<std::string, std::vector<IdleProgram>> idle;
  for (const TrainingPart& part : config.parts) {
    const auto& setup = part.environment->setup();
    if (!setup) continue;
    for (const IdleProgram& program : setup->idle_programs) idle[program.name].push_back(program);
  }
  for (const auto& [name, programs] : idle) {
    const IdleProgram& first = programs.front();
    if (programs.size() == config.parts.size()) throw UserError(first.where, first.message());
    for (const IdleProgram& program : programs) {
      std::string text = UserError(program.where, program.message()).what();
      std::vector<std::string>& all = config.warnings;
      if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
    }
  }
}

}  // namespace

std::vector<std::string> chosen_variants(const std::string& path, const std::string& chosen) {
  if (chosen.empty()) return {chosen};
  const YamlValue mapping = parse_yaml(read_text_file(path, kMaxTrainFile), path);
  check_keys(mapping, train_options(), "training");
  std::vector<std::string> names;
  const YamlValue variants = option_value(mapping, find_option(train_options(), "variants"));
  if (!variants.is_null()) {
    for (const YamlEntry& entry : variants.entries()) names.push_back(entry.key);
  }
  if (std::ranges::find(names, chosen) != names.end()) return {chosen};
  if (chosen == "all" && !names.empty()) return names;
  std::vector<std::string> found;
  for (const std::string_view name : split(chosen, ',')) {
    if (std::ranges::find(found, name) != found.end()) {
      throw UserError("--variant: names " + quoted(name) + " twice");
    }
    found.emplace_back(name);
  }
  return found;
}

TrainConfig load_train_config(const std::string& path, const TrainChoices& choices) {
  std::string text = read_text_file(path, kMaxTrainFile);
  if (!text.ends_with('\n')) text += '\n';
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}: {}\n", key, yaml_scalar(value));
  };
  add("variant", choices.variant);
  if (!choices.start_from.empty()) {
    add("start_from", std::filesystem::absolute(choices.start_from).lexically_normal().string());
  }
  TrainConfig config = read_train_config(text, path);
  check_programs(config);
  return config;
}

FeatureGroups TrainConfig::features_in(int iteration) const {
  FeatureGroups groups{};
  for (std::size_t group = 0; group < kFeatureGroups; ++group) {
    groups[group] = features_from[group] <= iteration;
  }
  return groups;
}

std::string TrainConfig::hash() const {
  // Any change of the text, or of a program in a file that it names, makes it a different training.
  std::string all = text;
  const auto add_programs = [&](const TrainingEnvironment& environment) {
    if (!environment.setup()) return;
    for (const AlgorithmEntry& entry : environment.setup()->site->algorithms.entries()) {
      if (entry.fixed()) all += entry.name + program_hash(*entry.program);
    }
  };
  for (const TrainingPart& part : parts) add_programs(*part.environment);
  for (const EvaluationPart& part : evaluation) add_programs(*part.environment);
  return hex_digits(fnv1a(all));
}

}  // namespace cclgym
