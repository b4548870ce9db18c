#include "experiments/sweep/make_cells.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/library/program_entry.hpp"
#include "core/units.hpp"
#include "experiments/sweep/combinations.hpp"
#include "sim/simulator.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

class CellMaker {
 public:
  CellMaker(Experiment& experiment, const ExperimentAxes& axes, const CellConstants& constants)
      : experiment_(experiment), axes_(axes), constants_(constants) {}

  void make(const SourceLocation& where) {
    make_tuners();
    check_algorithms();
    check_collectives();
    report_sizes();
    check_number(where);
    for (std::size_t fabric = 0; fabric < experiment_.fabrics.size(); ++fabric) {
      for (const auto& collective : axes_.collectives) {
        for (std::size_t i = 0; i < axes_.algorithms.size(); ++i) {
          if (!has(i, fabric, collective.value)) continue;
          if (chooses(i)) {
            add_chosen(fabric, collective.value, i);
          } else {
            add_cells(fabric, collective.value, axes_.algorithms[i].value);
          }
        }
      }
    }
    if (experiment_.cells.empty()) {
      const SourceLocation& channels = axes_.channels.front().where;
      throw UserError(channels.line == where.line ? axes_.sizes.front().where : channels,
                      "nothing is left to simulate: " + experiment_.skipped.back());
    }
  }

 private:
  void make_tuners() {
    std::vector<CollectiveKind> collectives;
    for (const auto& collective : axes_.collectives) collectives.push_back(collective.value);
    for (const Located<std::string>& algorithm : axes_.algorithms) {
      tuners_.emplace_back();
      if (!is_tuner(algorithm.value)) continue;
      check_label(algorithm.value, "the tuner", algorithm.where);
      refuse_same_key(algorithm);
      for (const ExperimentFabric& on : experiment_.fabrics) {
        tuners_.back().push_back(
            make_tuner(algorithm.value, {.fabric = on.fabric,
                                         .fabric_label = on.plain_label,
                                         .cost_model = on.cost_model,
                                         .where = algorithm.where,
                                         .algorithms = experiment_.algorithms,
                                         .collectives = collectives,
                                         .on_progress = constants_.on_progress}));
        add_programs(*tuners_.back().back(), algorithm.where);
      }
    }
  }

  // Adds the programs that a tuner may choose: cells name them.
  void add_programs(const Tuner& tuner, const SourceLocation& where) {
    try {
      experiment_.algorithms.add_all(tuner.algorithms());
    } catch (const UserError& error) {
      throw UserError(where, error.what());
    }
  }

  [[nodiscard]] const AlgorithmEntry& entry_of(std::size_t algorithm) const {
    return experiment_.algorithms.at(axes_.algorithms[algorithm].value);
  }

  // Refuses paths that differ only in characters that keys write as '_'.
  void refuse_same_key(const Located<std::string>& tuner) const {
    for (const Located<std::string>& other : axes_.algorithms) {
      if (&other == &tuner) return;
      if (key_label(other.value) != key_label(tuner.value)) continue;
      throw UserError(tuner.where, fmt::format("{} and {} are the same in cell keys; expected "
                                               "names that differ in more than '/', ' ' and '_'",
                                               quoted(tuner.value), quoted(other.value)));
    }
  }

  [[nodiscard]] bool chooses(std::size_t algorithm) const { return !tuners_[algorithm].empty(); }

  [[nodiscard]] bool has(std::size_t algorithm, std::size_t fabric,
                         CollectiveKind collective) const {
    if (chooses(algorithm)) return tuners_[algorithm][fabric]->chooses_for(collective);
    return supports(entry_of(algorithm), collective);
  }

  [[nodiscard]] bool has_anywhere(std::size_t algorithm, CollectiveKind collective) const {
    for (std::size_t fabric = 0; fabric < experiment_.fabrics.size(); ++fabric) {
      if (has(algorithm, fabric, collective)) return true;
    }
    return false;
  }

