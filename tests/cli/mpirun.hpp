// Runs of the program under mpirun.
#pragma once

#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

#include "cli/program.hpp"
#include "support/netlab.hpp"

namespace cclgym::test {

using Words = std::vector<std::string>;

/// Path of the program.
[[nodiscard]] std::string cclgym_path();

/// True if the program can run on ranks.
[[nodiscard]] bool has_mpi();

/// Command line of mpirun for the program; groups of `node_size` ranks are treated as nodes (0: all
/// ranks are one node).
[[nodiscard]] Words mpirun(std::size_t ranks, std::size_t node_size, const Words& args);

/// Command line that runs the program on the hosts of a netlab, one rank per host.
[[nodiscard]] Words on_hosts(const Netlab& netlab, const Words& args);

/// Runs a command line in a folder.
[[nodiscard]] Ended run_words(const Words& words, const std::string& folder);

/// Runs the program on ranks in a folder.
[[nodiscard]] Ended run_ranks(std::size_t ranks, std::size_t node_size, const Words& args,
                              const std::string& folder);

/// Starts a command line and returns its process id; its output goes to the file `err`.
[[nodiscard]] pid_t start_words(Words words, const std::string& err);

/// Checks that a command line ends with exit code 2, nothing on standard output, and one line with
/// this message.
void check_refused(const Words& words, const std::string& folder, const std::string& message);

/// Number of places where `part` is found in `text`.
[[nodiscard]] std::size_t count_of(const std::string& text, const std::string& part);

}  // namespace cclgym::test
