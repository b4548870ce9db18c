// The part of a deployed env.sh that finds its folder.
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

/// Lines that set CCLGYM_DEPLOYED to the folder of the file that is being read, unless the job has
/// set it. bash and zsh know where that file is; other shells take `folder`, where deploy wrote it.
/// The lines after them are skipped, with one line on standard error, if the folder has no `part`;
/// they must end with kDeployedFound.
[[nodiscard]] std::string find_deployed(const std::string& folder, std::string_view part);

/// Last lines of the file. Without `unset`, the file of another folder, read later in the same
/// shell, would use this one.
inline constexpr const char* kDeployedFound =
    "else\n"
    "  echo \"cclgym: $CCLGYM_DEPLOYED is not a deployed folder, so NCCL decides alone; set "
    "CCLGYM_DEPLOYED to its path\" >&2\n"
    "fi\n"
    "unset CCLGYM_DEPLOYED\n";

}  // namespace cclgym
