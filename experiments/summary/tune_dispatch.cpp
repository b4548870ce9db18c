#include "experiments/summary/tune_dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "collectives/library/program_entry.hpp"
#include "core/statistics.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"
#include "experiments/summary/report_summary.hpp"

namespace cclgym {

namespace {

Config config_of(const ResultRow& row) {
  const std::optional<Protocol> protocol = parse_protocol(row.protocol);
  if (!protocol) throw UserError("results have the unknown protocol " + quoted(row.protocol));
  return {.algorithm = row.program,
          .protocol = *protocol,
          .channels = row.channels,
          .instances = row.instances,
          .threads = row.threads,
          .tile_bytes = row.tile_bytes,
          .slots = row.slots};
}

auto sort_key(const Config& config) {
  return std::tie(config.algorithm, config.protocol, config.channels, config.instances,
                  config.threads, config.tile_bytes, config.slots);
}

struct ConfigLess {
  bool operator()(const Config& a, const Config& b) const { return sort_key(a) < sort_key(b); }
};

// Times of one configuration at one size, over the seeds.
struct Samples {
  std::vector<double> times_us;
  std::vector<double> speedups;
};

// Results of one collective on one fabric.
class Sweep {
 public:
  Sweep(const ExperimentFabric& fabric, CollectiveKind collective)
      : fabric_(fabric.label), model_(&fabric.cost_model), collective_(collective) {}

  [[nodiscard]] bool is_of(const ResultRow& row) const {
    return row.fabric == fabric_ && row.collective == to_string(collective_);
  }

  void add(const ResultRow& row, std::optional<double> speedup) {
    const auto [entry, fresh] = numbers_.try_emplace(config_of(row), configs_.size());
    if (fresh) configs_.push_back(entry->first);
    if (row.algorithm.starts_with("nccl-default")) of_nccl_.insert(entry->second);
    Samples& samples = sizes_[row.size_bytes][entry->second];
    samples.times_us.push_back(row.time_us);
    if (speedup) samples.speedups.push_back(*speedup);
  }

  [[nodiscard]] TunedBlock tuned(double tolerance) const {
    TunedBlock block{.fabric = fabric_, .collective = collective_, .ranges = {}};
    const std::vector<std::size_t> chosen = choose(tolerance);
    std::size_t place = 0;
    for (const auto& [bytes, samples] : sizes_) {
      const std::size_t config = chosen[place];
      if (place == 0 || config != chosen[place - 1]) {
        if (place > 0) block.ranges.back().range.to_bytes = bytes;
        TunedRange next;
        next.range.from_bytes = place == 0 ? 0 : bytes;
        next.range.choice = choice_under(*model_, collective_, configs_[config]);
        const bool stated = next.range.choice.tile_bytes || next.range.choice.slots;
        next.range.tiles_by_nccl = stated && of_nccl_.contains(config);
        block.ranges.push_back(std::move(next));
      }
      add_size(block.ranges.back(), samples, config);
      ++place;
    }
    return block;
  }

 private:
  using OfSize = std::map<std::size_t, Samples>;  // by index of the configuration

  // Cost of the table up to a size: the number of ranges first, then the logarithms of the losses.
  struct Cost {
    std::size_t ranges = std::numeric_limits<std::size_t>::max();
    double loss = 0;

    [[nodiscard]] bool operator<(const Cost& other) const {
      return std::tie(ranges, loss) < std::tie(other.ranges, other.loss);
    }
  };

  static double best_us(const OfSize& of_size) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [config, samples] : of_size) {
      best = std::min(best, median(samples.times_us));
    }
    return best;
  }

  // The configuration of each size, by dynamic programming over the sizes. The state is the cost of
  // the table up to a size if it ends with a given configuration.
  [[nodiscard]] std::vector<std::size_t> choose(double tolerance) const {
    // Configuration of the previous size, by size and configuration.
    std::vector<std::map<std::size_t, std::size_t>> before;
    std::map<std::size_t, Cost> costs;
    std::pair<Cost, std::size_t> cheapest{{.ranges = 0}, 0};
    for (const auto& [bytes, of_size] : sizes_) {
      const double best = best_us(of_size);
      std::map<std::size_t, Cost> next;
      std::pair<Cost, std::size_t> next_cheapest;
      before.emplace_back();
      for (const auto& [config, samples] : of_size) {
        const double ratio = median(samples.times_us) / best;
        if (ratio > 1 + tolerance) continue;
        Cost cost{cheapest.first.ranges + 1, cheapest.first.loss};
        std::size_t from = cheapest.second;
        if (const auto same = costs.find(config); same != costs.end() && !(cost < same->second)) {
          cost = same->second;
          from = config;
        }
        cost.loss += std::log(ratio);
        next[config] = cost;
        before.back()[config] = from;
        if (cost < next_cheapest.first) {
          next_cheapest = {cost, config};
        }
      }
      costs = std::move(next);
      cheapest = next_cheapest;
    }
    std::vector<std::size_t> chosen(sizes_.size());
    std::size_t config = cheapest.second;
    for (std::size_t place = chosen.size(); place-- > 0;) {
      chosen[place] = config;
      config = before[place].at(config);
    }
    return chosen;
  }