  // Checks that the algorithms have the collectives and that the ranks fit.
  void check_algorithms() {
    for (std::size_t i = 0; i < axes_.algorithms.size(); ++i) {
      const Located<std::string>& algorithm = axes_.algorithms[i];
      bool used = false;
      for (const Located<CollectiveKind>& collective : axes_.collectives) {
        if (has_anywhere(i, collective.value)) {
          used = true;
        } else {
          skip(fmt::format("{} has no {}", title(i), to_string(collective.value)));
        }
      }
      if (!used) refuse_algorithm(i);
      if (chooses(i)) {
        skip_fabrics(i);
        continue;
      }
      for (const ExperimentFabric& fabric : experiment_.fabrics) {
        const Fabric& on = *fabric.fabric;
        auto reason = check_ranks(entry_of(i), on.ranks());
        if (!reason) {
          reason = check_request(
              entry_of(i),
              {.ranks = on.ranks(), .ranks_per_server = on.ranks_per_server().value_or(0)});
        }
        if (reason) {
          throw UserError(algorithm.where,
                          fmt::format("on fabric '{}': {}", fabric.label, *reason));
        }
      }
      if (!entry_of(i).fixed()) continue;
      if (const auto reason =
              check_fixed_program(entry_of(i), entry_of(i).program->channels, 1, constants_.root)) {
        throw UserError(algorithm.where, *reason);
      }
    }
  }

  // Skips the fabrics on which a tuner does not have a collective.
  void skip_fabrics(std::size_t algorithm) {
    for (std::size_t fabric = 0; fabric < experiment_.fabrics.size(); ++fabric) {
      for (const Located<CollectiveKind>& collective : axes_.collectives) {
        if (has(algorithm, fabric, collective.value)) continue;
        if (!has_anywhere(algorithm, collective.value)) continue;  // reported already
        skip(fmt::format("on fabric '{}': {} has no {}", experiment_.fabrics[fabric].label,
                         title(algorithm), to_string(collective.value)));
      }
    }
  }

  void check_collectives() const {
    for (const Located<CollectiveKind>& collective : axes_.collectives) {
      bool done = false;
      for (std::size_t i = 0; i < axes_.algorithms.size() && !done; ++i) {
        done = has_anywhere(i, collective.value);
      }
      if (!done) refuse_collective(collective);
    }
  }

  // Sizes of a collective on a fabric, each once, rounded as by nccl-tests; without those that are
  // too small.
  [[nodiscard]] std::vector<std::uint64_t> sizes_of(std::size_t fabric,
                                                    CollectiveKind collective) const {
    std::vector<std::uint64_t> sizes;
    for (const Located<std::uint64_t>& size : axes_.sizes) {
      const std::uint64_t bytes = rounded(fabric, collective, size.value);
      if (bytes > 0 && std::ranges::find(sizes, bytes) == sizes.end()) sizes.push_back(bytes);
    }
    return sizes;
  }

  [[nodiscard]] std::uint64_t rounded(std::size_t fabric, CollectiveKind collective,
                                      std::uint64_t bytes) const {
    return rounded_size(collective, bytes, experiment_.fabrics[fabric].fabric->ranks(),
                        experiment_.element_bytes);
  }

  // Reports the sizes that sizes_of() rounds or leaves out.
  void report_sizes() {
    std::size_t count = 0;
    std::string first;
    for (const Located<CollectiveKind>& collective : axes_.collectives) {
      for (std::size_t fabric = 0; fabric < experiment_.fabrics.size(); ++fabric) {
        const ExperimentFabric& on = experiment_.fabrics[fabric];
        for (const Located<std::uint64_t>& size : axes_.sizes) {
          const std::uint64_t bytes = rounded(fabric, collective.value, size.value);
          const int ranks = on.fabric->ranks();
          if (bytes == 0) {
            skip(fmt::format(
                "on fabric '{}': {}", on.label,
                check_size(collective.value, size.value, ranks, experiment_.element_bytes)));
          } else if (bytes != size.value && count++ == 0) {
            first = rounding_text(collective.value, size.value, ranks, bytes);
          }
        }
      }
    }
    if (count == 0) return;
    experiment_.warnings.push_back(fmt::format(
        "sizes that the ranks do not divide are rounded down to 16 B per rank, as by nccl-tests "
        "(to whole elements below that): "
        "{}{}",
        first, count == 1 ? "" : fmt::format(" (and {} more)", count - 1)));
  }

