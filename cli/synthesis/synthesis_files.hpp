// Programs and certificates of a synthesis as files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/msccl/msccl_xml.hpp"
#include "cost_models/cost_model.hpp"
#include "sim/tuners/dispatch_table.hpp"
#include "synthesis/strategies/synthesize.hpp"
#include "topology_models/fabric.hpp"
#include "topology_models/fabric_spec.hpp"

namespace cclgym {

struct NamedText {
  std::string name;  ///< path in the folder: "programs/allgather-2-2-3.xml"
  std::string text;
};

/// The programs that MSCCL XML can express and a GPU can load, and their names without folder and
/// suffix.
struct ProgramFiles {
  std::vector<NamedText> files{};
  std::vector<std::string> names{};
  std::vector<std::string> notes{};  ///< reasons why a program has no file
  /// The reason why no program can be executed; empty if one can, and for collectives that MSCCL
  /// XML does not have.
  std::string refusal{};
};
/// The files have protocol Simple and are for calls of any size. `gpu` limits the thread blocks
/// that a GPU runs at once.
[[nodiscard]] ProgramFiles program_files(const synthesis::Synthesis& made,
                                         CollectiveKind collective, XmlDialect dialect,
                                         const CostModel& gpu);

/// The files of the programs that the table uses, each with the protocol and the sizes under which
/// it does. Neighbouring ranges with the same program and protocol share a file. A program that the
/// table uses again gets another file and name in the table: "NAME-range2".
[[nodiscard]] std::vector<NamedText> table_files(DispatchTable& table,
                                                 const synthesis::Synthesis& made,
                                                 XmlDialect dialect);

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
