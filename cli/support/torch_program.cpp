#include "cli/support/torch_program.hpp"

#include <cstdlib>
#include <unistd.h>

#include "agents/network/policy_gradient.hpp"
#include "core/error.hpp"
#include "core/files/companion.hpp"

namespace cclgym {

namespace {

void become_program_with_torch(const std::string& command, const std::vector<std::string>& args) {
  const std::string program = companion_file("cclgym-train");
  if (::access(program.c_str(), X_OK) != 0) return;
  std::vector<std::string> words{"cclgym", command};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // OpenBLAS would start a thread per core when it is loaded, in each rank; gradients are computed
  // with one.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 0);
  ::execv(program.c_str(), argv.data());
}

}  // namespace

void need_torch(const std::string& command, const std::vector<std::string>& args,
                const std::string& what) {
  if (training_available()) return;
  become_program_with_torch(command, args);
  throw UserError("cannot " + what + ": " + training_library());
}

}  // namespace cclgym
