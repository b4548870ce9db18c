// Programs in MSCCL XML for the sizes at which a policy chooses them.
#pragma once

#include <string>
#include <vector>

#include "agents/export/deployed_machine.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

/// One program and one interval of sizes.
struct MscclFile {
  std::string name;  ///< "msccl-NN-COLLECTIVE-PROGRAM.xml"
  std::string text;
  int sizes = 0;  ///< sizes of the grid in its interval
};

struct MscclFiles {
  std::vector<MscclFile> files;
  /// CSV with a header line, `kMscclIndexHeader`: the intervals of each collective, ascending,
  /// without gaps from 0 to the largest size of the grid; those without a file are NCCL's.
  std::string index;
  int left_to_nccl = 0;  ///< intervals without a file
};

inline constexpr std::string_view kMscclIndexHeader =
    "machine,collective,min_bytes,max_bytes,file,choice";

/// The policy's choices on the machine of `setup`, where neighbouring sizes with equal choices are
/// merged. A range extends to the next tested size; both of its ends belong to it. A file has the
/// program with its channels, copies, protocol and threads. Tuners and NCCL's own programs are left
/// to NCCL. An AllReduce is in place if the program allows it (Azure: also in place), as frameworks
/// call it; other collectives have separate buffers. Every text is read again, and its program
/// verified.
///
/// Throws UserError "PLACE: MACHINE COLLECTIVE from SIZE: …" if a file cannot express a knob of a
/// choice (a chunk, a NIC binding, and for Azure threads) or the executor would refuse the program.
[[nodiscard]] MscclFiles msccl_files(const DeployedChoices& choices, const TuningSetup& setup,
                                     XmlDialect dialect, const std::string& place);

}  // namespace cclgym
