// Choices from a CSV as NCCL's example tuner reads it.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

inline constexpr std::size_t kMostTunerRows = 65536;

/// Lines "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps
/// [,regBuff]]", -1 for anything (channels: NCCL's choice); a header, empty lines and what follows
/// a # are passed over. The first line that matches a call counts. Immutable.
class RowChoices : public TunerChoices {
 public:
  /// Those for a communicator. Throws UserError "NAME:LINE: …" at what is no such line. regBuff
  /// must be -1: whether a buffer is registered is known to one rank only, and ranks must agree.
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
  /// By collective. A look-up goes through them one by one, as tables are short.
  std::array<std::vector<Row>, kNcclCollectiveNames.size()> rows_;
  std::string description_;
};

}  // namespace cclgym
