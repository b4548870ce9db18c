#include "experiments/summary/report_summary.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <tuple>

#include "core/statistics.hpp"
#include "core/units.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {

namespace {

bool usable(double time_us) { return std::isfinite(time_us) && time_us > 0; }

bool is_ring(const std::string& algorithm) {
  return algorithm == "ring" || algorithm.starts_with("ring-");
}

// Speedup of each row over the baseline's cell with the same fabric, collective, size and seed, or
// over the fastest of these cells if the selector matches several.
std::vector<std::optional<double>> speedups_of(const Experiment& experiment,
                                               std::span<const ResultRow> rows) {
  std::vector<std::optional<double>> speedups(rows.size());
  if (!experiment.baseline) return speedups;
  const auto key = [](const ResultRow& row) {
    return std::tuple<std::string_view, int, std::string_view, std::uint64_t, std::uint64_t>(
        row.fabric, row.ranks, row.collective, row.size_bytes, row.seed);
  };
  std::map<decltype(key(rows[0])), double> baseline_us;
  for (const ResultRow& row : rows) {
    if (!usable(row.time_us)) continue;
    const std::optional<Cell> cell = cell_of(experiment, row);
    if (!cell || !experiment.baseline->matches(experiment, *cell)) continue;
    const auto [entry, fresh] = baseline_us.try_emplace(key(row), row.time_us);
    if (!fresh) entry->second = std::min(entry->second, row.time_us);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto entry = baseline_us.find(key(rows[i]));
    if (entry != baseline_us.end() && usable(rows[i].time_us)) {
      speedups[i] = entry->second / rows[i].time_us;
    }
  }
  return speedups;
}

// Combines the rows of one configuration at one size, one per seed, into one time.
ConfigTime over_seeds(std::span<const ResultRow> rows,
                      const std::vector<std::optional<double>>& speedups,
                      const std::vector<std::size_t>& of_config) {
  const ResultRow& first = rows[of_config.front()];
  ConfigTime result{.algorithm = first.algorithm,
                    .program = first.program,
                    .protocol = first.protocol,
                    .channels = first.channels,
                    .instances = first.instances,
                    .threads = first.threads,
                    .tile_bytes = first.tile_bytes,
                    .slots = first.slots,
                    .legal_in = first.legal_in,
                    .speedup = std::nullopt};
  std::vector<double> time_us;
  std::vector<double> algbw;
  std::vector<double> busbw;
  std::vector<double> speedup;
  std::vector<double> baseline_us;
  for (const std::size_t i : of_config) {
    time_us.push_back(rows[i].time_us);
    algbw.push_back(rows[i].algbw_GBps);
    busbw.push_back(rows[i].busbw_GBps);
    if (!speedups[i]) continue;
    speedup.push_back(*speedups[i]);
    baseline_us.push_back(*speedups[i] * rows[i].time_us);
  }
  result.time_us = median(time_us);
  result.algbw_GBps = median(algbw);
  result.busbw_GBps = median(busbw);
  if (!speedup.empty()) {
    result.speedup = median(speedup);
    result.baseline_us = median(baseline_us);
  }
  return result;
}

// `faster` takes the names of configurations that are faster than the best without competing.
SizeSummary summarize_size(std::span<const ResultRow> rows, const std::vector<bool>& compete,
                           const std::vector<std::optional<double>>& speedups,
                           const std::vector<std::size_t>& of_size, std::set<std::string>& faster) {
  const auto key = [](const ResultRow& row) {
    return std::tuple<std::string_view, std::string_view, std::string_view, int, int, int,
                      std::uint64_t, int>(row.algorithm, row.program, row.protocol, row.channels,
                                          row.instances, row.threads, row.tile_bytes, row.slots);
  };
  std::map<decltype(key(rows[0])), std::size_t> index;
  std::vector<std::vector<std::size_t>> configs;  // in row order
  for (const std::size_t i : of_size) {
    const auto [entry, fresh] = index.try_emplace(key(rows[i]), configs.size());
    if (fresh) configs.emplace_back();
    configs[entry->second].push_back(i);
  }
  SizeSummary summary;
  summary.bytes = rows[of_size.front()].size_bytes;
  std::optional<ConfigTime> best;
  std::optional<ConfigTime> other;  // the best of those that do not compete
  const bool any = std::ranges::none_of(of_size, [&](std::size_t i) { return compete[i]; });
  for (const std::vector<std::size_t>& config : configs) {
    const ConfigTime time = over_seeds(rows, speedups, config);
    std::optional<ConfigTime>& least = any || compete[config.front()] ? best : other;
    if (!least || time.time_us < least->time_us) least = time;
    const bool library =
        time.algorithm.starts_with("nccl-default") || time.algorithm.starts_with("rccl-default");
    if (library && !summary.library) summary.library = time;
    if (is_ring(time.algorithm) &&
        (!summary.best_ring || time.time_us < summary.best_ring->time_us)) {
      summary.best_ring = time;
    }
  }
  summary.best = *best;
  if (other && other->time_us < best->time_us) {
    faster.insert(other->algorithm + " " + other->protocol);
  }
  return summary;
}

// Adds the measured series of a block and their errors; returns the number of rows used.
std::size_t add_measured(BlockSummary& block, std::span<const MeasuredRow> measured) {
  std::size_t taken = 0;
  for (const MeasuredRow& row : measured) {
    if (row.fabric != block.fabric || row.collective != block.collective ||
        row.ranks != block.ranks) {
      continue;
    }
    ++taken;
    auto series = std::find_if(block.measured.begin(), block.measured.end(), [&](const auto& s) {
      return s.system == row.system && s.config == row.config;
    });
    if (series == block.measured.end()) {
      block.measured.push_back({.system = row.system,
                                .config = row.config,
                                .source = row.source,
                                .library_chose = row.library_chose,
                                .points = {}});
      series = block.measured.end() - 1;
    }
    series->points.emplace_back(row.size_bytes, row.time_us);
  }
  for (MeasuredSeries& series : block.measured) {
    std::sort(series.points.begin(), series.points.end());
    series.compared_with = kBestOfAll;
    MeasuredError ring;
    MeasuredError own;
    for (SizeSummary& size : block.sizes) {
      const bool library = series.library_chose && size.library;
      if (library) series.compared_with = size.library->algorithm;
      const double simulated_us = library ? size.library->time_us : size.best.time_us;
      size.simulated_us.push_back(simulated_us);
      const auto point = std::find_if(series.points.begin(), series.points.end(),
                                      [&](const auto& p) { return p.first == size.bytes; });
      std::optional<double> time_us;
      if (point != series.points.end()) {
        time_us = point->second;
        own.ratios.emplace_back(size.bytes, simulated_us / *time_us);
        if (size.best_ring) {
          ring.ratios.emplace_back(size.bytes, size.best_ring->time_us / *time_us);
        }
      }
      size.measured_us.push_back(time_us);
    }
    for (MeasuredError* error : {&ring, &own}) {
      std::vector<double> ratios;
      for (const auto& [bytes, ratio] : error->ratios) ratios.push_back(ratio);
      error->error = geometric_mean_error(ratios);
    }
    block.ring_errors.push_back(std::move(ring));
    block.errors.push_back(std::move(own));
  }
  return taken;
}

void add_measured_speedups(BlockSummary& block, const Experiment& experiment,
                           std::span<const ResultRow> rows, std::span<const MeasuredRow> measured) {
  const auto of_block = [&](const auto& all) {
    std::vector<decltype(all.data())> mine;
    for (const auto& row : all) {
      if (row.fabric == block.fabric && row.collective == block.collective &&
          row.ranks == block.ranks) {
        mine.push_back(&row);
      }
    }
    return mine;
  };
  block.measured_speedups = measured_speedups(experiment, of_block(rows), of_block(measured));
}

// True if both cells have the same configuration of one algorithm, or if one tuner chose for both.
bool same_series(const Cell& a, const Cell& b) {
  return a.tuner == b.tuner && (!a.tuner.empty() || a.config == b.config);
}

// Marks the columns whose values differ between rows, which must then be shown per row.
void note_variation(ResultSummary& summary, std::span<const ResultRow> rows) {
  using Key = std::pair<std::string_view, std::string_view>;  // fabric and protocol
  std::map<Key, const ResultRow*> first_of;
  for (const ResultRow& row : rows) {
    summary.chosen |= row.chosen();
    summary.judged |= row.legal_in != "-";
    summary.instances_vary |= row.instances != rows.front().instances;
    summary.threads_vary |= row.threads != rows.front().threads;
    // A protocol's own tiles say nothing, nor do those of a tuner's choice.
    if (row.chosen()) continue;
    const ResultRow& first = *first_of.try_emplace({row.fabric, row.protocol}, &row).first->second;
    summary.tiles_vary |= row.tile_bytes != first.tile_bytes;
    summary.slots_vary |= row.slots != first.slots;
  }
}

// Adds what is true of the experiment's fabric with the block's label.
void add_fabric(const Experiment& experiment, BlockSummary& block) {
  for (const ExperimentFabric& fabric : experiment.fabrics) {
    if (fabric.label != block.fabric) continue;
    block.relays = relay_text(*fabric.fabric);
    const auto found = fabric.intervals.find(block.collective);
    if (found != fabric.intervals.end()) block.interval = found->second;
    return;
  }
}

}  // namespace

