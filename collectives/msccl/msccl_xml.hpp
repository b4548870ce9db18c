// MSCCL XML: the form in which the executors of Microsoft (microsoft/msccl) and Azure
// (Azure/msccl-executor-nccl) take thread-block programs, and in which msccl-tools, TACCL and
// TE-CCL write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/ir.hpp"

namespace cclgym {

enum class XmlDialect : std::uint8_t {
  Microsoft,  ///< knows custom collectives; sizes are optional
  Azure       ///< minBytes, maxBytes and outofplace are required; "reducescatter"
};

[[nodiscard]] std::string_view to_string(XmlDialect dialect);  ///< "microsoft", "azure"
/// nullopt if there is none such.
[[nodiscard]] std::optional<XmlDialect> parse_xml_dialect(std::string_view name);

/// What a file says beside the program.
struct XmlSettings {
  XmlDialect dialect = XmlDialect::Microsoft;
  std::string protocol = "Simple";  ///< "Simple", "LL" or "LL128"
  /// Sizes for which the executor takes the program, bytes. Always written for Azure, for Microsoft
  /// only where they are not its defaults.
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = std::uint64_t{1} << 27;
  /// Azure: the program, whose contract is that of separate buffers, is taken in place too.
  bool also_in_place = false;
  int threads = 0;  ///< Microsoft: of a thread block; 0: the executor's choice
};

/// The program in a dialect. An extra dependency of a step becomes a `nop` step before it. Places
/// that have two names in place get the one that msccl-tools writes. Throws UserError that says why
/// if the executor would refuse or misread the program: a collective that it does not have, more
/// than 32 channels, too many thread blocks, steps, peers a channel, chunks in one message, too
/// long a name.
[[nodiscard]] std::string to_msccl_xml(const ThreadBlockProgram& program,
                                       const XmlSettings& settings = {});

struct XmlProgram {
  ThreadBlockProgram program;
  XmlSettings settings;
  bool root_assumed = false;  ///< which rank is the root could not be told: it is 0
};

/// The same instructions where the collective is carried out in place. Throws UserError if it has
/// no such form.
[[nodiscard]] ThreadBlockProgram in_place_form(const ThreadBlockProgram& program);

/// Reads either dialect; `copy` elements (TACCL, ncclize) and unknown attributes are passed over,
/// as the executors do. The root of a rooted collective, which the format does not name, is the one
/// rank that receives nothing (broadcast) or sends nothing (reduce), else rank 0. A `custom`
/// collective requires nothing of its outputs.
///
/// Throws UserError with `file`:line:column on what no executor takes: ill-formed or truncated XML,
/// a DOCTYPE, unknown collectives, types or buffers, missing or bad attributes, slices outside
/// their buffers, a connection in two thread blocks, broken limits, steps that wait for what does
/// not exist, is not published or comes in a cycle, receives without sends and sends without
/// receives. What the program computes is for verify to say.
[[nodiscard]] XmlProgram parse_msccl_xml(std::string_view text, const std::string& file);

/// The same for a file of at most kMostXmlBytes. Throws UserError if it cannot be read.
[[nodiscard]] XmlProgram read_msccl_xml_file(const std::string& path);
inline constexpr std::size_t kMostXmlBytes = std::size_t{64} << 20;

/// Steps of the program in MSCCL XML: its instructions and the `nop` steps for extra dependencies.
[[nodiscard]] std::int64_t msccl_steps(const ThreadBlockProgram& program);

}  // namespace cclgym
