// cclgym list: the names that other commands and experiments take.
#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/output/json_output.hpp"
#include "cli/programs/programs_option.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "env/tuning/workload/workload.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/engine_library.hpp"
#include "sim/noise/noise_profile.hpp"
#include "sim/tuners/tuner.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines fabrics(const AlgorithmLibrary& /*library*/) {
  Lines lines;
  for (const FabricInfo& info : fabric_infos()) lines.emplace_back(info.name, info.description);
  return lines;
}

Lines collectives(const AlgorithmLibrary& library) {
  Lines lines;
  const auto algorithms_of = [&](CollectiveKind kind) {
    std::string algorithms;
    for (const AlgorithmEntry& entry : library.entries()) {
      if (supports(entry, kind)) algorithms += (algorithms.empty() ? "" : ", ") + entry.name;
    }
    return algorithms;
  };
  for (const CollectiveKind kind : all_collectives()) {
    lines.emplace_back(to_string(kind), algorithms_of(kind));
  }
  // Only programs of the user have one.
  const std::string custom = algorithms_of(CollectiveKind::Custom);
  if (!custom.empty()) lines.emplace_back(to_string(CollectiveKind::Custom), custom);
  return lines;
}

Lines algorithms(const AlgorithmLibrary& library) {
  Lines lines;
  for (const AlgorithmEntry& entry : library.entries()) {
    lines.emplace_back(entry.name, entry.description);
    lines.emplace_back("", fmt::format("{}; {}", collectives_text(entry), entry.ranks.text));
  }
  lines.emplace_back(algorithms::levels_form(),
                     "a collective over levels of ranks, innermost first, e.g. "
                     "hierarchical:8x256:ring+recursive or hierarchical:nodes:bruck:avoided");
  lines.emplace_back("", algorithms::levels_options());
  for (const TunerInfo& info : tuner_infos()) {
    lines.emplace_back(info.form, "chooses the configuration of each call: " + info.description);
  }
  return lines;
}

Lines protocols(const AlgorithmLibrary& /*library*/) {
  return {{"LL", "4 B of flag with every 4 B of data: lowest latency, half of the bandwidth"},
          {"LL128", "8 B of flag in every 128 B: low latency, 94 % of the bandwidth"},
          {"Simple", "data without flags, one fence per step: highest bandwidth, slowest steps"}};
}

Lines cost_models(const AlgorithmLibrary& /*library*/) {
  Lines lines;
  for (const std::string& name : cost_model_names()) {
    lines.emplace_back(name, shipped_cost_model(name).description);
  }
  return lines;
}

Lines noises(const AlgorithmLibrary& /*library*/) {
  Lines lines;
  for (const std::string& name : noise_profile_names()) {
    lines.emplace_back(name,
                       name == "none" ? "no random draws" : noise_profile_for(name).description);
  }
  return lines;
}

Lines engines(const AlgorithmLibrary& /*library*/) {
  Lines lines;
  for (const EngineInfo& info : engine_infos()) {
    lines.emplace_back(info.name, info.description);
    const std::string reason = missing_engine_library(info.name);
    if (!reason.empty()) lines.emplace_back("", "not available: " + reason);
  }
  return lines;
}

Lines workloads(const AlgorithmLibrary& /*library*/) {
  Lines lines;
  for (const WorkloadInfo& info : workload_infos()) lines.emplace_back(info.name, info.description);
  return lines;
}

const std::vector<std::pair<std::string, std::function<Lines(const AlgorithmLibrary&)>>>& topics() {
  static const std::vector<std::pair<std::string, std::function<Lines(const AlgorithmLibrary&)>>>
      all{{"fabrics", fabrics},     {"collectives", collectives}, {"algorithms", algorithms},
          {"protocols", protocols}, {"cost-models", cost_models}, {"noise", noises},
          {"engines", engines},     {"workloads", workloads}};
  return all;
}

// A line without a key continues the description of the one before.
nlohmann::ordered_json json_of(const Lines& lines) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const auto& [key, text] : lines) {
    if (key.empty()) {
      names.back()["details"] = text;
    } else {
      names.push_back({{"name", key}, {"description", text}});
    }
  }
  return names;
}

int list(const std::vector<std::string>& args) {
  ArgumentReader reader(list_command());
  add_programs_option(reader);
  reader.flag("json", kJsonHelp);
  const auto arguments = reader
                             .positional("WHAT",
                                         "kind of names to list: fabrics, collectives, algorithms, "
                                         "protocols, cost-models, noise, engines or workloads")
                             .read(args);
  if (!arguments) return 0;
  const AlgorithmLibrary library = library_of(*arguments);
  const std::string& what = arguments->text("WHAT");
  std::vector<std::string> names;
  for (const auto& [name, lines_of] : topics()) {
    names.push_back(name);
    if (name != what) continue;
    const Lines lines = lines_of(library);
    if (wants_json(*arguments)) {
      print_json(json_of(lines));
      return 0;
    }
    std::size_t width = 0;
    for (const auto& [key, text] : lines) width = std::max(width, key.size());
    for (const auto& [key, text] : lines) print_out("{:<{}}  {}\n", key, width, text);
    return 0;
  }
  throw UserError(unknown_name_message("list", what, names));
}

}  // namespace

const Command& list_command() {
  static const Command command{
      .name = "list",
      .summary = "List fabrics, algorithms, cost models, workloads, …",
      .usage = "fabrics|collectives|algorithms|protocols|cost-models|noise|engines|workloads",
      .examples =
          "  cclgym list algorithms\n"
          "      every algorithm and tuner, with its collectives and numbers of ranks\n"
          "  cclgym list collectives\n"
          "      every collective, with its algorithms\n",
      .run = list};
  return command;
}

}  // namespace cclgym
