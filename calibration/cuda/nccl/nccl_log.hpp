// Comparison of NCCL's log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,TUNING) with the choices of a
// tuner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"

namespace cclgym {

/// One line "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..3}", which rank
/// 0 writes for each call about which a tuner is asked. Uses NCCL's numbers
/// (deploy/nccl_plugin/nccl_names.hpp).
struct NcclDecision {
  int collective = 0;
  /// Bytes as NCCL logs them (2.24 and newer): those that a rank sends, and in ReduceScatter those
  /// that it receives.
  std::uint64_t bytes = 0;
  int algorithm = 0;
  int protocol = 0;
  int channels = 0;      ///< Hi - Lo + 1: the channels that carry the call
  std::size_t line = 0;  ///< line in the log, from 1
  /// Channels of the communicator, of which NCCL uses all or fewer: those of the last line "2 coll
  /// channels, …" before this one, which NCCL writes (subsystem INIT) for each communicator; 0:
  /// unknown.
  int channels_of_communicator = 0;
};

/// NCCL's number for an algorithm as a log writes it: "RING", "NVLSTree", "NVLS_TREE".
[[nodiscard]] std::optional<int> algorithm_of_log(std::string_view name);

/// The decision of one line; nullopt for other lines. Throws as read_nccl_log does.
[[nodiscard]] std::optional<NcclDecision> read_nccl_decision(std::string_view line,
                                                             const SourceLocation& where);

/// The decisions of a log, or of a part of it that ends with a complete line; `first_line` is the
/// number of its first line, and `channels` the number of the communicator's channels, if that is
/// known from an earlier part. Ignores all other lines. Throws UserError at NAME:LINE for a
/// decision with names or numbers that NCCL does not have.
[[nodiscard]] std::vector<NcclDecision> read_nccl_log(std::string_view text,
                                                      const std::string& name,
                                                      std::size_t first_line = 1, int channels = 0);

/// The communicator that wrote the log.
struct LoggedCommunicator {
  int ranks = 2;
  NcclVersion version{};
  int channels = 0;  ///< number of its channels; 0: as many as the tuner chooses
};

/// The size of a decision's call as tuners count it: that of the larger of a rank's two buffers, B.
[[nodiscard]] std::uint64_t call_bytes(const NcclDecision& decision, int ranks);

/// Relation between NCCL's decision and the tuner's choice.
enum class NcclAgreement : std::uint8_t {
  Same,                 ///< algorithm, protocol and channels as chosen, or channels left to NCCL
  FewerByModel,         ///< the fewer channels that NCCL's traffic scheduler uses for so few bytes
  FewerByCommunicator,  ///< all channels of the communicator, which has fewer
  LaterChoice,          ///< one of the tuner's later choices, because NCCL cannot do the first
  Channels,             ///< a different number of channels
  Different,            ///< a different algorithm or protocol
  NotChosen,            ///< the tuner leaves the call to NCCL
};
[[nodiscard]] std::string_view to_string(NcclAgreement agreement);

[[nodiscard]] NcclAgreement agreement(const NcclDecision& decision, const TunerChoices& choices,
                                      const LoggedCommunicator& communicator);

/// A kind of disagreement: the calls and the reason.
struct NcclDisagreement {
  NcclDecision first;       ///< the first such call
  std::uint64_t bytes = 0;  ///< its call_bytes()
  NcclAgreement agreement = NcclAgreement::Different;
  TunerChoice chosen;
  std::size_t calls = 0;
};

struct NcclLogCheck {
  std::size_t calls = 0;
  std::map<NcclAgreement, std::size_t> by_agreement;
  std::vector<NcclDisagreement> disagreements;  ///< all except Same and NotChosen, in order

  /// Calls for which the tuner made a choice.
  [[nodiscard]] std::size_t chosen() const;
  /// Share of the chosen calls that ran as chosen; 0 if there were none.
  [[nodiscard]] double same_share() const;
  /// Share of the chosen calls that ran as chosen or are explained (FewerByModel,
  /// FewerByCommunicator, LaterChoice).
  [[nodiscard]] double explained_share() const;
};

[[nodiscard]] NcclLogCheck check_nccl_log(const std::vector<NcclDecision>& decisions,
                                          const TunerChoices& choices,
                                          const LoggedCommunicator& communicator);

/// Text with the shares, then each disagreement with its reason.
[[nodiscard]] std::string nccl_log_text(const NcclLogCheck& check);

}  // namespace cclgym
