#include "cli/deployment/deploy_folder.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "core/files/companion.hpp"
#include "core/files/text_file.hpp"

namespace cclgym {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostPluginBytes = std::size_t{256} << 20;
constexpr std::size_t kMostEnvironmentBytes = std::size_t{1} << 20;
constexpr std::array kNames{kDeployedPlugin,    kDeployedPolicy,      kDeployedCsv,
                            kDeployedConstants, kDeployedEnvironment, kDeployedReadme,
                            kDeployedIndex};

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw UserError(quoted(path.string(), 200) + ": " + error.message());
}

fs::path clean(const std::string& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

bool is_ours(const fs::path& folder) {
  std::error_code error;
  const fs::path file = folder / kDeployedEnvironment;
  return fs::is_regular_file(file, error) &&
         read_text_file(file.string(), kMostEnvironmentBytes).starts_with(kEnvironmentMark);
}

// Removes the programs of an earlier deployment, which the executor would still load.
void remove_programs(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> programs;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("msccl-") && name.ends_with(".xml")) programs.push_back(entry.path());
  }
  for (const fs::path& program : programs) fs::remove(program, error);
  fs::remove(folder, error);  // if it is empty
}

// A folder that is removed again unless it was renamed.
class Staging {
 public:
  explicit Staging(const fs::path& beside)
      : path_(beside.parent_path() /
              (".cclgym-deploy-" + std::to_string(::getpid()) + ".partial")) {
    std::error_code error;
    fs::create_directories(beside.parent_path(), error);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    if (!error) fs::create_directory(path_, error);
    // The user knows the folder by its own name.
    if (error) {
      throw UserError(quoted(beside.string(), 200) +
                      ": the folder cannot be made: " + error.message());
    }
  }
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

std::string read_plugin() {
  std::error_code error;
  const std::string plugin = companion_file(std::string(kDeployedPlugin));
  if (!fs::is_regular_file(plugin, error)) {
    throw UserError(quoted(plugin, 200) +
                    ": the plugin is not beside the program; build target nccl-tuner-cclgym");
  }
  return read_text_file(plugin, kMostPluginBytes);
}

void check_deploy_folder(const std::string& folder, bool force) {
  const fs::path path = clean(folder);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw UserError(quoted(folder, 200) + ": not a folder");
  if (force || fs::is_empty(path, error) || is_ours(path)) return;
  throw UserError(quoted(folder, 200) +
                  ": a folder with other files; choose another, or add --force to write into it");
}

void refuse_deployed_file(const std::string& path, const std::string& folder,
                          const SourceLocation& where) {
  std::error_code error;
  for (const std::string_view name : kNames) {
    if (!fs::equivalent(path, clean(folder) / name, error)) continue;
    throw UserError(where,
                    quoted(path, 200) + " is a file of the folder to write; choose another folder");
  }
}

void write_deploy_folder(const std::string& folder, const std::vector<DeployedFile>& files,
                         bool force) {
  check_deploy_folder(folder, force);
  const fs::path path = clean(folder);
  const Staging staging(path);
  for (const DeployedFile& file : files) {
    const fs::path to = staging.path() / file.name;
    std::error_code made;
    fs::create_directories(to.parent_path(), made);
    write_text_file(to.string(), file.contents);
    if (file.name != kDeployedPlugin) continue;
    std::error_code error;
    fs::permissions(to, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add, error);
    if (error) fail(to, error);
  }
  std::error_code error;
  if (!fs::exists(path, error)) {
    fs::rename(staging.path(), path, error);
    if (error) fail(path, error);
    return;
  }
  remove_programs(path / kDeployedPrograms);
  for (const DeployedFile& file : files) {
    fs::create_directories((path / file.name).parent_path(), error);
    fs::rename(staging.path() / file.name, path / file.name, error);
    if (error) fail(path / file.name, error);
  }
  for (const std::string_view name : kNames) {
    if (std::ranges::find(files, name, &DeployedFile::name) == files.end()) {
      fs::remove(path / name, error);
    }
  }
}

std::string shell_quoted(std::string_view text) {
  std::string shell = "'";
  for (const char c : text) shell += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return shell + "'";
}

}  // namespace cclgym
