// Deployment of a policy to MSCCL's executors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/deployment/deploy_folder.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "deploy/runtime/policy_file.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

// Values of option --for.
inline constexpr std::string_view kForMsccl = "msccl";             ///< microsoft/msccl
inline constexpr std::string_view kForMscclAzure = "msccl-azure";  ///< Azure/msccl-executor-nccl

/// The dialect that a value of --for names; nullopt for a release of NCCL.
[[nodiscard]] std::optional<XmlDialect> msccl_dialect(std::string_view name);

struct MscclDeployment {
  std::vector<DeployedFile> files;  ///< programs/*.xml, index.csv, env.sh and README.md
  std::vector<std::string> said;    ///< lines for the user
};

/// The files of a folder for the executor of `dialect`. `place` names the policy in errors,
/// `folder` is the absolute path of the folder. Throws UserError as msccl_files does, and if the
/// policy leaves all calls to NCCL.
[[nodiscard]] MscclDeployment deploy_msccl(const PolicyFile& policy, const TuningSetup& setup,
                                           XmlDialect dialect, const std::string& place,
                                           const std::string& folder);

}  // namespace cclgym
