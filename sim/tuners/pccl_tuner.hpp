// PCCL's two backends and its dispatcher as tuners: "pccl:ring", "pccl:rec", "pccl:frontier.yaml".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// `argument` is "ring" or "rec": the algorithm pccl-ring or pccl-rec, in undivided messages, with
/// the protocol, channels and threads with which NCCL or RCCL would run the phase inside a node (a
/// ring over the GPUs of one node, for a call of the same size). Otherwise it is the path of a
/// dispatcher (sim/dispatchers/dispatcher.hpp), relative to the folder of the file that names it,
/// which chooses one of its backends by size and number of GPUs. Throws UserError at site.where if
/// the file does not exist, or is of another machine, or has none of the collectives of the site;
/// and at the place in the file if it is wrong.
[[nodiscard]] std::unique_ptr<const Tuner> make_pccl_tuner(std::string_view argument,
                                                           const TunerSite& site);

/// Path of the dispatcher that the tuner "pccl:FILE" reads, if `where` names it; empty for other
/// names.
[[nodiscard]] std::string dispatcher_path(std::string_view name, const SourceLocation& where);

}  // namespace cclgym
