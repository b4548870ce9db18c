#include "agents/export/msccl_files.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "collectives/library/logical_rings.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "sim/config_checks.hpp"
#include "sim/fast/call_timer.hpp"

namespace cclgym {

namespace {

// An interval of sizes; without a configuration if NCCL carries out its calls.
struct Interval {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  int sizes = 0;
  std::optional<Config> config;
  std::string choice;
};

class Writer {
 public:
  Writer(const DeployedChoices& choices, const TuningSetup& setup, XmlDialect dialect,
         const std::string& place)
      : choices_(choices),
        setup_(setup),
        actions_(*setup.actions),
        dialect_(dialect),
        place_(place),
        rings_(logical_rings(*setup.site->fabrics.front())) {}

  MscclFiles run() {
    result_.index = std::string(kMscclIndexHeader) + "\n";
    for (std::size_t c = 0; c < kNcclCollectiveNames.size(); ++c) {
      if (!choices_.machine.grids[c]) continue;
      for (const Interval& interval : intervals_of(c)) {
        const std::string name = interval.config ? add_file(c, interval) : "";
        result_.left_to_nccl += interval.config ? 0 : 1;
        result_.index += fmt::format("{},{},{},{},{},{}\n", choices_.machine.label,
                                     kNcclCollectiveNames[c], interval.from, interval.to,
                                     interval.config ? name : "nccl", interval.choice);
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<Interval> intervals_of(std::size_t c) const {
    const std::vector<std::uint64_t>& sizes = choices_.machine.grids[c]->sizes;
    std::vector<Interval> intervals;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::vector<std::int32_t>& action = choices_.actions[c][i];
      auto config = config_of(c, sizes[i], action);
      const std::string choice = actions_.describe(action);
      const bool same = !intervals.empty() && intervals.back().config == config &&
                        (config || intervals.back().choice == choice);
      if (!same) {
        if (!intervals.empty()) intervals.back().to = sizes[i] - 1;
        intervals.push_back({intervals.empty() ? 0 : sizes[i], 0, 0, std::move(config), choice});
      }
      intervals.back().to = sizes[i];
      ++intervals.back().sizes;
    }
    return intervals;
  }

  // nullopt: left to NCCL.
  [[nodiscard]] std::optional<Config> config_of(std::size_t c, std::uint64_t bytes,
                                                const std::vector<std::int32_t>& action) const {
    if (actions_.tuner_of(action)) return std::nullopt;
    const Call call{.collective = kDeployedCollectives[c], .bytes = bytes};
    Config config = full_config(setup_.site->algorithms, actions_.config(call, action));
    const AlgorithmEntry& entry = setup_.site->algorithms.at(config.algorithm);
    if (entry.traits.runtime == Runtime::Nccl) return std::nullopt;
    if (entry.traits.runtime == Runtime::Sccl) {
      refuse(c, bytes, "a program that SCCL's runtime carries out; train with one for MSCCL's");
    }
    for (std::size_t k = 0; k < action.size(); ++k) {
      const Knob knob = actions_.knobs()[k];
      const bool threads = knob == Knob::Threads && dialect_ == XmlDialect::Azure;
      if (action[k] == 0 || (knob != Knob::Chunk && knob != Knob::Nic && !threads)) continue;
      refuse(
          c, bytes,
          fmt::format("knob '{}' at '{}', which a file cannot express; train with knobs: "
                      "{{{}: {}}}",
                      to_string(knob), actions_.levels(knob)[static_cast<std::size_t>(action[k])],
                      to_string(knob), actions_.levels(knob).front()));
    }
    return config;
  }

  [[noreturn]] void refuse(std::size_t c, std::uint64_t bytes, const std::string& what) const {
    throw UserError(fmt::format("{}: {} {} from {}: the choice has {}", place_,
                                choices_.machine.label, kNcclCollectiveNames[c],
                                format_bytes(bytes), what));
  }

  std::string add_file(std::size_t c, const Interval& interval) {
    const Config& config = *interval.config;
    const AlgorithmEntry& entry = setup_.site->algorithms.at(config.algorithm);
    AlgorithmRequest request =
        request_of(entry, {.collective = kDeployedCollectives[c], .bytes = interval.to}, config,
                   *setup_.site->fabrics.front(), setup_.site->cost_model, rings_);
    ThreadBlockProgram program = *build_algorithm(entry, request);
    const auto slots = executor_slots(to_string(config.protocol));
    if (!verify(program, {.slots = slots}).ok) {
      refuse(
          c, interval.from,
          fmt::format("a program that hangs in the executor: with protocol {} a connection holds "
                      "{} messages; train without it or with another protocol",
                      to_string(config.protocol), slots));
    }
    XmlSettings settings{.dialect = dialect_,
                         .protocol = std::string(to_string(config.protocol)),
                         .min_bytes = interval.from,
                         .end_bytes = interval.to + 1};
    if (dialect_ == XmlDialect::Microsoft) settings.threads = config.threads;
    if (kDeployedCollectives[c] == CollectiveKind::AllReduce && !program.contract.in_place()) {
      use_in_place(program, settings, slots);
    }
    std::string text;
    try {
      text = to_msccl_xml(program, settings);
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: {} {} from {}: {}", place_, choices_.machine.label,
                                  kNcclCollectiveNames[c], format_bytes(interval.from),
                                  std::string_view(error.what())));
    }
    std::string name = fmt::format("msccl-{:02}-{}-{}.xml", result_.files.size() + 1,
                                   kNcclCollectiveNames[c], config.algorithm);
    check(text, name, settings, slots);
    result_.files.push_back({name, std::move(text), interval.sizes});
    return name;
  }

  // Frameworks call AllReduce in place.
  static void use_in_place(ThreadBlockProgram& program, XmlSettings& settings, std::int32_t slots) {
    try {
      ThreadBlockProgram form = in_place_form(program);
      if (!verify(form, {.slots = slots}).ok) return;
      if (settings.dialect == XmlDialect::Azure) {
        settings.also_in_place = true;
      } else {
        program = std::move(form);
      }
    } catch (const UserError&) {
      return;  // the program has no such form
    }
  }

  // Our reader must find the same sizes and a correct program.
  static void check(const std::string& text, const std::string& name, const XmlSettings& settings,
                    std::int32_t slots) {
    const XmlProgram read = parse_msccl_xml(text, name);
    const VerifyReport report = verify(read.program, {.slots = slots});
    if (!report.ok) throw std::logic_error(name + ": " + report.to_string());
    if (read.settings.min_bytes != settings.min_bytes ||
        read.settings.end_bytes != settings.end_bytes ||
        read.settings.protocol != settings.protocol) {
      throw std::logic_error(name + ": read again, its sizes or protocol differ");
    }
  }

  const DeployedChoices& choices_;
  const TuningSetup& setup_;
  const TuningActions& actions_;
  XmlDialect dialect_;
  const std::string& place_;
  std::vector<std::vector<int>> rings_;
  MscclFiles result_;
};

}  // namespace

MscclFiles msccl_files(const DeployedChoices& choices, const TuningSetup& setup, XmlDialect dialect,
                       const std::string& place) {
  return Writer(choices, setup, dialect, place).run();
}

}  // namespace cclgym
