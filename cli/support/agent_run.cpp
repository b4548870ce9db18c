#include "cli/support/agent_run.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>

#include "cli/support/command.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "cost_models/parameters/shipped_sets.hpp"

namespace cclgym {

std::vector<std::uint64_t> trained_seeds(const std::string& folder) {
  std::vector<std::uint64_t> seeds;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t seed = 0;
    constexpr std::string_view kSeed = "seed-";
    if (!name.starts_with(kSeed)) continue;
    const auto [end, fault] =
        std::from_chars(name.data() + kSeed.size(), name.data() + name.size(), seed);
    if (fault != std::errc{} || end != name.data() + name.size()) continue;
    if (std::filesystem::exists(checkpoint_path(folder, seed), error)) seeds.push_back(seed);
  }
  std::ranges::sort(seeds);
  return seeds;
}

AgentRun load_agent_run(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder + "/train.yaml", error)) {
    throw UserError(quoted(folder, 200) +
                    " is not the folder of a training run: it has no train.yaml");
  }
  constexpr std::size_t kLargestFile = std::size_t{4} << 20;
  const std::string source = folder + "/train.source";
  const std::string file = std::filesystem::exists(source, error)
                               ? read_text_file(source, kLargestFile)
                               : folder + "/train.yaml";
  AgentRun run{
      .folder = folder,
      .config = read_train_config(read_text_file(folder + "/train.yaml", kLargestFile), file),
      .seeds = {}};
  // `train --seed` may have trained seeds that are not in the file.
  run.seeds = trained_seeds(folder);
  if (run.seeds.empty()) {
    throw UserError(quoted(folder, 200) + " has no checkpoint of any seed; run cclgym train first");
  }
  return run;
}

Checkpoint load_agent(const AgentRun& run, std::uint64_t seed) {
  const std::string path = checkpoint_path(run.folder, seed);
  Checkpoint checkpoint = load_checkpoint(path);
  if (checkpoint.config_hash != run.config.hash()) {
    throw UserError(quoted(path, 200) +
                    " belongs to another training: train.yaml, or a program or file that it names, "
                    "has changed since; restore it, or train again");
  }
  return checkpoint;
}

std::string unfinished_text(const AgentRun& run, std::span<const std::uint64_t> seeds) {
  std::string text;
  for (const std::uint64_t seed : seeds) {
    const std::uint64_t done = load_agent(run, seed).iteration;
    const auto all = static_cast<std::uint64_t>(run.config.iterations());
    if (done >= all) continue;
    text +=
        fmt::format("{}seed {} has {} of {} iterations", text.empty() ? "" : ", ", seed, done, all);
  }
  if (text.empty()) return text;
  return fmt::format("{}: the training has not ended: {}; cclgym train continues it", run.folder,
                     text);
}

void print_cost_model_warnings(std::span<const TuningSetup* const> setups) {
  std::vector<std::string> said;
  for (const TuningSetup* setup : setups) {
    const CallSite& site = *setup->site;
    std::vector<std::string> texts = site.fabrics.front()->warnings();
    texts.push_back(cost_model_warning(site.cost_model, *site.fabrics.front()));
    for (const std::string& text : texts) {
      if (std::ranges::find(said, text) != said.end()) continue;
      print_warning(text);
      said.push_back(text);
    }
  }
}

}  // namespace cclgym
