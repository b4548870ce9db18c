#include "cli/processes.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <sys/wait.h>

#include "support/waiting.hpp"

namespace cclgym::test {

pid_t parent_of(pid_t process) {
  const std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  // Reading fails if the process ends meanwhile; << then keeps what it has, where iterators throw.
  std::ostringstream copy;
  copy << file.rdbuf();
  const std::string text = copy.str();
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 2));
  std::string state;
  pid_t parent = 0;
  rest >> state >> parent;
  return state == "Z" ? 0 : parent;
}

namespace {

// Number that the launcher gave to a rank; -1 if the process has ended.
int rank_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ");
  const std::string name = "OMPI_COMM_WORLD_RANK=";
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.starts_with(name)) return std::stoi(variable.substr(name.size()));
  }
  return -1;
}

}  // namespace

Processes processes_of(pid_t mpirun) {
  std::map<pid_t, pid_t> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) {
      continue;
    }
    const pid_t process = std::stoi(name);
    if (const pid_t parent = parent_of(process); parent > 0) parents[process] = parent;
  }
  const auto depth = [&](pid_t process) {
    for (int steps = 0; steps < 5; ++steps) {
      if (process == mpirun) return steps;
      const auto found = parents.find(process);
      if (found == parents.end()) break;
      process = found->second;
    }
    return -1;
  };
  Processes found;
  for (const auto& [process, parent] : parents) {
    const int steps = depth(process);
    if (steps == 1) found.ranks.push_back(process);
    if (steps == 2) found.hosts.push_back(process);
    if (steps == 3) found.simulators.push_back(process);
    if (steps > 0) found.parents[process] = parent;
  }
  // Process ids need not be in the order of the ranks.
  std::sort(found.ranks.begin(), found.ranks.end(),
            [](pid_t one, pid_t other) { return rank_of(one) < rank_of(other); });
  return found;
}

bool ends(pid_t process) {
  return comes_true([process] { return parent_of(process) == 0; });
}

int exit_code_of(pid_t child) {
  int status = 0;
  if (comes_true([&] { return ::waitpid(child, &status, WNOHANG) == child; })) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return -1;
}

}  // namespace cclgym::test