  [[noreturn]] void refuse_algorithm(std::size_t algorithm) const {
    std::string message = title(algorithm) + " has none of the experiment's collectives";
    if (!chooses(algorithm)) {
      message += "; it has " + collectives_text(entry_of(algorithm));
    } else {
      message += " on its fabrics";
    }
    throw UserError(axes_.algorithms[algorithm].where, message);
  }

  [[noreturn]] void refuse_collective(const Located<CollectiveKind>& collective) const {
    std::string having;
    for (const AlgorithmEntry& entry : experiment_.algorithms.entries()) {
      if (supports(entry, collective.value)) having += (having.empty() ? "" : ", ") + entry.name;
    }
    throw UserError(
        collective.where,
        fmt::format("none of the experiment's algorithms has {}; {}", to_string(collective.value),
                    having.empty() ? "nor has any other" : "these have it: " + having));
  }

  // Checks the number of cells before millions of them are made.
  void check_number(const SourceLocation& where) const {
    const std::size_t most = constants_.most_cells;
    std::size_t configs = 1;
    for (const std::size_t axis :
         {axes_.protocols.size(), axes_.channels.size(), axes_.instances.size(),
          axes_.threads.size(), axes_.tiles.size(), axes_.slots.size()}) {
      configs *= axis;  // both factors are at most most_cells: no overflow before the check
      if (configs > most) refuse_cells(where, most);
    }
    std::size_t cells = 0;
    for (std::size_t i = 0; i < axes_.algorithms.size(); ++i) {
      for (const Located<CollectiveKind>& collective : axes_.collectives) {
        if (has_anywhere(i, collective.value)) cells += chooses(i) ? 1 : configs;
      }
    }
    for (const std::size_t axis :
         {experiment_.fabrics.size(), axes_.sizes.size(), axes_.seeds.size()}) {
      if (cells > most) refuse_cells(where, most);
      cells *= axis;
    }
    if (cells > most) refuse_cells(where, most);
    experiment_.cells.reserve(cells);
  }

  // Configurations, without protocol and tiles, whose thread blocks fit on the fabric's GPUs;
  // skips the others.
  std::vector<Config> launchable(std::size_t fabric, CollectiveKind collective,
                                 const std::string& algorithm) {
    const ExperimentFabric& on = experiment_.fabrics[fabric];
    const Axis<int> all_channels =
        copies_axis(axes_, "channels", experiment_.algorithms, algorithm);
    const Axis<int> all_instances =
        copies_axis(axes_, "instances", experiment_.algorithms, algorithm);
    std::vector<Config> fitting;
    for (const Located<int>& channels : all_channels) {
      for (const Located<int>& instances : all_instances) {
        for (const Located<int>& threads : axes_.threads) {
          Config config{.algorithm = algorithm,
                        .channels = channels.value,
                        .instances = instances.value,
                        .threads = threads.value};
          if (!wanted_with_any_protocol(axes_, config)) continue;
          const std::string reason = check_resident(
              experiment_.algorithms, {.collective = collective, .root = constants_.root}, config,
              *on.fabric, on.cost_model);
          if (reason.empty()) {
            fitting.push_back(std::move(config));
          } else {
            skip(fmt::format("on fabric '{}', {}: {}", on.label, to_string(collective), reason));
          }
        }
      }
    }
    return fitting;
  }

  void add_cells(std::size_t fabric, CollectiveKind collective, const std::string& algorithm) {
    std::vector<Config> fitting = launchable(fabric, collective, algorithm);
    for (const auto& protocol : axes_.protocols) {
      for (Config& config : fitting) {
        config.protocol = protocol.value;
        if (wanted(axes_, config)) add_tilings(fabric, collective, config);
      }
    }
  }

