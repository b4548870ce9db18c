#include "cli/synthesis/synthesis_files.hpp"

#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "experiments/sweep/cost_model_choice.hpp"
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

}  // namespace

ProgramFiles program_files(const synthesis::Synthesis& made, CollectiveKind collective,
                           XmlDialect dialect) {
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
      result.files.push_back(
          {"programs/" + program.name + ".xml",
           to_msccl_xml(*program.program, {.dialect = dialect, .end_bytes = XmlSettings::kNoEnd})});
    } catch (const UserError& error) {
      if (program.instances == 1) {
        result.notes.push_back(fmt::format("{} has no XML: {}", program.name, error.what()));
      }
      continue;
    }
    result.names.push_back(program.name);
  }
  return result;
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
