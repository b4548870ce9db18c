// NCCL's default choice as a tuner: "nccl-default", "nccl-default:2.21.5".
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "cost_models/nccl/nccl_default.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// NCCL's algorithms for which the library has programs: Ring is simulated as "ring", Tree as
/// "tree".
[[nodiscard]] NcclAlgorithmSet simulated_nccl_algorithms();

/// NCCL's algorithm for a program of the library; nullopt for other programs.
[[nodiscard]] std::optional<NcclAlgorithm> nccl_algorithm(std::string_view program);

/// The collective as NCCL tunes it; nullopt for custom collectives and for those that NCCL runs as
/// grouped sends and receives (AllToAll, AllToNext, Gather, Scatter).
[[nodiscard]] std::optional<NcclCollective> nccl_collective(CollectiveKind kind);

/// The configuration of the library's program for a choice of NCCL or RCCL.
[[nodiscard]] Config nccl_config(const NcclChoice& choice);
/// The configuration of "naive" for a call that a release runs as grouped sends and receives.
[[nodiscard]] Config nccl_sends_config(const NcclVersion& version, const NcclComm& comm,
                                       const Call& call);

/// Configures each call as a release of NCCL would, on all GPUs of the fabric. `argument` is the
/// release, empty for the newest; ":" and a protocol restrict collectives (but not sends) as
/// NCCL_PROTO does ("2.8.4:Simple"), and a further ":" and one of its algorithms as NCCL_ALGO does
/// ("2.8.4:LL:ring"). `allowed` are the algorithms that it may choose from. Collectives for which
/// NCCL has no algorithm run as "naive", with the channels and protocol of NCCL's sends. Throws
/// UserError at site.where on an unknown release or protocol, or on a fabric that NCCL does not run
/// on. choose() throws UserError if the library has no program (Reduce along a ring).
[[nodiscard]] std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                                   const TunerSite& site,
                                                                   const NcclAlgorithmSet& allowed);
[[nodiscard]] std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                                   const TunerSite& site);

}  // namespace cclgym
