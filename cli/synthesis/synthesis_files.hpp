// Programs and certificates of a synthesis as files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/msccl/msccl_xml.hpp"
#include "synthesis/strategies/synthesize.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

struct NamedText {
  std::string name;  ///< path in the folder: "programs/allgather-2-2-3.xml"
  std::string text;
};

/// The programs that MSCCL XML can express, and their names without folder and suffix.
struct ProgramFiles {
  std::vector<NamedText> files{};
  std::vector<std::string> names{};
  std::vector<std::string> notes{};  ///< reasons why a program has no file
};
[[nodiscard]] ProgramFiles program_files(const synthesis::Synthesis& made,
                                         CollectiveKind collective, XmlDialect dialect);

/// "certificates/NAME.json" of every certificate; the path of a fabric file is relative to
/// `folder`/certificates.
[[nodiscard]] std::vector<NamedText> certificate_files(const synthesis::Synthesis& made,
                                                       const std::string& folder, FabricSpec spec,
                                                       const std::shared_ptr<const Fabric>& fabric);

/// The fabric with the path of its file, if it has one, relative to a folder.
[[nodiscard]] FabricSpec seen_from(FabricSpec spec, const std::string& folder);
/// The name of a cost model, or the path of its file relative to a folder.
[[nodiscard]] std::string cost_model_seen_from(const std::string& name, const std::string& folder);

}  // namespace cclgym
