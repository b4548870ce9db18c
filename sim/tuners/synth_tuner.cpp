#include "sim/tuners/synth_tuner.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <utility>

#include "collectives/library/program_entry.hpp"
#include "sim/call/tiles.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/synth_programs.hpp"
#include "synthesis/strategies/synthesize.hpp"

namespace cclgym {

namespace {

using synthesis::SynthesizedProgram;

class SynthTuner : public Tuner {
 public:
  SynthTuner(const SynthKind& kind, const TunerSite& site)
      : kind_(kind),
        label_(site.fabric_label),
        library_(site.algorithms),
        model_(site.cost_model),
        fabric_(site.fabric) {
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
    return model_.hockney ? by_formula(found->second, call) : by_simulation(found->second, call);
  }

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return programs_.contains(collective);
  }
  [[nodiscard]] AlgorithmLibrary algorithms() const override { return library_; }
  [[nodiscard]] std::string description() const override {
    std::size_t count = 0;
    for (const auto& [collective, programs] : programs_) count += programs.size();
    return fmt::format("{} synthesised programs for {}, chosen {}", count, label_,
                       model_.hockney ? "by the alpha-beta formula" : "by simulation");
  }

 private:
  // Under alpha-beta costs, the formula is the time.
  static Config by_formula(const std::vector<SynthesizedProgram>& programs, const Call& call) {
    const SynthesizedProgram* best = nullptr;
    double least_s = 0;
    for (const SynthesizedProgram& program : programs) {
      const double time_s = program.estimate_s(call.bytes, program.best_tile(call.bytes));
      if (best != nullptr && time_s >= least_s) continue;
      best = &program;
      least_s = time_s;
    }
    Config config;
    config.algorithm = best->name;
    config.channels = best->program->channels;
    config.tile_bytes = best->best_tile(call.bytes);
    return config;
  }

  // Launches, protocols and thread blocks decide as much as steps and rounds.
  Config by_simulation(const std::vector<SynthesizedProgram>& programs, const Call& call) const {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = chosen_.try_emplace({call.collective, call.bytes});
    if (!is_new && !known->second.algorithm.empty()) return known->second;
    if (!simulator_) {
      simulator_ = std::make_unique<Simulator>(fabric_, model_, "flow", library_);
    }
    double least_s = 0;
    known->second.algorithm.clear();
    for (const SynthesizedProgram& program : programs) {
      for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
        Config config;
        config.algorithm = program.name;
        config.channels = program.program->channels;
        config.protocol = protocol;
        config = with_protocol_tiles(model_, call.collective, config);
        if (!check_resident(library_, call, config, *fabric_, model_).empty()) continue;
        const double time_s = simulator_->simulate(call, config).time_s;
        if (!known->second.algorithm.empty() && time_s >= least_s) continue;
        known->second = config;
        least_s = time_s;
      }
    }
    if (known->second.algorithm.empty()) {
      throw UserError(fmt::format("no synthesised {} program fits on the GPUs of fabric '{}'",
                                  to_string(call.collective), fabric_->name()));
    }
    return known->second;
  }

  void make_programs(CollectiveKind collective, const TunerSite& site) {
    synthesis::Synthesis made = synthesised_programs(kind_, collective, site);
    for (SynthesizedProgram& program : made.programs) {
      library_.add(program_entry(program.name, program.program));
      programs_[collective].push_back(std::move(program));
    }
  }

  SynthKind kind_;
  std::string label_;
  AlgorithmLibrary library_;
  CostModel model_;
  std::shared_ptr<const Fabric> fabric_;
  std::map<CollectiveKind, std::vector<SynthesizedProgram>> programs_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Simulator> simulator_;  ///< made when it is needed first
  mutable std::map<std::pair<CollectiveKind, std::uint64_t>, Config> chosen_;
};

}  // namespace

std::unique_ptr<const Tuner> make_synth_tuner(std::string_view argument, const TunerSite& site) {
  return std::make_unique<const SynthTuner>(read_synth_kind(argument, site.where), site);
}

}  // namespace cclgym