  static void add_size(TunedRange& range, const OfSize& of_size, std::size_t config) {
    const Samples& samples = of_size.at(config);
    ++range.tested;
    range.loss = std::max(range.loss, median(samples.times_us) / best_us(of_size) - 1);
    if (samples.speedups.empty()) return;
    const double speedup = median(samples.speedups);
    range.least_speedup = std::min(range.least_speedup.value_or(speedup), speedup);
    range.most_speedup = std::max(range.most_speedup.value_or(speedup), speedup);
  }

  std::string fabric_;
  const CostModel* model_;
  CollectiveKind collective_;
  std::map<Config, std::size_t, ConfigLess> numbers_;  // in the order of the rows
  std::vector<Config> configs_;
  std::set<std::size_t> of_nccl_;  // configurations that NCCL chose, with their tiles and slots
  std::map<std::uint64_t, OfSize> sizes_;
};

template <class Text>
Column text_column(const TunedBlock& block, std::string heading, bool left, Text text) {
  Column column{.heading = std::move(heading), .left = left};
  for (const TunedRange& range : block.ranges) column.cells.push_back(text(range));
  return column;
}

std::string speedup_text(const TunedRange& range) {
  if (!range.least_speedup) return "-";
  const std::string least = fmt::format("{:.2f}", *range.least_speedup);
  const std::string most = fmt::format("{:.2f}", *range.most_speedup);
  return least == most ? least : least + " to " + most;
}

std::vector<Column> columns_of(const TunedBlock& block) {
  const auto number = [&](std::string heading, auto value) {
    return text_column(block, std::move(heading), false, [value](const TunedRange& range) {
      return fmt::format("{}", value(range.range.choice.config));
    });
  };
  std::vector<Column> columns;
  columns.push_back(text_column(block, "sizes", true,
                                [](const TunedRange& range) { return range_text(range.range); }));
  columns.push_back(text_column(block, "algorithm", true, [](const TunedRange& range) {
    return range.range.choice.config.algorithm;
  }));
  columns.push_back(text_column(block, "protocol", true, [](const TunedRange& range) {
    return std::string(to_string(range.range.choice.config.protocol));
  }));
  columns.push_back(number("ch", [](const Config& config) { return config.channels; }));
  columns.push_back(number("r", [](const Config& config) { return config.instances; }));
  columns.push_back(number("thr", [](const Config& config) { return config.threads; }));
  const auto stated = [&](std::string heading, auto text) {
    Column column = text_column(block, std::move(heading), false, text);
    const bool usual = std::ranges::all_of(
        column.cells, [](const std::string& cell) { return cell == kOfProtocol; });
    if (!usual) columns.push_back(std::move(column));
  };
  stated("tile", [](const TunedRange& range) { return tile_text(range.range.choice.tile_bytes); });
  stated("slots", [](const TunedRange& range) { return slots_text(range.range.choice.slots); });
  columns.push_back(text_column(block, "tested", false, [](const TunedRange& range) {
    return std::to_string(range.tested);
  }));
  const bool compared = std::any_of(block.ranges.begin(), block.ranges.end(),
                                    [](const TunedRange& range) { return range.least_speedup; });
  if (compared) {
    columns.push_back(text_column(block, "speedup", false, speedup_text));
    columns.back().unit = "x";
  }
  columns.push_back(text_column(block, "loss", false, [](const TunedRange& range) {
    return fmt::format("{:.2f}", 100 * range.loss);
  }));
  columns.back().unit = "%";
  return columns;
}

// A folder's path without symbolic links: ".." leaves a folder for its real parent.
std::filesystem::path real_folder(const std::filesystem::path& folder) {
  const std::filesystem::path full = std::filesystem::absolute(folder.empty() ? "." : folder);
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(full, error);
  return error ? full.lexically_normal() : real;
}

