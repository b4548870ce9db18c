// Choices from a CSV in the format of NCCL's example tuner.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

inline constexpr std::size_t kMostTunerRows = 65536;

/// Lines "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps
/// [,regBuff]]", where -1 matches anything (channels: NCCL's choice). A header, empty lines and
/// comments after # are ignored. The first line that matches a call applies. Immutable.
class RowChoices : public TunerChoices {
 public:
  /// Reads the choices for a communicator. Throws UserError "NAME:LINE: …" for a malformed line.
  /// regBuff must be -1: each rank knows only about its own buffers, and all ranks must agree.
  RowChoices(std::string_view text, const std::string& name, std::size_t ranks, std::size_t nodes);

  [[nodiscard]] std::span<const TunerChoice> wanted(int collective, std::uint64_t bytes,
                                                    int pipe_ops) const override;
  [[nodiscard]] std::string description() const override { return description_; }

 private:
  struct Row {
    std::uint64_t least_bytes = 0;
    std::uint64_t most_bytes = 0;
    int pipe_ops = -1;
    TunerChoice choice;
  };
  /// Rows by collective. A look-up is a linear search, because tables are short.
  std::array<std::vector<Row>, kNcclCollectiveNames.size()> rows_;
  std::string description_;
};

}  // namespace cclgym
