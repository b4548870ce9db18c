#include "cli/deployment/deployed_environment.hpp"

#include <fmt/format.h>

#include "cli/deployment/deploy_folder.hpp"

namespace cclgym {

std::string find_deployed(const std::string& folder, std::string_view part) {
  // Only zsh can read its expression, so that other shells must not parse it.
  return fmt::format(
      "# The folder may be moved: bash and zsh find it beside this file. For other shells, set "
      "CCLGYM_DEPLOYED.\n"
      "if [ -z \"${{CCLGYM_DEPLOYED:-}}\" ]; then\n"
      "  CCLGYM_DEPLOYED={}\n"
      "  if [ -n \"${{BASH_SOURCE:-}}\" ]; then\n"
      "    CCLGYM_DEPLOYED=$(unset CDPATH; cd -- \"$(dirname -- \"$BASH_SOURCE\")\" && pwd)\n"
      "  elif [ -n \"${{ZSH_VERSION:-}}\" ]; then\n"
      "    eval 'CCLGYM_DEPLOYED=${{${{(%):-%x}}:A:h}}'\n"
      "  fi\n"
      "fi\n"
      "if [ -e \"$CCLGYM_DEPLOYED/{}\" ]; then\n",
      shell_quoted(folder), part);
}

}  // namespace cclgym
