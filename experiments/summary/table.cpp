#include "experiments/summary/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <ostream>
#include <vector>

#include "core/text_columns.hpp"
#include "core/units.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "experiments/summary/report_summary.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kWidest = 100;

template <class Value>
std::vector<std::optional<double>> values_of(const BlockSummary& block, Value value) {
  std::vector<std::optional<double>> values;
  for (const SizeSummary& size : block.sizes) values.push_back(value(size));
  return values;
}

template <class Text>
Column text_column(const BlockSummary& block, std::string heading, bool left, Text text) {
  Column column{std::move(heading), "", left};
  for (const SizeSummary& size : block.sizes) column.cells.push_back(text(size));
  return column;
}

Column size_column(const BlockSummary& block) {
  return text_column(block, "size", false,
                     [](const SizeSummary& size) { return format_bytes(size.bytes); });
}

std::vector<Column> best_columns(const Experiment& experiment, const BlockSummary& block,
                                 const ResultSummary& summary) {
  std::vector<Column> columns;
  columns.push_back(size_column(block));
  columns.push_back(text_column(block, "algorithm", true,
                                [](const SizeSummary& size) { return size.best.algorithm; }));
  if (summary.chosen) {
    columns.push_back(text_column(block, "program", true,
                                  [](const SizeSummary& size) { return size.best.program; }));
  }
  columns.push_back(text_column(block, "protocol", true,
                                [](const SizeSummary& size) { return size.best.protocol; }));
  columns.push_back(text_column(block, "ch", false, [](const SizeSummary& size) {
    return std::to_string(size.best.channels);
  }));
  if (summary.instances_vary) {
    columns.push_back(text_column(block, "r", false, [](const SizeSummary& size) {
      return std::to_string(size.best.instances);
    }));
  }
  if (summary.threads_vary) {
    columns.push_back(text_column(block, "thr", false, [](const SizeSummary& size) {
      return std::to_string(size.best.threads);
    }));
  }
  if (summary.tiles_vary) {
    columns.push_back(text_column(block, "tile", false, [](const SizeSummary& size) {
      return size.best.tile_bytes == 0 ? "-" : format_bytes(size.best.tile_bytes);
    }));
  }
  if (summary.slots_vary) {
    columns.push_back(text_column(block, "slots", false, [](const SizeSummary& size) {
      return size.best.slots == 0 ? "-" : std::to_string(size.best.slots);
    }));
  }
  if (summary.judged) {
    columns.push_back(text_column(block, "legal in", true,
                                  [](const SizeSummary& size) { return size.best.legal_in; }));
  }
  const auto baselines =
      values_of(block, [](const SizeSummary& size) { return size.best.baseline_us; });
  if (std::ranges::any_of(baselines, [](const auto& time) { return time.has_value(); })) {
    columns.push_back(number_column(baseline_heading(experiment), "us", baselines, 2, 4));
  }
  columns.push_back(number_column(
      "time", "us", values_of(block, [](const SizeSummary& size) { return size.best.time_us; }), 2,
      4));
  columns.push_back(number_column(
      "algbw", "GB/s",
      values_of(block, [](const SizeSummary& size) { return size.best.algbw_GBps; }), 2, 3));
  columns.push_back(number_column(
      "busbw", "GB/s",
      values_of(block, [](const SizeSummary& size) { return size.best.busbw_GBps; }), 2, 3));
  const auto speedups = values_of(block, [](const SizeSummary& size) { return size.best.speedup; });
  if (std::any_of(speedups.begin(), speedups.end(), [](const auto& s) { return s.has_value(); })) {
    columns.push_back(number_column("speedup", "x", speedups, 2, 2));
  }
  return columns;
}

// Names of the measured systems, each once.
std::string measured_systems(const BlockSummary& block) {
  std::vector<std::string> systems;
  for (const MeasuredSeries& series : block.measured) {
    if (std::find(systems.begin(), systems.end(), series.system) == systems.end()) {
      systems.push_back(series.system == "measured" ? "your machine" : series.system);
    }
  }
  return fmt::format("{}", fmt::join(systems, ", "));
}

