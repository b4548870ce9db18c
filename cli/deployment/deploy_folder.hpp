// The folder that `cclgym deploy` writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace cclgym {

/// A file of the folder.
struct DeployedFile {
  std::string name;
  std::string contents;
};

// Names in the folder.
inline constexpr std::string_view kDeployedPlugin = "libnccl-tuner-cclgym.so";
inline constexpr std::string_view kDeployedPolicy = "tuner.policy";
inline constexpr std::string_view kDeployedCsv = "tuner.csv";
inline constexpr std::string_view kDeployedConstants = "constants.csv";
inline constexpr std::string_view kDeployedEnvironment = "env.sh";
inline constexpr std::string_view kDeployedReadme = "README.md";

/// The plugin beside this program. Throws UserError if there is none.
[[nodiscard]] std::string read_plugin();

/// What `env.sh` begins with: by this line a folder is known for one of ours.
inline constexpr std::string_view kEnvironmentMark = "# Written by cclgym deploy";

/// Throws UserError if `folder` is there and neither empty nor written by deploy, unless `force`.
void check_deploy_folder(const std::string& folder, bool force);

/// Throws UserError at `where` if `path` is a file that deploying into `folder` replaces or
/// removes.
void refuse_deployed_file(const std::string& path, const std::string& folder,
                          const SourceLocation& where);

/// Writes the files whole or not at all into a new folder, or replaces those of one that is there:
/// files of deploy that are not among them are removed, others stay. Throws UserError.
void write_deploy_folder(const std::string& folder, const std::vector<DeployedFile>& files,
                         bool force);

/// In single quotes for a shell.
[[nodiscard]] std::string shell_quoted(std::string_view text);

}  // namespace cclgym
