// Tests the plugin with a real NCCL, if there is one ($NCCL, or the one that CMake found), as far
// as possible without a GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deploy/nccl_plugin/tuner_testing.hpp"
#include "support/catch.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

std::string nccl_path() {
  const char* named = std::getenv("NCCL");
  const std::string path = named != nullptr ? named : CCLGYM_NCCL_PATH;
  std::error_code error;
  return std::filesystem::is_regular_file(std::filesystem::canonical(path, error), error) ? path
                                                                                          : "";
}

// The maximum N for which the file has the text "PREFIXN"; 0 if there is none.
int newest_name(const std::string& path, const std::string& prefix) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  const std::size_t size = std::filesystem::file_size(path);
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  REQUIRE(bytes != MAP_FAILED);
  int newest = 0;
  for (int version = 1; version <= 20; ++version) {
    const std::string name = prefix + std::to_string(version);
    // Includes the terminating zero: v1 must not match v12.
    if (::memmem(bytes, size, name.c_str(), name.size() + 1) != nullptr) newest = version;
  }
  ::munmap(bytes, size);
  ::close(file);
  return newest;
}

// Runs `work` in a child process, because NCCL keeps threads. Returns its exit code, or the
// negative signal number.
template <class Work>
int in_a_child(const std::string& log, const Work& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(1200);  // only a hang takes so long
    const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(to, STDOUT_FILENO);
    ::dup2(to, STDERR_FILENO);
    const int code = work();
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

constexpr int kCannotLoad = 100;
constexpr int kFailed = 101;

TEST_CASE("the plugin has the newest tables that a real NCCL looks for", "[deploy][nccl-library]") {
  SKIP_UNLESS(!nccl_path().empty(), kNeedsNccl);
  const Plugin plugin;
  for (const std::string prefix : {"ncclTunerPlugin_v", "ncclProfiler_v"}) {
    const int newest = newest_name(nccl_path(), prefix);
    INFO(nccl_path() << ": " << prefix << newest);
    CHECK(newest >= 2);
    // Newer releases fall back to the plugin's newest version; older releases find their own.
    const int ours = std::min(newest, 6);
    const bool had = prefix == "ncclTunerPlugin_v" || ours >= 5;
    CHECK((plugin.symbol(prefix + std::to_string(ours)) != nullptr) == had);
  }
}

TEST_CASE("a real NCCL loads beside the plugin, and without a GPU fails cleanly",
          "[deploy][nccl-library]") {
  SKIP_UNLESS(!nccl_path().empty(), kNeedsNccl);
  const TemporaryFolder folder;
  write_file(folder / "t.csv", "allreduce,0,1000,ring,ll,2,-1,-1\n");
  const int code = in_a_child(folder / "log", [&] {
    ::setenv("NCCL_TUNER_PLUGIN", Plugin::path().c_str(), 1);
    ::setenv("NCCL_PROFILER_PLUGIN", Plugin::path().c_str(), 1);
    ::setenv("CCLGYM_TUNER_CSV", (folder / "t.csv").c_str(), 1);
    ::setenv("CCLGYM_PROFILE", (folder / "times-%r.csv").c_str(), 1);
    ::setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    ::setenv("NCCL_DEBUG", "INFO", 1);
    void* nccl = ::dlopen(nccl_path().c_str(), RTLD_NOW | RTLD_LOCAL);
    void* plugin = ::dlopen(Plugin::path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (nccl == nullptr || plugin == nullptr) {
      std::printf("%s\n", ::dlerror());
      return kCannotLoad;
    }
    struct Id {
      char bytes[128];
    };
    const auto get_version = reinterpret_cast<int (*)(int*)>(::dlsym(nccl, "ncclGetVersion"));
    const auto get_id = reinterpret_cast<int (*)(Id*)>(::dlsym(nccl, "ncclGetUniqueId"));
    const auto init_all =
        reinterpret_cast<int (*)(void**, int, const int*)>(::dlsym(nccl, "ncclCommInitAll"));
    const auto init_rank =
        reinterpret_cast<int (*)(void**, int, Id, int)>(::dlsym(nccl, "ncclCommInitRank"));
    const auto destroy = reinterpret_cast<int (*)(void*)>(::dlsym(nccl, "ncclCommDestroy"));
    int version = 0;
    Id id{};
    if (get_version(&version) != 0 || version < 20000 || get_id(&id) != 0) return kFailed;
    std::printf("version %d\n", version);
    const int device = 0;
    void* communicator = nullptr;
    const int all = init_all(&communicator, 1, &device);
    if (all == 0) (void)destroy(communicator);
    communicator = nullptr;
    const int rank = init_rank(&communicator, 1, id, 0);
    if (rank == 0) (void)destroy(communicator);
    std::printf("ncclCommInitAll: %d, ncclCommInitRank: %d\n", all, rank);
    return 0;
  });
  INFO(read_file(folder / "log"));
  CHECK(code == 0);
  CHECK(read_file(folder / "log").find("ncclCommInitRank: ") != std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
