#include "sim/tuners/tuner.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <functional>

#include "core/split.hpp"
#include "sim/call/config_options.hpp"
#include "sim/tuners/cray_mpich_tuner.hpp"
#include "sim/tuners/dispatch_table.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "sim/tuners/openmpi_default_tuner.hpp"
#include "sim/tuners/pccl_tuner.hpp"
#include "sim/tuners/rccl_default_tuner.hpp"
#include "sim/tuners/synth_tuner.hpp"

namespace cclgym {

namespace {

struct TunerKind {
  TunerInfo info;
  std::string_view prefix;  // text before ':'
  bool brings_programs;
  /// `argument` is the text after ':'.
  std::function<std::unique_ptr<const Tuner>(std::string_view argument, const TunerSite& site)>
      make;
};

const std::vector<TunerKind>& kinds() {
  static const std::vector<TunerKind> all = {
      {{"dispatch:FILE",
        "a table of size ranges (cclgym tune-dispatch makes one), or a CSV for NCCL's tuner"},
       "dispatch",
       true,
       make_dispatch_tuner},
      {{"nccl-default:VERSION",
        "default choice of an NCCL release (2.8.4, 2.18 or newer; without :VERSION the newest); "
        ":VERSION:PROTOCOL[:ALGORITHM] restricts it like NCCL_PROTO and NCCL_ALGO; "
        ":VERSION:symmetric has buffers in symmetric windows (2.27 or newer)"},
       "nccl-default",
       false,
       [](std::string_view version, const TunerSite& site) {
         return make_nccl_default_tuner(version, site);
       }},
      {{"openmpi-default:VERSION",
        "default choice of OpenMPI (4.1 and 5.0 choose the same; :VERSION is optional)"},
       "openmpi-default",
       false,
       make_openmpi_default_tuner},
      {{"rccl-default:VERSION",
        "default choice of RCCL 2.20.5 or 2.21.5 on MI250X and MI300X (:VERSION is optional)"},
       "rccl-default",
       false,
       make_rccl_default_tuner},
      {{"cray-mpich",
        "Cray MPICH as PCCL found it: MPICH's algorithms, a single NIC for each direction, "
        "reductions on the host"},
       "cray-mpich",
       true,
       make_cray_mpich_tuner},
      {{"pccl:WHICH",
        "PCCL: ring or rec across nodes, with the channels of NCCL or RCCL inside a node; or the "
        "FILE of a dispatcher (cclgym tune-dispatch --svm makes one)"},
       "pccl",
       true,
       make_pccl_tuner},
      {{"synth:KIND",
        "synthesised programs, the fastest for each call: pareto (step schedules), throughput "
        "(trees), or both without :KIND; with :sccl at the end in SCCL's runtime"},
       "synth",
       true,
       make_synth_tuner},
  };
  return all;
}

// Prefix of a tuner's name: "dispatch" for "dispatch:table.yaml".
std::string_view prefix_of(std::string_view name) { return name.substr(0, name.find(':')); }

}  // namespace

const std::vector<TunerInfo>& tuner_infos() {
  static const std::vector<TunerInfo> infos = [] {
    std::vector<TunerInfo> list;
    for (const TunerKind& kind : kinds()) list.push_back(kind.info);
    return list;
  }();
  return infos;
}

bool is_tuner(std::string_view name) {
  return std::any_of(kinds().begin(), kinds().end(),
                     [&](const TunerKind& kind) { return kind.prefix == prefix_of(name); });
}

bool brings_programs(std::string_view name) {
  return std::any_of(kinds().begin(), kinds().end(), [&](const TunerKind& kind) {
    return kind.brings_programs && kind.prefix == prefix_of(name);
  });
}

std::unique_ptr<const Tuner> make_tuner(std::string_view name, const TunerSite& site) {
  for (const TunerKind& kind : kinds()) {
    if (kind.prefix != prefix_of(name)) continue;
    const std::size_t colon = name.find(':');
    if (name.ends_with(':')) {
      std::string_view before = name.substr(0, name.find_last_not_of(':') + 1);
      std::string expected = std::string(kind.info.form);
      // Something valid may be in front of the last colon.
      if (before.find(':') != std::string_view::npos) expected += ", e.g. " + quoted(before);
      throw UserError(site.where,
                      "nothing after the last colon of " + quoted(name) + "; expected " + expected);
    }
    return kind.make(colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1),
                     site);
  }
  std::vector<std::string> forms;
  for (const TunerKind& kind : kinds()) forms.push_back(kind.info.form);
  throw UserError(site.where, unknown_name_message("tuner", name, forms));
}

Config read_short_config(std::string_view text, const AlgorithmLibrary& library,
                         const SourceLocation& where) {
  // Names that spell their parameters ("hierarchical:8x4:ring+bruck") contain no slash.
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.empty() || parts.size() > 3) {
    throw UserError(where, fmt::format("found {}; expected a tuner (cclgym list algorithms) or "
                                       "ALGORITHM[/PROTOCOL[/CHANNELS]]",
                                       quoted(text)));
  }
  Config config{.algorithm = std::string(parts[0])};
  std::vector<std::string> tuners;
  for (const TunerKind& kind : kinds()) tuners.emplace_back(kind.prefix);
  const std::string nearest = nearest_name(prefix_of(text), tuners);
  if (parts.size() == 1 && !nearest.empty() && library.find(config.algorithm) == nullptr) {
    throw UserError(where, fmt::format("unknown tuner {}; did you mean '{}'? (cclgym list "
                                       "algorithms prints tuners and algorithms)",
                                       quoted(text), nearest));
  }
  config.algorithm = library.at(config.algorithm).name;
  if (parts.size() > 1) config.protocol = read_protocol(parts[1], where);
  if (parts.size() > 2) {
    config.channels = static_cast<int>(read_integer(parts[2], config_option("channels"), where));
  }
  return config;
}

}  // namespace cclgym
