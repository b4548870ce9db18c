#include "cli/deployment/deploy_msccl.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "agents/export/deployed_machine.hpp"
#include "agents/export/msccl_files.hpp"
#include "cli/deployment/deployed_environment.hpp"
#include "core/error.hpp"
#include "core/version.hpp"

namespace cclgym {

namespace {

// microsoft/msccl loads at most this many programs.
constexpr std::size_t kMostLoaded = 4;

// Indices of the files to load, in their order: those with the most sizes.
std::vector<std::size_t> loaded_files(const std::vector<MscclFile>& files) {
  std::vector<std::size_t> loaded(files.size());
  std::iota(loaded.begin(), loaded.end(), std::size_t{0});
  std::stable_sort(loaded.begin(), loaded.end(),
                   [&](std::size_t a, std::size_t b) { return files[a].sizes > files[b].sizes; });
  loaded.resize(std::min(loaded.size(), kMostLoaded));
  std::sort(loaded.begin(), loaded.end());
  return loaded;
}

std::string environment_of(const std::vector<MscclFile>& files, XmlDialect dialect,
                           const std::string& folder) {
  std::string text = fmt::format(
      "{} {} for MSCCL's executor ({}). In every rank's environment, before NCCL starts:\n"
      "#   . {}\n"
      "{}",
      kEnvironmentMark, program_version(), to_string(dialect),
      shell_quoted(folder + "/" + std::string(kDeployedEnvironment)),
      find_deployed(folder, kDeployedPrograms));
  if (dialect == XmlDialect::Azure) {
    return text + fmt::format("export MSCCL_ALGO_DIR=\"$CCLGYM_DEPLOYED/{}\"\n{}",
                              kDeployedPrograms, kDeployedFound);
  }
  std::string list;
  for (const std::size_t i : loaded_files(files)) {
    list += fmt::format("{}$CCLGYM_DEPLOYED/{}/{}", list.empty() ? "" : ":", kDeployedPrograms,
                        files[i].name);
  }
  return text + fmt::format("export MSCCL_XML_FILES=\"{}\"\nexport NCCL_ALGO=MSCCL,RING,TREE\n{}",
                            list, kDeployedFound);
}

std::string readme_of(const std::vector<std::string>& said, const std::string& folder) {
  std::string text = fmt::format(
      "# Programs for MSCCL\n\nWritten by cclgym deploy {}. One line to add to a job:\n\n"
      "```sh\n. {}\n```\n\n"
      "`{}` has the programs, each for one interval of sizes, and `{}` a line for every interval.\n"
      "Sizes of no file, and calls whose elements the chunks of a program do not divide, are "
      "carried out by NCCL.\n\n",
      program_version(), shell_quoted(folder + "/" + std::string(kDeployedEnvironment)),
      kDeployedPrograms, kDeployedIndex);
  for (const std::string& line : said) text += "* " + line + "\n";
  return text;
}

}  // namespace

std::optional<XmlDialect> msccl_dialect(std::string_view name) {
  if (name == kForMsccl) return XmlDialect::Microsoft;
  if (name == kForMscclAzure) return XmlDialect::Azure;
  return std::nullopt;
}

MscclDeployment deploy_msccl(const PolicyFile& policy, const TuningSetup& setup, XmlDialect dialect,
                             const std::string& place, const std::string& folder) {
  MscclFiles made = msccl_files(deployed_choices(policy, setup), setup, dialect, place);
  if (made.files.empty()) {
    throw UserError(fmt::format(
        "{}: on {} the policy chooses tuners and NCCL's own programs only, which need no files; "
        "deploy it for a release of NCCL, or train with actions: offline",
        place, setup.fabric_label));
  }
  MscclDeployment deployment;
  deployment.said.push_back(
      fmt::format("{}: {} programs, read again and verified; {} intervals are "
                  "left to NCCL",
                  setup.fabric_label, made.files.size(), made.left_to_nccl));
  if (dialect == XmlDialect::Microsoft && made.files.size() > kMostLoaded) {
    deployment.said.push_back(fmt::format(
        "microsoft/msccl loads at most {} programs: {} names those with the most sizes, "
        "and the other {} are not used; --for {} has no such limit",
        kMostLoaded, kDeployedEnvironment, made.files.size() - kMostLoaded, kForMscclAzure));
  }
  deployment.files.push_back(
      {std::string(kDeployedEnvironment), environment_of(made.files, dialect, folder)});
  deployment.files.push_back({std::string(kDeployedReadme), readme_of(deployment.said, folder)});
  deployment.files.push_back({std::string(kDeployedIndex), std::move(made.index)});
  for (MscclFile& file : made.files) {
    deployment.files.push_back(
        {std::string(kDeployedPrograms) + "/" + file.name, std::move(file.text)});
  }
  return deployment;
}

}  // namespace cclgym
