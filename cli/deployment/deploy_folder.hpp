// The folder that `cclgym deploy` writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace cclgym {

/// A file of the folder.
struct DeployedFile {
  std::string name;  ///< one of the names below, or that of a program, "programs/FILE"
  std::string contents;
};

// Names of the files in the folder.
inline constexpr std::string_view kDeployedPlugin = "libnccl-tuner-cclgym.so";
inline constexpr std::string_view kDeployedPolicy = "tuner.policy";
inline constexpr std::string_view kDeployedCsv = "tuner.csv";
inline constexpr std::string_view kDeployedConstants = "constants.csv";
inline constexpr std::string_view kDeployedEnvironment = "env.sh";
inline constexpr std::string_view kDeployedReadme = "README.md";
inline constexpr std::string_view kDeployedIndex = "index.csv";
/// Folder in it that has programs in MSCCL XML and nothing else: Azure's executor reads every file.
inline constexpr std::string_view kDeployedPrograms = "programs";

/// Content of the plugin beside this program. Throws UserError if there is none.
[[nodiscard]] std::string read_plugin();

/// First line of `env.sh`, which identifies a folder written by deploy.
inline constexpr std::string_view kEnvironmentMark = "# Written by cclgym deploy";

/// Throws UserError if `folder` exists and is neither empty nor written by deploy, unless `force`.
void check_deploy_folder(const std::string& folder, bool force);

/// Throws UserError at `where` if `path` is a file that deploying into `folder` replaces or
/// removes.
void refuse_deployed_file(const std::string& path, const std::string& folder,
                          const SourceLocation& where);

/// Writes the files atomically into a new folder, or replaces those of an existing one: other files
/// of deploy are removed, among them all other XML files in `programs`; foreign ones stay. Throws
/// UserError.
void write_deploy_folder(const std::string& folder, const std::vector<DeployedFile>& files,
                         bool force);

/// The text in single quotes for a shell.
[[nodiscard]] std::string shell_quoted(std::string_view text);

}  // namespace cclgym
