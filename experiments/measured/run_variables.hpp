// NCCL's variables in the environment of a run, as a log and its shell's commands state them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/measured/measured_file.hpp"

namespace cclgym {

/// Variables of a run, and those that a shell exported for all later runs.
class RunVariables {
 public:
  /// Takes a variable (NCCL_ALGO=Tree); an empty value unsets it.
  void set(std::string_view name, std::string_view value);
  /// Takes the variables among words: "-x NCCL_ALGO=Tree", "-genv NCCL_ALGO Tree",
  /// "--export=ALL,NCCL_ALGO=Tree".
  void set_words(std::string_view text);
  /// Takes a shell's line, whose variables hold for the next run, for all later ones if it exports
  /// them, or no longer if it unsets them: "export NCCL_ALGO=Tree; ./all_reduce_perf".
  void command(std::string_view text);
  /// Ends the run: only exported variables are left.
  void next_run();
  /// Gives a row what the variables allow NCCL, and a note of those that a simulation leaves out.
  void complete(Measurement& row) const;

 private:
  std::string algorithm_;                                   // NCCL_ALGO
  std::string protocol_;                                    // NCCL_PROTO
  std::optional<bool> cross_nic_;                           // NCCL_CROSS_NIC
  std::map<std::string, std::string, std::less<>> others_;  // that change the choice or the path
  std::string exported_;  // assignments in their order; "NCCL_ALGO=" is an unset one
};

}  // namespace cclgym