  // Adds the configuration with every tile size and number of slots; equal ones are added once.
  void add_tilings(std::size_t fabric, CollectiveKind collective, const Config& config) {
    const CostModel& model = experiment_.fabrics[fabric].cost_model;
    std::vector<std::pair<std::uint64_t, int>> seen;
    for (const auto& tile : axes_.tiles) {
      for (const auto& slots : axes_.slots) {
        const Config tiled = with_tiles(model, collective, config, tile.value, slots.value);
        const std::pair key(tiled.tile_bytes, tiled.slots);
        if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
        seen.push_back(key);
        const int min_slots = experiment_.algorithms.at(tiled.algorithm).min_slots;
        if (tiled.slots > 0 && tiled.slots < min_slots) {
          skip(fmt::format("program '{}' deadlocks with slots {}; it needs at least {}",
                           tiled.algorithm, tiled.slots, min_slots));
          continue;
        }
        for (const std::uint64_t bytes : sizes_of(fabric, collective)) {
          add_seeds({.fabric = fabric, .call = call(collective, bytes), .config = tiled});
        }
      }
    }
  }

  // Adds the first note of a tuner about its choices for a collective on a fabric.
  void add_note(const Tuner& tuner, std::size_t fabric, CollectiveKind collective) {
    for (const std::uint64_t bytes : sizes_of(fabric, collective)) {
      const std::string note = tuner.note(call(collective, bytes));
      if (note.empty()) continue;
      std::vector<std::string>& all = experiment_.warnings;
      if (std::ranges::find(all, note) == all.end()) all.push_back(note);
      return;
    }
  }

  void add_chosen(std::size_t fabric, CollectiveKind collective, std::size_t algorithm) {
    const ExperimentFabric& on = experiment_.fabrics[fabric];
    const Located<std::string>& name = axes_.algorithms[algorithm];
    add_note(*tuners_[algorithm][fabric], fabric, collective);
    for (const std::uint64_t bytes : sizes_of(fabric, collective)) {
      Cell cell;
      cell.fabric = fabric;
      cell.call = call(collective, bytes);
      cell.tuner = name.value;
      std::string reason;
      try {
        cell.config = tuners_[algorithm][fabric]->choose(cell.call);
        reason = check_config(experiment_.algorithms, cell.call, cell.config, on.fabric->ranks());
        if (reason.empty()) {
          reason = check_resident(experiment_.algorithms, cell.call, cell.config, *on.fabric,
                                  on.cost_model);
        }
        if (!reason.empty()) reason = "its choice cannot run: " + reason;
      } catch (const UserError& error) {
        reason = error.what();
      }
      if (!reason.empty()) {
        throw UserError(name.where,
                        fmt::format("on fabric '{}', {} of {}: {}", on.label, to_string(collective),
                                    format_bytes(bytes), reason));
      }
      add_seeds(std::move(cell));
    }
  }

  void add_seeds(Cell cell) {
    for (const auto& seed : axes_.seeds) {
      cell.seed = seed.value;
      experiment_.cells.push_back(cell);
    }
  }

  [[nodiscard]] Call call(CollectiveKind collective, std::uint64_t bytes) const {
    return {.collective = collective, .bytes = bytes, .root = constants_.root};
  }

  [[nodiscard]] std::string title(std::size_t algorithm) const {
    return fmt::format("{}'{}'", chooses(algorithm) ? "" : "algorithm ",
                       axes_.algorithms[algorithm].value);
  }

  void skip(std::string what) {
    std::vector<std::string>& all = experiment_.skipped;
    if (std::find(all.begin(), all.end(), what) == all.end()) all.push_back(std::move(what));
  }

  Experiment& experiment_;
  const ExperimentAxes& axes_;
  CellConstants constants_;
  // Tuners by algorithm and fabric; empty for an algorithm that is not a tuner.
  std::vector<std::vector<std::unique_ptr<const Tuner>>> tuners_;
};

}  // namespace

void make_cells(Experiment& experiment, const ExperimentAxes& axes, const SourceLocation& where,
                const CellConstants& constants) {
  CellMaker(experiment, axes, constants).make(where);
}

void check_label(const std::string& label, std::string_view what, const SourceLocation& where) {
  const bool plain = std::all_of(label.begin(), label.end(), [](unsigned char c) {
    return c >= 0x20 && c != 0x7F && c != ',' && c != '"';
  });
  if (!plain || label.empty() || label.size() > 200) {
    throw UserError(where, fmt::format("{} is called {}; expected a name of 1 to 200 bytes without "
                                       "commas, quotes and control characters",
                                       what, quoted(label)));
  }
}

}  // namespace cclgym
