// The tuner of a CSV for NCCL's tuner plugins.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// Chooses as NCCL with cclgym's plugin and the CSV (deploy/nccl_plugin/tuner_rows.hpp): the first
/// line that matches the call and the numbers of ranks and nodes of the site's fabric. NCCL's
/// newest release chooses for other calls, for combinations that NCCL does not offer, and the
/// channels where a line leaves them to NCCL. note() tells of such calls and of skipped lines.
/// Throws UserError "PATH:LINE: …" if no line can be used.
[[nodiscard]] std::unique_ptr<const Tuner> make_nccl_csv_tuner(std::string_view text,
                                                               const std::string& path,
                                                               const TunerSite& site);

}  // namespace cclgym
