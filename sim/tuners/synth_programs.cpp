#include "sim/tuners/synth_programs.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/split.hpp"

namespace cclgym {

namespace {

// Limits of the searches. There is none of their time: the programs are the same on every machine,
// busy or not.
constexpr std::int64_t kMaxConflicts = 2'000;
// Shares that 3 s suffice for take up to 12,160 iterations (hgx-h100 x2), others 31,921 or more.
constexpr std::int64_t kMaxIterations = 20'000;
constexpr std::size_t kMaxPoints = 3;

// Beginning of the names of programs on a fabric: readable, and different for different fabrics.
std::string synth_prefix(const TunerSite& site, const std::string& fabric_text) {
  std::string prefix = "synth-";
  const std::string& label = site.fabric_label.empty() ? site.fabric->name() : site.fabric_label;
  for (const char c : label.substr(0, 24)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    prefix += plain ? c : '.';
  }
  return fmt::format("{}-{}-", prefix, hex_digits(fnv1a(fabric_text)).substr(0, 4));
}

}  // namespace

SynthKind read_synth_kind(std::string_view text, const SourceLocation& where) {
  SynthKind kind;
  const std::vector<std::string> names{"pareto", "throughput", "sccl"};
  bool limited = false;  // true after pareto or throughput, which exclude each other
  for (const std::string_view part : split(text, ':')) {
    if (part.empty() && text.empty()) break;
    const bool schedules = part == "pareto" || part == "throughput";
    if ((!schedules && part != "sccl") || kind.sccl || (schedules && limited)) {
      throw UserError(where,
                      unknown_name_message("kind of synthesis",
                                           schedules || part == "sccl" ? text : part, names));
    }
    limited = limited || schedules;
    kind.sccl = part == "sccl";
    if (part == "pareto") kind.throughput = false;
    if (part == "throughput") kind.pareto = false;
  }
  return kind;
}

synthesis::Synthesis synthesised_programs(const SynthKind& kind, CollectiveKind collective,
                                          const TunerSite& site) {
  const std::string fabric_text = site.fabric->canonical_text();
  const std::string prefix = synth_prefix(site, fabric_text) + (kind.sccl ? "sccl-" : "");
  const bool fuse = !site.cost_model.hockney;
  std::function<void(const std::string&)> say;
  if (site.on_progress) {
    const std::string& label = site.fabric_label.empty() ? site.fabric->name() : site.fabric_label;
    site.on_progress(fmt::format("synthesising {} for {}", to_string(collective), label));
    say = [&](const std::string& sentence) { site.on_progress("  " + sentence); };
  }
  synthesis::Synthesis synthesis = synthesis::synthesize(*site.fabric, collective,
                                                         {.pareto = kind.pareto,
                                                          .throughput = kind.throughput,
                                                          .max_conflicts = kMaxConflicts,
                                                          .max_iterations = kMaxIterations,
                                                          .max_points = kMaxPoints,
                                                          .prefix = prefix,
                                                          .fuse = fuse,
                                                          .on_progress = say});
  if (kind.sccl) {
    for (synthesis::SynthesizedProgram& program : synthesis.programs) {
      ThreadBlockProgram generated = *program.program;
      generated.traits.runtime = Runtime::Sccl;
      generated.traits.direct = true;
      program.program = std::make_shared<const ThreadBlockProgram>(std::move(generated));
    }
  }
  return synthesis;
}

}  // namespace cclgym