std::optional<Cell> cell_of(const Experiment& experiment, const ResultRow& row) {
  const auto& fabrics = experiment.fabrics;
  const auto fabric = std::find_if(fabrics.begin(), fabrics.end(), [&](const auto& candidate) {
    return candidate.label == row.fabric;
  });
  const std::optional<CollectiveKind> collective = parse_collective(row.collective);
  const std::optional<Protocol> protocol = parse_protocol(row.protocol);
  if (fabric == fabrics.end() || !collective || !protocol) return std::nullopt;
  Cell cell;
  cell.fabric = static_cast<std::size_t>(fabric - fabrics.begin());
  cell.call.collective = *collective;
  cell.call.bytes = row.size_bytes;
  cell.config = {.algorithm = row.program,
                 .protocol = *protocol,
                 .channels = row.channels,
                 .instances = row.instances,
                 .threads = row.threads,
                 .tile_bytes = row.tile_bytes,
                 .slots = row.slots};
  if (row.chosen()) cell.tuner = row.algorithm;
  cell.seed = row.seed;
  return cell;
}

std::string baseline_heading(const Experiment& experiment) {
  const CellSelector& baseline = *experiment.baseline;
  const bool alone = baseline.algorithm && !baseline.protocol && !baseline.channels &&
                     !baseline.instances && !baseline.threads && !baseline.tile_bytes &&
                     !baseline.slots;
  return alone ? *baseline.algorithm : "baseline";
}

