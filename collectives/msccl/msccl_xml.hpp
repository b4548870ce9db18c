// MSCCL XML: the format in which the executors of Microsoft (microsoft/msccl) and Azure
// (Azure/msccl-executor-nccl) load thread-block programs, and msccl-tools, TACCL and TE-CCL write
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/ir.hpp"

namespace cclgym {

enum class XmlDialect : std::uint8_t {
  /// Has custom collectives; sizes are optional, and maxBytes is excluded; writes "reduce_scatter".
  Microsoft,
  /// Also RCCL's. Needs minBytes, maxBytes and outofplace; maxBytes is included, and 0 is no limit;
  /// writes "reducescatter".
  Azure
};

[[nodiscard]] std::string_view to_string(XmlDialect dialect);  ///< "microsoft", "azure"
/// nullopt for any other name.
[[nodiscard]] std::optional<XmlDialect> parse_xml_dialect(std::string_view name);

/// Attributes of a file besides the program.
struct XmlSettings {
  XmlDialect dialect = XmlDialect::Microsoft;
  std::string protocol = "Simple";  ///< "Simple", "LL" or "LL128"
  static constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();
  /// Call sizes for which the executor uses the program, bytes: from min_bytes up to but not
  /// including end_bytes. Always written for Azure; for Microsoft only if they differ from its
  /// defaults.
  std::uint64_t min_bytes = 0;
  std::uint64_t end_bytes = std::uint64_t{1} << 27;
  /// Azure: the program, whose contract has separate buffers, also serves in-place calls.
  bool also_in_place = false;
  int threads = 0;  ///< Microsoft: per thread block; 0: the executor's choice

  /// True if the executor uses the program for a call of this size.
  [[nodiscard]] bool used_for(std::uint64_t bytes) const {
    return bytes >= min_bytes && bytes < end_bytes;
  }
};

/// Messages that fit on a connection of the executors with a protocol of XmlSettings: each of the 8
/// steps of a FIFO holds one of LL or LL128, and 4 steps hold one of Simple.
[[nodiscard]] int executor_slots(std::string_view protocol);

/// Value of maxBytes in the dialect of the settings.
[[nodiscard]] std::uint64_t max_bytes_attribute(const XmlSettings& settings);

/// The program in a dialect. Each extra dependency of a step becomes a `nop` step before it. Places
/// with two names (in place) get the name that msccl-tools writes. Throws UserError with the reason
/// if the executor would refuse or misread the program: an unsupported collective, more than 32
/// channels, too many thread blocks, steps, peers per channel or chunks per message, or a name that
/// is too long.
[[nodiscard]] std::string to_msccl_xml(const ThreadBlockProgram& program,
                                       const XmlSettings& settings = {});

struct XmlProgram {
  ThreadBlockProgram program;
  XmlSettings settings;
  bool root_assumed = false;  ///< the root could not be determined: it is set to 0
};

/// The same instructions with the collective in place. Throws UserError if it has no in-place form.
[[nodiscard]] ThreadBlockProgram in_place_form(const ThreadBlockProgram& program);

/// Reads either dialect; `copy` elements (TACCL, ncclize) and unknown attributes are ignored, as in
/// the executors. The format does not name the root of a rooted collective: it is the only rank
/// that receives nothing (broadcast) or sends nothing (reduce), otherwise rank 0. A `custom`
/// collective requires nothing of its outputs.
///
/// Throws UserError with `file`:line:column on programs that no executor takes: ill-formed or
/// truncated XML, a DOCTYPE, unknown collectives, types or buffers, missing or bad attributes,
/// slices outside their buffers, a connection in two thread blocks, broken limits, waits for steps
/// that do not exist, are not published or form a cycle, receives without sends and sends without
/// receives. Does not check the program's result; verify does.
[[nodiscard]] XmlProgram parse_msccl_xml(std::string_view text, const std::string& file);

/// Reads a file of at most kMostXmlBytes. Throws UserError as parse_msccl_xml does, and if the file
/// cannot be read.
[[nodiscard]] XmlProgram read_msccl_xml_file(const std::string& path);
inline constexpr std::size_t kMostXmlBytes = std::size_t{64} << 20;

/// Steps of the program in MSCCL XML: its instructions, and the `nop` steps for extra dependencies.
[[nodiscard]] std::int64_t msccl_steps(const ThreadBlockProgram& program);

}  // namespace cclgym
