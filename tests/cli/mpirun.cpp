#include "cli/mpirun.hpp"

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/sanitized.hpp"

namespace cclgym::test {

std::string cclgym_path() { return build_path("cclgym"); }

// AddressSanitizer refuses RTLD_DEEPBIND, with which the program loads MPI.
bool has_mpi() { return !kSanitized && std::filesystem::exists(build_path("libcclgym-ranks.so")); }

Words mpirun(std::size_t ranks, std::size_t node_size, const Words& args) {
  Words words{"OMPI_ALLOW_RUN_AS_ROOT=1",
              "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
              "CCLGYM_RANKS_PER_NODE=" + std::to_string(node_size),
              "mpirun",
              "--oversubscribe",
              "--quiet",
              "--bind-to",
              "none",
              "-n",
              std::to_string(ranks),
              cclgym_path()};
  words.insert(words.end(), args.begin(), args.end());
  return words;
}

Words on_hosts(const Netlab& netlab, const Words& args) {
  Words words = netlab.launch();
  words.erase(words.begin());  // "env", which run_words() adds
  words.push_back(cclgym_path());
  words.insert(words.end(), args.begin(), args.end());
  return words;
}

Ended run_words(const Words& words, const std::string& folder) {
  return run_with_streams(words, folder, {Stream::Kept, Stream::Kept, Stream::Kept},
                          "/usr/bin/env");
}

Ended run_ranks(std::size_t ranks, std::size_t node_size, const Words& args,
                const std::string& folder) {
  return run_words(mpirun(ranks, node_size, args), folder);
}

pid_t start_words(Words words, const std::string& err) {
  words.insert(words.begin(), "env");
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int file = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv("/usr/bin/env", argv.data());
  ::_exit(127);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

void check_refused(const Words& words, const std::string& folder, const std::string& message) {
  const Ended ended = run_words(words, folder);
  INFO(message + "\n" + ended.err);
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(count_of(ended.err, "\n") == 1);
  CHECK(count_of(ended.err, "error: ") == 1);
  CHECK(ended.err.find(message) != std::string::npos);
}

}  // namespace cclgym::test
