// Facts about one run of nccl-tests or a program like it, which its rows share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/measured/measured_file.hpp"
#include "experiments/measured/run_variables.hpp"

namespace cclgym {

/// A line of the list of devices: "Rank  0 Group  0 Pid 7000 on alpha0 device 0 [0000:10:00] H100".
struct MeasuredDevice {
  int rank = 0;
  int group = 0;      ///< of NCCL_TESTS_SPLIT; a call has the ranks of one group
  std::string host;   ///< containers may share a name
  std::string place;  ///< number of the device and its bus
  std::string model;  ///< "NVIDIA H100 80GB HBM3"; may be empty
};

/// Facts that hold for all rows of a run. complete() gives them to a row.
class MeasuredRun {
 public:
  std::optional<CollectiveKind> collective{};
  std::string unknown;  ///< a test without a collective here: "hypercube_perf"; may be empty
  std::string version;  ///< "2.28.9"; empty: not stated
  std::vector<std::string> notes;  ///< facts of the run that a simulation leaves out
  std::vector<MeasuredDevice> devices;
  std::optional<NetworkKind> network{};
  RunVariables variables;

  /// Takes the release from a number as NCCL prints it: 22809 is 2.28.9, 2804 is 2.8.4.
  void set_version_code(int code);
  /// Fills in a row that has its size, time and place: collective, ranks, nodes, release and what
  /// the environment allowed NCCL. Throws UserError if a value is stated nowhere, if an option
  /// contradicts the output or what the row prints of its call, or if the ranks are not those of
  /// one call on equal nodes.
  void complete(Measurement& row, const MeasuredFileContext& context) const;

 private:
  struct Layout {
    int ranks = 0;
    int nodes = 0;
    int groups = 1;
  };
  [[nodiscard]] Layout layout(const SourceLocation& where,
                              const MeasuredFileContext& context) const;
  void check_options(const Measurement& row, const MeasuredFileContext& context) const;
  void release_of(Measurement& row, const MeasuredFileContext& context) const;
};

}  // namespace cclgym