// "beside times measured on Alps-GH200; sim/meas of default is that of nccl-default:2.23.4"
std::string beside_text(const BlockSummary& block) {
  std::string text = "beside times measured on " + measured_systems(block);
  for (const MeasuredSeries& series : block.measured) {
    if (series.compared_with == kBestOfAll) continue;
    text += fmt::format("; sim/meas of {} is that of {}", series.config, series.compared_with);
  }
  return text + "\n";
}

// The configuration's name, with the system's name if the block has measurements of several
// systems.
std::string measured_heading(const BlockSummary& block, const MeasuredSeries& series) {
  const bool several =
      std::any_of(block.measured.begin(), block.measured.end(),
                  [&](const MeasuredSeries& other) { return other.system != series.system; });
  return several ? series.system + " " + series.config : series.config;
}

std::vector<Column> measured_columns(const BlockSummary& block) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < block.measured.size(); ++i) {
    columns.push_back(number_column(
        measured_heading(block, block.measured[i]), "us",
        values_of(block, [&](const SizeSummary& s) { return s.measured_us[i]; }), 2, 4));
    const auto ratio = [&](const SizeSummary& size) -> std::optional<double> {
      if (!size.measured_us[i]) return std::nullopt;
      return size.simulated_us[i] / *size.measured_us[i];
    };
    columns.push_back(number_column("sim/", "meas", values_of(block, ratio), 2, 2));
  }
  return columns;
}

std::string block_text(const Experiment& experiment, const BlockSummary& block,
                       const ResultSummary& summary) {
  std::string text = fmt::format("\n{}, {}: {} rank{} on {} node{}, cost model {}\n", block.fabric,
                                 block.collective, block.ranks, block.ranks == 1 ? "" : "s",
                                 block.servers, block.servers == 1 ? "" : "s", block.cost_model);
  for (const std::string& note : {block.relays, block.interval, block.drops, block.illegal}) {
    if (!note.empty()) text += "  " + note + "\n";
  }
  std::vector<Column> columns = best_columns(experiment, block, summary);
  std::vector<Column> beside = measured_columns(block);
  if (beside.empty()) return text + format_columns(columns);
  if (total_width(columns) + total_width(beside) <= kWidest) {
    std::move(beside.begin(), beside.end(), std::back_inserter(columns));
    text += format_columns(columns);
    return text + "  " + beside_text(block);
  }
  text += format_columns(columns);
  text += "\n  " + beside_text(block);
  Column best = number_column(
      "best", "us", values_of(block, [](const SizeSummary& size) { return size.best.time_us; }), 2,
      4);
  // Each table has as many measured configurations side by side as fit, but at least one.
  for (std::size_t next = 0; next < beside.size();) {
    std::vector<Column> part{size_column(block), best};
    do {
      part.push_back(std::move(beside[next]));
      part.push_back(std::move(beside[next + 1]));
      next += 2;
    } while (next < beside.size() &&
             total_width(part) + total_width({beside[next], beside[next + 1]}) <= kWidest);
    text += format_columns(part);
  }
  return text;
}

std::string error_cell(const MeasuredError& error) {
  if (error.ratios.empty()) return "-";
  return fmt::format("{:.1f} % over {} size{}", 100 * error.error, error.ratios.size(),
                     error.ratios.size() == 1 ? "" : "s");
}

