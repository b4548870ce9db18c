// Choices from a CSV in the format of NCCL's example tuner.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

inline constexpr std::size_t kMostTunerRows = 65536;

/// Lines "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps
/// [,regBuff]]", where -1 matches anything (channels: NCCL's choice; max_bytes: no limit). A
/// header, empty lines and comments after # are ignored. The first line that matches a call
/// applies. Immutable.
class RowChoices : public TunerChoices {
 public:
  /// Reads the choices for a communicator. A line that cannot be used is skipped, because one must
  /// not cost the others; regBuff must be -1: each rank knows only about its own buffers, and all
  /// ranks must agree. Throws UserError "NAME:LINE: …" if no line can be used, and for too many.
  RowChoices(std::string_view text, const std::string& name, std::size_t ranks, std::size_t nodes);

  [[nodiscard]] std::span<const TunerChoice> wanted(int collective, std::uint64_t bytes,
                                                    int pipe_ops) const override;
  [[nodiscard]] std::string description() const override { return description_; }
  /// Sentences "NAME:LINE: …; the line is skipped".
  [[nodiscard]] const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  struct Row {
    std::uint64_t least_bytes = 0;
    std::uint64_t most_bytes = 0;
    int pipe_ops = -1;
    TunerChoice choice;
  };
  struct Line;

  /// Rows by collective. A look-up is a linear search, because tables are short.
  std::array<std::vector<Row>, kNcclCollectiveNames.size()> rows_;
  std::string description_;
  std::vector<std::string> skipped_;
};

/// True if a file is such a CSV, by its name (*.csv, *.conf) or its first line that is no comment.
[[nodiscard]] bool is_tuner_csv(std::string_view text, std::string_view name);

}  // namespace cclgym