// Names the file of a fixed program in the table.
void name_program(const AlgorithmEntry& algorithm, const std::string& folder,
                  DispatchTable& table) {
  if (!algorithm.fixed()) return;
  if (algorithm.file.empty()) {
    throw UserError(
        fmt::format("program '{}' was not read from a file; a dispatch table cannot "
                    "name it",
                    algorithm.name));
  }
  const std::filesystem::path path(algorithm.file);
  const std::filesystem::path file = real_folder(path.parent_path()) / path.filename();
  const NamedProgram program{.file = file.lexically_proximate(real_folder(folder)).string(),
                             .name = algorithm.name,
                             .hash = program_hash(*algorithm.program),
                             .traits = algorithm.program->traits};
  if (std::ranges::find(table.programs, program) == table.programs.end()) {
    table.programs.push_back(program);
  }
}

}  // namespace

std::vector<TunedBlock> tune_dispatch(const Experiment& experiment, std::span<const ResultRow> rows,
                                      double tolerance) {
  if (experiment.time_of != TimeOf::Call) {
    throw UserError({.file = experiment.path},
                    "the sweep has times of parts of calls (time_of); a dispatch table needs whole "
                    "calls");
  }
  const std::vector<std::optional<double>> speedups = summarize(experiment, rows, {}).speedups;
  const std::vector<bool> compete = competing(experiment, rows);
  std::vector<Sweep> sweeps;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ResultRow& row = rows[i];
    if (!compete[i] || !std::isfinite(row.time_us) || row.time_us <= 0) continue;
    auto sweep = std::find_if(sweeps.begin(), sweeps.end(),
                              [&](const Sweep& candidate) { return candidate.is_of(row); });
    if (sweep == sweeps.end()) {
      const auto collective = parse_collective(row.collective);
      if (!collective) {
        throw UserError("results have the unknown collective " + quoted(row.collective));
      }
      if (*collective == CollectiveKind::Custom) {
        throw UserError("dispatch tables have no custom collectives, and the results have one");
      }
      const auto fabric =
          std::ranges::find(experiment.fabrics, row.fabric, &ExperimentFabric::label);
      if (fabric == experiment.fabrics.end()) {
        throw UserError("results have the unknown fabric " + quoted(row.fabric));
      }
      sweeps.emplace_back(*fabric, *collective);
      sweep = sweeps.end() - 1;
    }
    sweep->add(row, speedups[i]);
  }
  std::vector<TunedBlock> blocks;
  for (const Sweep& sweep : sweeps) blocks.push_back(sweep.tuned(tolerance));
  return blocks;
}

DispatchTable dispatch_table(const Experiment& experiment, const std::vector<TunedBlock>& blocks,
                             const std::string& folder) {
  DispatchTable table;
  table.algorithms = experiment.algorithms;
  std::map<std::string, std::string> noisy_of;  // by label in the table
  for (const TunedBlock& tuned : blocks) {
    // The calls of a job have the fabric's noise without its name.
    const auto of_sweep =
        std::ranges::find(experiment.fabrics, tuned.fabric, &ExperimentFabric::label);
    const std::string& label =
        of_sweep == experiment.fabrics.end() ? tuned.fabric : of_sweep->plain_label;
    const auto [other, added] = noisy_of.emplace(label, tuned.fabric);
    if (!added && other->second != tuned.fabric) {
      throw UserError({.file = experiment.path},
                      fmt::format("the sweep has '{}' and '{}', which are one fabric in a dispatch "
                                  "table; leave one of the noise profiles out",
                                  other->second, tuned.fabric));
    }
    DispatchBlock block{.fabric = label, .collective = tuned.collective};
    for (const TunedRange& range : tuned.ranges) {
      block.ranges.push_back(range.range);
      name_program(experiment.algorithms.at(range.range.choice.config.algorithm), folder, table);
    }
    table.blocks.push_back(std::move(block));
  }
  return table;
}

std::string tuned_text(const Experiment& experiment, const std::vector<TunedBlock>& blocks) {
  std::string text =
      fmt::format("{}: dispatch table, engine {}\n", experiment.name, experiment.engine);
  if (experiment.baseline) text += "speedup over " + baseline_text(experiment) + '\n';
  text += "loss: max over the tested sizes, relative to the fastest\n";
  for (const TunedBlock& block : blocks) {
    text += fmt::format("\n{}, {}\n", block.fabric, to_string(block.collective));
    text += format_columns(columns_of(block));
  }
  return text;
}

}  // namespace cclgym
