#include "core/files/companion.hpp"

#include <filesystem>
#include <system_error>

namespace cclgym {

std::string companion_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return name;
  const fs::path beside = self.parent_path() / name;
  const fs::path installed = self.parent_path() / CCLGYM_COMPANIONS / name;
  if (!fs::exists(beside, error) && fs::exists(installed, error)) {
    return installed.lexically_normal().string();
  }
  return beside.string();
}

}  // namespace cclgym
