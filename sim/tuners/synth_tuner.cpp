#include "sim/tuners/synth_tuner.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "collectives/library/program_entry.hpp"
#include "core/hash.hpp"
#include "sim/call/tiles.hpp"
#include "synthesis/strategies/synthesize.hpp"

namespace cclgym {

namespace {

using synthesis::SynthesizedProgram;

// Beginning of the names of programs on a fabric: readable, and different for different fabrics.
std::string prefix_of(const TunerSite& site) {
  std::string prefix = "synth-";
  const std::string& label = site.fabric_label.empty() ? site.fabric->name() : site.fabric_label;
  for (const char c : label.substr(0, 24)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    prefix += plain ? c : '.';
  }
  return fmt::format("{}-{}-", prefix,
                     hex_digits(fnv1a(site.fabric->canonical_text())).substr(0, 4));
}

class SynthTuner : public Tuner {
 public:
  SynthTuner(std::string_view kind, const TunerSite& site)
      : kind_(kind), label_(site.fabric_label), library_(site.algorithms), model_(site.cost_model) {
    const std::vector<CollectiveKind>& wanted =
        site.collectives.empty() ? all_collectives() : site.collectives;
    std::string reason;
    for (const CollectiveKind collective : wanted) {
      try {
        make_programs(collective, site);
      } catch (const UserError& error) {
        reason = error.what();
      }
    }
    if (programs_.empty()) {
      throw UserError(site.where,
                      fmt::format("synthesis has no program on fabric '{}'{}{}",
                                  site.fabric->name(), reason.empty() ? "" : ": ", reason));
    }
  }

  [[nodiscard]] Config choose(const Call& call) const override {
    const auto found = programs_.find(call.collective);
    if (found == programs_.end() || call.root != 0) {
      throw UserError(fmt::format("synthesis has no {} program with root {}",
                                  to_string(call.collective), call.root));
    }
    const SynthesizedProgram* best = nullptr;
    double least_s = 0;
    for (const SynthesizedProgram& program : found->second) {
      const double time_s = program.estimate_s(call.bytes, program.best_tile(call.bytes));
      if (best != nullptr && time_s >= least_s) continue;
      best = &program;
      least_s = time_s;
    }
    Config config;
    config.algorithm = best->name;
    config.channels = best->program->channels;
    if (!model_.hockney) return with_protocol_tiles(model_, config);
    config.tile_bytes = best->best_tile(call.bytes);
    return config;
  }

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return programs_.contains(collective);
  }
  [[nodiscard]] AlgorithmLibrary algorithms() const override { return library_; }
  [[nodiscard]] std::string description() const override {
    std::size_t count = 0;
    for (const auto& [collective, programs] : programs_) count += programs.size();
    return fmt::format("{} synthesised programs for {}, by the alpha-beta formula", count, label_);
  }

 private:
  void make_programs(CollectiveKind collective, const TunerSite& site) {
    synthesis::Synthesis made = synthesis::synthesize(*site.fabric, collective,
                                                      {.pareto = kind_ != "throughput",
                                                       .throughput = kind_ != "pareto",
                                                       .prefix = prefix_of(site),
                                                       .fuse = !site.cost_model.hockney});
    for (SynthesizedProgram& program : made.programs) {
      library_.add(program_entry(program.name, program.program));
      programs_[collective].push_back(std::move(program));
    }
  }

  std::string kind_;
  std::string label_;
  AlgorithmLibrary library_;
  CostModel model_;
  std::map<CollectiveKind, std::vector<SynthesizedProgram>> programs_;
};

}  // namespace

std::unique_ptr<const Tuner> make_synth_tuner(std::string_view argument, const TunerSite& site) {
  if (!argument.empty() && argument != "pareto" && argument != "throughput") {
    throw UserError(site.where,
                    unknown_name_message("kind of synthesis", argument, {"pareto", "throughput"}));
  }
  return std::make_unique<const SynthTuner>(argument, site);
}

}  // namespace cclgym
