// The data of the report's scripts, as JSON.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "collectives/contract.hpp"
#include "core/units.hpp"
#include "experiments/published/published_comparison.hpp"
#include "experiments/report/report_data.hpp"
#include "experiments/run/results_columns.hpp"
#include "experiments/summary/report_summary.hpp"

namespace cclgym {

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json optional_value(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json config_json(const ConfigTime& config) {
  return {{"algorithm", config.algorithm},
          {"program", config.program},
          {"protocol", config.protocol},
          {"channels", config.channels},
          {"instances", config.instances},
          {"threads", config.threads},
          {"tile_bytes", config.tile_bytes},
          {"slots", config.slots},
          {"legal_in", config.legal_in},
          {"time_us", config.time_us},
          {"algbw_GBps", config.algbw_GBps},
          {"busbw_GBps", config.busbw_GBps},
          {"speedup", optional_value(config.speedup)},
          {"baseline_us", optional_value(config.baseline_us)}};
}

Json error_json(const MeasuredError& error) {
  Json ratios = Json::array();
  for (const auto& [bytes, ratio] : error.ratios) ratios.push_back({bytes, ratio});
  return {{"error", error.error}, {"ratios", std::move(ratios)}};
}

Json block_json(const BlockSummary& block) {
  Json sizes = Json::array();
  for (const SizeSummary& size : block.sizes) {
    sizes.push_back({{"bytes", size.bytes}, {"best", config_json(size.best)}});
  }
  Json measured = Json::array();
  for (std::size_t i = 0; i < block.measured.size(); ++i) {
    const MeasuredSeries& series = block.measured[i];
    Json points = Json::array();
    for (const auto& [bytes, time_us] : series.points) points.push_back({bytes, time_us});
    measured.push_back({{"system", series.system},
                        {"config", series.config},
                        {"source", series.source},
                        {"points", std::move(points)},
                        {"best_ring", error_json(block.ring_errors[i])},
                        {"compared_with", series.compared_with},
                        {"own", error_json(block.errors[i])}});
  }
  Json speedups = Json::array();
  for (const MeasuredSpeedups& one : block.measured_speedups) {
    Json points = Json::array();
    for (const MeasuredSpeedupPoint& point : one.points) {
      points.push_back({{"bytes", point.bytes},
                        {"measured", point.measured},
                        {"simulated", point.simulated},
                        {"config", point.config}});
    }
    speedups.push_back({{"system", one.system},
                        {"source", one.source},
                        {"mean_ln", one.mean_ln},
                        {"points", std::move(points)}});
  }
  const std::optional<CollectiveKind> kind = parse_collective(block.collective);
  return {{"fabric", block.fabric},
          {"collective", block.collective},
          {"nodes", block.servers},
          {"ranks", block.ranks},
          {"cost_model", block.cost_model},
          {"relays", block.relays},
          {"interval", block.interval},
          {"drops", block.drops},
          {"illegal", block.illegal},
          {"bus_factor", kind ? bus_bandwidth_factor(*kind, block.ranks) : 1.0},
          {"sizes", std::move(sizes)},
          {"measured", std::move(measured)},
          {"measured_speedups", std::move(speedups)}};
}

Json verdict_json(const PublishedVerdict& verdict) {
  Json points = Json::array();
  for (const BestSpeedup& point : verdict.points) {
    const Json series = point.series == kBaselineSeries ? Json(nullptr) : Json(point.series);
    points.push_back({point.bytes, point.speedup, series});
  }
  return {{"holds", verdict.holds()},
          {"text", verdict_text(verdict)},
          {"miss", verdict.miss},
          {"margin", verdict.margin},
          {"points", std::move(points)}};
}

Json comparison_json(const PublishedBlock& block, const PublishedComparison& comparison) {
  const PublishedRow& row = comparison.row;
  return {{"number", row.number},
          {"source", row.source},
          {"range", row.range_text()},
          {"from", row.size_from},
          {"to", row.size_to ? Json(*row.size_to) : Json(nullptr)},
          {"low", row.speedup_low},
          {"high", row.speedup_high},
          {"variant", row.variant},
          {"algorithms", row.algorithms},
          {"judged_by", to_string(row.subject)},
          {"by", winner_text(block, comparison)},
          {"null_holds", null_model_holds(row)},
          {"best", verdict_json(comparison.judged())},
          {"own", comparison.variant ? verdict_json(*comparison.variant) : Json(nullptr)}};
}

// Published speedups: points are [bytes, speedup, index of the series].
Json published_json(const std::vector<PublishedBlock>& blocks) {
  Json all = Json::array();
  for (const PublishedBlock& block : blocks) {
    Json series = Json::array();
    for (const SpeedupSeries& one : block.series) {
      Json points = Json::array();
      for (const SpeedupPoint& point : one.points) points.push_back({point.bytes, point.speedup});
      series.push_back({{"algorithm", one.config.algorithm},
                        {"protocol", one.config.protocol},
                        {"channels", one.config.channels},
                        {"instances", one.config.instances},
                        {"name", short_config(one.config)},
                        {"points", std::move(points)}});
    }
    Json best = Json::array();
    for (const BestSpeedup& point : block.best) {
      best.push_back({point.bytes, point.speedup, point.series});
    }
    Json rows = Json::array();
    for (const PublishedComparison& one : block.rows) rows.push_back(comparison_json(block, one));
    all.push_back({{"fabric", block.fabric},
                   {"collective", block.collective},
                   {"servers", block.servers},
                   {"ranks", block.ranks},
                   {"baseline", block.baseline},
                   {"least", kPublishedLeast},
                   {"most", kPublishedMost},
                   {"series", std::move(series)},
                   {"best", std::move(best)},
                   {"rows", std::move(rows)}});
  }
  return all;
}

// The cost models with their hashes, named as in the rows.
Json cost_models_json(std::span<const ResultRow> rows) {
  std::vector<std::pair<std::string, std::string>> seen;
  Json models = Json::array();
  for (const ResultRow& row : rows) {
    const std::pair model{row.cost_model, row.cost_model_hash};
    if (std::find(seen.begin(), seen.end(), model) != seen.end()) continue;
    seen.push_back(model);
    models.push_back({{"name", row.cost_model}, {"hash", row.cost_model_hash}});
  }
  return models;
}

// Names of machines by the labels of fabrics: the fabric's name, with its noise.
Json machines_json(const Experiment& experiment) {
  Json machines = Json::object();
  for (const ExperimentFabric& one : experiment.fabrics) {
    machines[one.label] = one.fabric->name() + one.label.substr(one.plain_label.size());
  }
  return machines;
}

// Cells are [ranks, bytes, index of the chosen backend, held out].
Json dispatcher_json(const ReportDispatcher& one) {
  Json parts = Json::array();
  for (const CollectiveDispatcher& part : one.dispatcher.collectives) {
    Json cells = Json::array();
    int tested = 0;
    for (const DispatcherCell& cell : part.cells) {
      cells.push_back(
          {cell.gpus, exact_json(cell.bytes), part.choose(cell.bytes, cell.gpus), cell.held_out});
      tested += cell.held_out ? 1 : 0;
    }
    Json scores = Json::array();
    for (const DispatcherScore& score : dispatcher_scores(one.dispatcher, part)) {
      scores.push_back({{"rule", score.rule},
                        {"accuracy", score.accuracy},
                        {"regret", score.regret},
                        {"worst", score.worst_regret}});
    }
    parts.push_back({{"collective", to_string(part.collective)},
                     {"test_cells", tested},
                     {"cross_validation", part.cross_validation},
                     {"published", optional_value(published_svm_accuracy(one.dispatcher.fabric,
                                                                         part.collective))},
                     {"scores", std::move(scores)},
                     {"cells", std::move(cells)}});
  }
  return {{"name", one.name},
          {"fabric", one.dispatcher.fabric},
          {"backends", one.dispatcher.backends},
          {"collectives", std::move(parts)}};
}

}  // namespace

std::string report_json(const Experiment& experiment, const ReportInput& input) {
  const ResultSummary summary = summarize(experiment, input.rows, input.measured);
  Json data;
  data["name"] = experiment.name;
  data["description"] = experiment.description;
  data["outcome"] = outcome_sentences(experiment, input, summary);
  data["hash"] = experiment.hash();
  data["version"] = input.rows.empty() ? "" : input.rows.front().version;
  data["engine"] = experiment.engine;
  data["repetitions"] = experiment.repetitions;
  data["seeds"] = summary.seeds;
  data["cells"] = experiment.cells.size();
  data["baseline"] = baseline_text(experiment);
  if (experiment.baseline) data["baseline_heading"] = baseline_heading(experiment);
  data["baseline_algorithm"] = optional_value(experiment.baseline ? experiment.baseline->algorithm
                                                                  : std::optional<std::string>());
  data["machines"] = machines_json(experiment);
  data["dispatchers"] = Json::array();
  for (const ReportDispatcher& one : input.dispatchers) {
    data["dispatchers"].push_back(dispatcher_json(one));
  }
  data["published_least"] = kPublishedLeast;
  data["published_most"] = kPublishedMost;
  data["skipped"] = experiment.skipped;
  data["warnings"] = experiment.warnings;
  data["unmatched_measured"] = summary.unmatched_measured;
  data["results_href"] = input.results_href;
  data["timelines"] = Json::array();
  for (const ReportTimeline& timeline : input.timelines) {
    Json links = Json::array();
    for (const LinkRow& row : timeline.busiest_links) {
      links.push_back({{"link", row.link},
                       {"rate_GBps", row.rate_GBps},
                       {"capacity_GBps", row.capacity_GBps},
                       {"share", row.share},
                       {"busy_us", row.busy_us}});
    }
    data["timelines"].push_back(
        {{"label", timeline.label}, {"href", timeline.href}, {"links", std::move(links)}});
  }
  data["cost_models"] = cost_models_json(input.rows);
  if (experiment.measured_speedup) {
    data["measured_speedup"] = {{"of", experiment.measured_speedup->of},
                                {"over", experiment.measured_speedup->over}};
  }
  data["published"] = published_json(compare_published(experiment, input.rows, input.published));
  data["blocks"] = Json::array();
  for (const BlockSummary& block : summary.blocks) data["blocks"].push_back(block_json(block));
  data["columns"] = Json::array();
  for (const std::string_view name : csv_names(kResultColumns)) data["columns"].push_back(name);
  data["table"] = table_json(input.rows);
  data["speedups"] = Json::array();
  for (const auto& speedup : summary.speedups) data["speedups"].push_back(optional_value(speedup));
  // Names may hold bytes that are not UTF-8; these become replacement characters.
  return data.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace cclgym
