#include "cli/synthesis/synthesis_files.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "experiments/sweep/cost_model_choice.hpp"
#include "sim/config_checks.hpp"
#include "synthesis/certificates/certificate_file.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

using synthesis::SynthesizedProgram;

namespace {

std::string path_seen_from(const std::string& path, const std::string& folder) {
  std::error_code error;
  const auto seen = std::filesystem::proximate(path, folder, error);
  return error ? path : seen.generic_string();
}

std::string file_of(const std::string& program) { return "programs/" + program + ".xml"; }

// Throws UserError if a GPU cannot run all thread blocks of the program at once.
void require_loadable(const ThreadBlockProgram& program, const CostModel& gpu) {
  if (!limits_blocks(gpu)) return;
  const int threads = Config{}.threads;
  const int limit = gpu.resident_thread_blocks(threads);
  const std::int64_t blocks = program.most_resident_blocks();
  if (blocks <= limit) return;
  throw UserError(fmt::format(
      "program '{}' cannot be loaded: it needs {} thread blocks on a GPU, and by cost model {} a "
      "GPU runs {} of {} threads at once",
      program.name, blocks, gpu.name, limit, threads));
}

}  // namespace

ProgramFiles program_files(const synthesis::Synthesis& made, CollectiveKind collective,
                           XmlDialect dialect, const CostModel& gpu) {
  ProgramFiles result;
  if (collective == CollectiveKind::Gather || collective == CollectiveKind::Scatter) {
    if (!made.programs.empty()) {
      result.notes.push_back(
          fmt::format("MSCCL XML has no {}: there are no program files and no sweep; the schedules "
                      "are in the report and in the certificates.",
                      to_string(collective)));
    }
    return result;
  }
  for (const SynthesizedProgram& program : made.programs) {
    try {
      require_loadable(*program.program, gpu);
      result.files.push_back(
          {file_of(program.name),
           to_msccl_xml(*program.program, {.dialect = dialect, .end_bytes = XmlSettings::kNoEnd})});
    } catch (const UserError& error) {
      if (program.instances == 1) {
        result.notes.push_back(fmt::format("{} has no XML: {}", program.name, error.what()));
        if (result.refusal.empty()) result.refusal = error.what();
      }
      continue;
    }
    result.names.push_back(program.name);
  }
  if (!result.names.empty()) result.refusal.clear();
  return result;
}

std::vector<NamedText> table_files(DispatchTable& table, const synthesis::Synthesis& made,
                                   XmlDialect dialect) {
  struct Use {
    const SynthesizedProgram* program = nullptr;
    std::string name{};  // in the table
    XmlSettings settings{};
  };
  std::vector<Use> uses;
  std::map<std::string, int> count;  // by program
  for (DispatchBlock& block : table.blocks) {
    for (DispatchRange& range : block.ranges) {
      Config& config = range.choice.config;
      const auto program =
          std::ranges::find(made.programs, config.algorithm, &SynthesizedProgram::name);
      if (program == made.programs.end()) continue;
      const std::string protocol(to_string(config.protocol));
      const bool goes_on = !uses.empty() && uses.back().program == &*program &&
                           uses.back().settings.protocol == protocol &&
                           uses.back().settings.end_bytes == range.from_bytes;
      if (!goes_on) {
        const int number = ++count[program->name];
        uses.push_back(
            {.program = &*program,
             .name = number == 1 ? program->name : fmt::format("{}-range{}", program->name, number),
             .settings = {
                 .dialect = dialect, .protocol = protocol, .min_bytes = range.from_bytes}});
        if (number > 1) {
          NamedProgram named =
              *std::ranges::find(table.programs, program->name, &NamedProgram::name);
          named.file = file_of(uses.back().name);
          named.name = uses.back().name;
          table.programs.push_back(std::move(named));
        }
      }
      uses.back().settings.end_bytes = range.to_bytes;
      config.algorithm = uses.back().name;
    }
  }
  std::vector<NamedText> files;
  for (const Use& use : uses) {
    files.push_back({file_of(use.name), to_msccl_xml(*use.program->program, use.settings)});
  }
  return files;
}

std::vector<NamedText> certificate_files(const synthesis::Synthesis& made,
                                         const std::string& folder, FabricSpec spec,
                                         const std::shared_ptr<const Fabric>& fabric) {
  spec = seen_from(std::move(spec), folder + "/certificates");
  std::set<std::string> names;
  std::vector<NamedText> files;
  for (const synthesis::Certificate& certificate : made.certificates) {
    const std::string stem = synthesis::file_stem(certificate);
    std::string name = stem;
    for (int number = 2; !names.insert(name).second; ++number) {
      name = fmt::format("{}-{}", stem, number);
    }
    files.push_back({"certificates/" + name + ".json",
                     synthesis::certificate_text(
                         {.fabric_spec = spec, .fabric = fabric, .certificate = certificate})});
  }
  return files;
}

FabricSpec seen_from(FabricSpec spec, const std::string& folder) {
  if (find_fabric_info(spec.name) == nullptr) spec.name = path_seen_from(spec.name, folder);
  return spec;
}

std::string cost_model_seen_from(const std::string& name, const std::string& folder) {
  return is_parameter_file(name) ? path_seen_from(name, folder) : name;
}

}  // namespace cclgym
