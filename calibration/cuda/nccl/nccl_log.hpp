// What NCCL says that it did (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING), held against what a tuner
// chose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cost_models/nccl/nccl_version.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

/// One line "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..3}", which rank
/// 0 writes for each call that a tuner is asked about. By NCCL's numbers
/// (deploy/nccl_plugin/nccl_names.hpp).
struct NcclDecision {
  int collective = 0;
  std::uint64_t bytes = 0;
  int algorithm = 0;
  int protocol = 0;
  int channels = 0;      ///< Hi - Lo + 1, those that carry the call
  std::size_t line = 0;  ///< of the log, from 1
};

/// The decisions of a log, or of a part of it that ends with a whole line; `first_line` is the
/// number of its first line. All other lines are passed over. Throws UserError at NAME:LINE for
/// such a line with names or numbers that NCCL does not have.
[[nodiscard]] std::vector<NcclDecision> read_nccl_log(std::string_view text,
                                                      const std::string& name,
                                                      std::size_t first_line = 1);

/// The communicator that wrote the log.
struct LoggedCommunicator {
  int ranks = 2;
  NcclVersion version{};
  int channels = 0;  ///< that it has; 0: at least those that were chosen
};

/// How a call went.
enum class NcclAgreement : std::uint8_t {
  Same,          ///< algorithm, protocol and channels as chosen, or channels left to NCCL
  FewerByModel,  ///< fewer channels, just as many as NCCL's traffic scheduler gives that few bytes
  LaterChoice,   ///< a later one of the tuner's choices, as NCCL cannot do the first
  Channels,      ///< another number of channels
  Different,     ///< another algorithm or protocol
  NotChosen,     ///< the tuner leaves the call to NCCL
};
[[nodiscard]] std::string_view to_string(NcclAgreement agreement);

[[nodiscard]] NcclAgreement agreement(const NcclDecision& decision, const TunerChoices& choices,
                                      const LoggedCommunicator& communicator);

/// A kind of disagreement: which calls, and why.
struct NcclDisagreement {
  NcclDecision first;  ///< the first such call
  NcclAgreement agreement = NcclAgreement::Different;
  TunerChoice chosen;
  std::size_t calls = 0;
};

struct NcclLogCheck {
  std::size_t calls = 0;
  std::map<NcclAgreement, std::size_t> by_agreement;
  std::vector<NcclDisagreement> disagreements;  ///< all that are not Same or NotChosen, in order

  /// Calls about which the tuner had a choice.
  [[nodiscard]] std::size_t chosen() const;
  /// Share of those that went as chosen; 0 if there were none.
  [[nodiscard]] double same_share() const;
  /// Share of those that went as chosen or are explained (FewerByModel, LaterChoice).
  [[nodiscard]] double explained_share() const;
};

[[nodiscard]] NcclLogCheck check_nccl_log(const std::vector<NcclDecision>& decisions,
                                          const TunerChoices& choices,
                                          const LoggedCommunicator& communicator);

/// In words: the shares, then each disagreement with its reason.
[[nodiscard]] std::string nccl_log_text(const NcclLogCheck& check);

}  // namespace cclgym