std::string baseline_text(const Experiment& experiment) {
  if (!experiment.baseline) return "";
  const CellSelector& baseline = *experiment.baseline;
  std::vector<std::string> parts;
  if (baseline.algorithm) parts.push_back(*baseline.algorithm);
  if (baseline.protocol) parts.emplace_back(to_string(*baseline.protocol));
  if (baseline.channels) {
    parts.push_back(
        fmt::format("{} channel{}", *baseline.channels, *baseline.channels == 1 ? "" : "s"));
  }
  if (baseline.instances) {
    parts.push_back(
        fmt::format("{} instance{}", *baseline.instances, *baseline.instances == 1 ? "" : "s"));
  }
  if (baseline.threads) parts.push_back(fmt::format("{} threads", *baseline.threads));
  if (baseline.tile_bytes) {
    const TileBytes& bytes = *baseline.tile_bytes;
    parts.push_back(!bytes || *bytes > 0 ? "tiles of " + tile_text(bytes) : "whole chunks");
  }
  if (baseline.slots) {
    const Slots& slots = *baseline.slots;
    parts.push_back("slots " + slots_text(slots));
  }
  const Cell* first = nullptr;
  bool several = false;
  for (const Cell& cell : experiment.cells) {
    if (!baseline.matches(experiment, cell)) continue;
    if (first == nullptr) first = &cell;
    several = several || !same_series(*first, cell);
  }
  if (parts.empty()) return "the fastest configuration";
  return (several ? "the fastest of " : "") + fmt::format("{}", fmt::join(parts, ", "));
}

std::string relay_text(const Fabric& fabric) {
  constexpr int kMostRanks = 64;  // every pair costs a route search
  const int ranks = fabric.ranks();
  if (ranks > kMostRanks) return "";
  int relayed = 0;
  int through_hosts = 0;
  for (int source = 0; source < ranks; ++source) {
    for (int target = 0; target < ranks; ++target) {
      const std::vector<LinkId> route = fabric.route(source, target, 0);
      const auto passes = [&](NodeKind kind) {
        return std::any_of(route.begin(), route.end(), [&](LinkId id) {
          const NodeId end = fabric.links()[static_cast<std::size_t>(id)].target;
          return end != fabric.gpu(target) &&
                 fabric.nodes()[static_cast<std::size_t>(end)].kind == kind;
        });
      };
      if (passes(NodeKind::Gpu)) {
        ++relayed;
      } else if (passes(NodeKind::Host)) {
        ++through_hosts;
      }
    }
  }
  const int pairs = ranks * (ranks - 1);
  std::string text;
  if (relayed > 0) text = fmt::format("{} of {} GPU pairs are relayed by a GPU", relayed, pairs);
  if (through_hosts > 0) {
    text += fmt::format("{}{} of {} GPU pairs meet through hosts", text.empty() ? "" : ", ",
                        through_hosts, pairs);
  }
  return text;
}

