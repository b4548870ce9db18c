// NCCL's default choice as a tuner: "nccl-default", "nccl-default:2.21.5".
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "cost_models/nccl/nccl_default.hpp"
#include "cost_models/symmetric/nccl_symmetric.hpp"
#include "sim/call/nccl_programs.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// NCCL's algorithms for which the library has programs: Ring is simulated as "ring", Tree as
/// "tree", CollNetChain as "collnet-chain".
[[nodiscard]] NcclAlgorithmSet simulated_nccl_algorithms();

/// NCCL's algorithm of a program in a release (nccl_programs.hpp): in 2.8.4, "collnet-chain" is its
/// only CollNet algorithm.
[[nodiscard]] std::optional<NcclAlgorithm> nccl_algorithm(std::string_view program,
                                                          const NcclVersion& version);
/// True for calls like those behind the intervals of simulated times (docs/intervals.md): the
/// program is one of NCCL's algorithms or, chosen by NCCL's or RCCL's default, its sends. CollNet
/// and kernels for symmetric memory, which were measured nowhere, are not among them.
[[nodiscard]] bool is_of_nccl(std::string_view program, std::string_view tuner);

/// The collective as NCCL tunes it; nullopt for custom collectives and for those that NCCL runs as
/// grouped sends and receives (AllToAll, AllToNext, Gather, Scatter).
[[nodiscard]] std::optional<NcclCollective> nccl_collective(CollectiveKind kind);

/// The configuration of the library's program for a choice of NCCL or RCCL.
[[nodiscard]] Config nccl_config(const NcclChoice& choice);
/// The configuration of the library's program for a kernel for symmetric memory.
[[nodiscard]] Config symmetric_config(const SymmetricChoice& choice);
/// The configuration of "naive" for a call that a release runs as grouped sends and receives.
[[nodiscard]] Config nccl_sends_config(const NcclVersion& version, const NcclComm& comm,
                                       const Call& call);

/// The release that "nccl-default:2.18" or "nccl-default:2.18:LL" names, and the newest for
/// "nccl-default"; nullopt for other tuners. Throws UserError if it is not a release.
[[nodiscard]] std::optional<NcclVersion> nccl_release_of(std::string_view tuner);

/// Configures each call as a release of NCCL would, on all GPUs of the fabric. `argument` is the
/// release, empty for the newest; ":" and a protocol restrict collectives (but not sends) as
/// NCCL_PROTO does ("2.8.4:Simple"), and a further ":" and one of its algorithms as NCCL_ALGO does
/// ("2.8.4:LL:ring", or "2.8.4::ring" for any protocol). "2.28.9:symmetric" states instead that
/// buffers are registered in symmetric windows, for which NCCL has kernels of its own on one node
/// with NVLink between all GPUs (uses_symmetric_memory); elsewhere it chooses as usual. `allowed`
/// are the algorithms that it may choose from. Collectives for which NCCL has no algorithm run as
/// "naive", with the channels and protocol of NCCL's sends. Throws UserError at site.where on an
/// unknown release or protocol, or on a fabric that NCCL does not run on. choose() throws UserError
/// for custom collectives.
[[nodiscard]] std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                                   const TunerSite& site,
                                                                   const NcclAlgorithmSet& allowed);
[[nodiscard]] std::unique_ptr<const Tuner> make_nccl_default_tuner(std::string_view argument,
                                                                   const TunerSite& site);

}  // namespace cclgym