std::string errors_text(const ResultSummary& summary) {
  std::vector<Column> columns{{"fabric", "", true},
                              {"collective", "", true},
                              {"measured", "", true},
                              {"best ring", "", false},
                              {std::string(kBestOfAll), "", false}};
  for (const BlockSummary& block : summary.blocks) {
    for (std::size_t i = 0; i < block.measured.size(); ++i) {
      columns[0].cells.push_back(block.fabric);
      columns[1].cells.push_back(block.collective);
      columns[2].cells.push_back(block.measured[i].system + " " + block.measured[i].config);
      columns[3].cells.push_back(error_cell(block.ring_errors[i]));
      const std::string& compared_with = block.measured[i].compared_with;
      const bool library = compared_with != kBestOfAll;
      columns[4].cells.push_back((library ? compared_with + ": " : "") +
                                 error_cell(block.errors[i]));
      if (library) columns[4].heading = "best of all, or the library's choice";
    }
  }
  if (columns[0].cells.empty()) return "";
  std::string text = format_columns(columns);
  // The headings have no units here.
  const std::size_t first = text.find('\n');
  text.erase(first, text.find('\n', first + 1) - first);
  return "\ngeometric-mean error against measured times, exp(mean |ln(simulated/measured)|) - 1\n" +
         text;
}

// The measured speedups of a block, one line per size.
std::string measured_speedups_text(const Experiment& experiment, const BlockSummary& block) {
  std::string text;
  for (const MeasuredSpeedups& speedups : block.measured_speedups) {
    std::vector<std::optional<double>> measured;
    std::vector<std::optional<double>> simulated;
    std::vector<std::optional<double>> ratios;
    Column sizes{"size", "", false};
    Column configs{"by", "", true};
    for (const MeasuredSpeedupPoint& point : speedups.points) {
      sizes.cells.push_back(format_bytes(point.bytes));
      configs.cells.push_back(point.config);
      measured.emplace_back(point.measured);
      simulated.emplace_back(point.simulated);
      ratios.emplace_back(point.simulated / point.measured);
    }
    text +=
        fmt::format("\n{}, {}: speedup of {} over {} measured on {}, and simulated over {}\n",
                    block.fabric, block.collective, experiment.measured_speedup->of,
                    experiment.measured_speedup->over, speedups.system, baseline_text(experiment));
    text += format_columns({std::move(sizes), number_column("measured", "x", measured, 2, 2),
                            number_column("simulated", "x", simulated, 2, 2),
                            number_column("sim/", "meas", ratios, 2, 2), std::move(configs)});
    text += fmt::format("  mean |ln(simulated/measured)| {:.3f} ({:.1f} %) over {} size{}\n",
                        speedups.mean_ln, 100 * std::expm1(speedups.mean_ln),
                        speedups.points.size(), speedups.points.size() == 1 ? "" : "s");
  }
  return text;
}

}  // namespace

std::string table_text(const Experiment& experiment, std::span<const ResultRow> rows,
                       std::span<const MeasuredRow> measured) {
  const ResultSummary summary = summarize(experiment, rows, measured);
  std::string text =
      fmt::format("{}: best configuration by size, engine {}", experiment.name, experiment.engine);
  if (summary.seeds > 1) text += fmt::format(", median of {} seeds", summary.seeds);
  text += '\n';
  if (experiment.baseline && !rows.empty()) {
    text += "speedup over " + baseline_text(experiment) + '\n';
  }
  if (rows.size() < experiment.cells.size()) {
    text += fmt::format("{} of {} cells have no result yet\n",
                        experiment.cells.size() - rows.size(), experiment.cells.size());
  }
  for (const BlockSummary& block : summary.blocks) text += block_text(experiment, block, summary);
  text += errors_text(summary);
  for (const BlockSummary& block : summary.blocks) {
    text += measured_speedups_text(experiment, block);
  }
  if (summary.unmatched_measured > 0) {
    text += fmt::format(
        "{} measured row{} without a result for the same fabric, collective and number of ranks\n",
        summary.unmatched_measured, summary.unmatched_measured == 1 ? "" : "s");
  }
  return text;
}

void print_table(std::ostream& out, const Experiment& experiment, std::span<const ResultRow> rows,
                 std::span<const MeasuredRow> measured) {
  out << table_text(experiment, rows, measured);
}

}  // namespace cclgym