namespace {

// The tuners whose time falls by a tenth or more from one size to the next, with the first such
// sizes: their choice changes too late. `by_size` has the rows of a block.
std::string drops_text(std::span<const ResultRow> rows,
                       const std::map<std::uint64_t, std::vector<std::size_t>>& by_size) {
  constexpr double kNoise = 1.1;
  std::map<std::string_view, std::map<std::uint64_t, std::vector<double>>> times;
  for (const auto& [bytes, of_size] : by_size) {
    for (const std::size_t i : of_size) {
      if (rows[i].chosen()) times[rows[i].algorithm][bytes].push_back(rows[i].time_us);
    }
  }
  std::vector<std::string> texts;
  for (const auto& [tuner, series] : times) {
    for (auto next = std::next(series.begin()); next != series.end(); ++next) {
      const auto& [bytes, us] = *std::prev(next);
      if (median(us) < kNoise * median(next->second)) continue;
      texts.push_back(fmt::format("{} takes {:.0f} us for {}, but {:.0f} us for {}", tuner,
                                  median(us), format_bytes(bytes), median(next->second),
                                  format_bytes(next->first)));
      break;
    }
  }
  if (texts.empty()) return "";
  return fmt::format(
      "a choice that changes too late (docs/fidelity.md, The default's own "
      "mistakes): {}",
      fmt::join(texts, "; "));
}

}  // namespace

std::vector<bool> competing(const Experiment& experiment, std::span<const ResultRow> rows) {
  using Key = std::tuple<std::string_view, std::string_view, int>;
  const auto key = [](const ResultRow& row) { return Key{row.fabric, row.collective, row.ranks}; };
  std::set<Key> judged;
  for (const ResultRow& row : rows) {
    if (row.legal_in != "-") judged.insert(key(row));
  }
  std::vector<bool> compete;
  for (const ResultRow& row : rows) {
    compete.push_back(experiment.any_legal || row.legal_in != "-" || !judged.contains(key(row)));
  }
  return compete;
}

ResultSummary summarize(const Experiment& experiment, std::span<const ResultRow> rows,
                        std::span<const MeasuredRow> measured) {
  ResultSummary summary;
  summary.speedups = speedups_of(experiment, rows);
  note_variation(summary, rows);
  const std::vector<bool> compete = competing(experiment, rows);
  using Key = std::tuple<std::string_view, std::string_view, int, int>;
  std::map<Key, std::size_t> index;
  std::vector<std::map<std::uint64_t, std::vector<std::size_t>>> by_size;  // per block
  std::set<std::uint64_t> seeds;
  std::vector<bool> of_nccl;  // per block: NCCL or RCCL chose for some row
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ResultRow& row = rows[i];
    seeds.insert(row.seed);
    if (!usable(row.time_us)) continue;
    const auto [entry, fresh] = index.try_emplace(
        Key{row.fabric, row.collective, row.servers, row.ranks}, summary.blocks.size());
    if (fresh) {
      BlockSummary block;
      block.fabric = row.fabric;
      block.collective = row.collective;
      block.servers = row.servers;
      block.ranks = row.ranks;
      block.cost_model = row.cost_model;
      add_fabric(experiment, block);
      summary.blocks.push_back(std::move(block));
      by_size.emplace_back();
      of_nccl.push_back(false);
    }
    if (row.chosen() && is_of_nccl(row.program, row.algorithm)) of_nccl[entry->second] = true;
    by_size[entry->second][row.size_bytes].push_back(i);
  }
  summary.seeds = seeds.size();
  std::size_t taken = 0;
  for (std::size_t b = 0; b < summary.blocks.size(); ++b) {
    BlockSummary& block = summary.blocks[b];
    if (!of_nccl[b]) block.interval.clear();
    std::set<std::string> faster;
    for (const auto& [bytes, of_size] : by_size[b]) {
      block.sizes.push_back(summarize_size(rows, compete, summary.speedups, of_size, faster));
    }
    if (!faster.empty()) {
      block.illegal = fmt::format("faster at some sizes, but not NCCL's own (legal: any): {}",
                                  fmt::join(faster, ", "));
    }
    block.drops = drops_text(rows, by_size[b]);
    taken += add_measured(block, measured);
    if (experiment.measured_speedup) add_measured_speedups(block, experiment, rows, measured);
  }
  summary.unmatched_measured = measured.size() - std::min(taken, measured.size());
  return summary;
}

double geometric_mean_error(std::span<const double> ratios) {
  if (ratios.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const double ratio : ratios) sum += std::abs(std::log(ratio));
  return std::expm1(sum / static_cast<double>(ratios.size()));
}

std::vector<MeasuredRow> read_measured_files(const Experiment& experiment) {
  std::vector<MeasuredRow> rows;
  std::vector<MeasuredOn> fabrics;
  for (const ExperimentFabric& one : experiment.fabrics) {
    fabrics.push_back({.label = one.label,
                       .ranks = one.fabric->ranks(),
                       .nodes = one.fabric->servers(),
                       .info = find_fabric_info(one.fabric->name()),
                       .fabric = one.fabric.get()});
  }
  for (const std::string& path : experiment.measured) {
    std::vector<MeasuredRow> of_file = read_measured(path, fabrics);
    rows.insert(rows.end(), std::make_move_iterator(of_file.begin()),
                std::make_move_iterator(of_file.end()));
  }
  check_measured_speedup(experiment, rows);
  return rows;
}

}  // namespace cclgym
