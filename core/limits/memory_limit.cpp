#include "core/limits/memory_limit.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <fstream>
#include <limits>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "core/limits/resource_error.hpp"

namespace cclgym {

namespace {

// Pages of address space and of data that the process has (proc(5), statm).
struct OwnMemory {
  double address_space = 0;
  double data = 0;
};

OwnMemory own_memory() {
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  double shared = 0;
  double text = 0;
  double library = 0;
  double data = 0;
  file >> size >> resident >> shared >> text >> library >> data;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {.address_space = size * page, .data = data * page};
}

// Limit of the process's control group; infinite if there is none ("max") or no control groups.
double group_limit() {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    std::ifstream file("/sys/fs/cgroup" + line.substr(3) + "/memory.max");
    double bytes = 0;
    if (file >> bytes) return bytes;
  }
  return kNone;
}

std::string mib(double bytes) { return fmt::format("{:.3g} MiB", bytes / (1U << 20U)); }

std::string gib(double bytes) { return fmt::format("{:.3g} GiB", bytes / (1U << 30U)); }

}  // namespace

MemoryLimit memory_limit() {
  struct sysinfo machine {};
  (void)::sysinfo(&machine);
  MemoryLimit limit{
      .bytes = (static_cast<double>(machine.totalram) + static_cast<double>(machine.totalswap)) *
               static_cast<double>(machine.mem_unit),
      .what = "this machine"};
  const auto take = [&limit](double bytes, const char* what) {
    if (bytes < limit.bytes) limit = {.bytes = std::max(bytes, 0.0), .what = what};
  };
  take(group_limit(), "the control group");
  const OwnMemory own = own_memory();
  rlimit found{};
  if (::getrlimit(RLIMIT_AS, &found) == 0 && found.rlim_cur != RLIM_INFINITY) {
    take(static_cast<double>(found.rlim_cur) - own.address_space, "ulimit -v");
  }
  if (::getrlimit(RLIMIT_DATA, &found) == 0 && found.rlim_cur != RLIM_INFINITY) {
    take(static_cast<double>(found.rlim_cur) - own.data, "ulimit -d");
  }
  return limit;
}

void require_memory(double bytes, const std::string& subject, const std::string& smaller) {
  const MemoryLimit limit = memory_limit();
  if (bytes <= limit.bytes) return;
  throw ResourceError(fmt::format("{} needs at least {} of memory; {} leaves {}; {}", subject,
                                  gib(bytes), limit.what, gib(limit.bytes), smaller));
}

void require_room(const std::string& path, double bytes, double added, const std::string& smaller) {
  const auto refuse = [&](const std::string& there_is) {
    throw ResourceError(
        fmt::format("{} needs at least {}; {}; {}", path, mib(bytes), there_is, smaller));
  };
  rlimit found{};
  if (::getrlimit(RLIMIT_FSIZE, &found) == 0 && found.rlim_cur != RLIM_INFINITY &&
      bytes > static_cast<double>(found.rlim_cur)) {
    refuse(fmt::format("files may have {} (ulimit -f)", mib(static_cast<double>(found.rlim_cur))));
  }
  const std::size_t slash = path.rfind('/');
  struct statvfs disk {};
  if (::statvfs(slash == std::string::npos ? "." : path.substr(0, slash + 1).c_str(), &disk) != 0) {
    return;
  }
  const double free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (added > free) refuse(fmt::format("its disk has {} left", mib(free)));
}

}  // namespace cclgym
