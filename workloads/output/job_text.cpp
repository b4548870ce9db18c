#include "workloads/output/job_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "core/index.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"
#include "workloads/output/job_view.hpp"
#include "workloads/output/use_views.hpp"

namespace cclgym {

namespace {

// Unit of a column with this largest time; seconds from 10 s on, so that others have their digits.
struct TimeUnit {
  const char* name = "s";
  double per_s = 1;
};
TimeUnit unit_for(double largest_s) {
  if (largest_s >= 10) return {"s", 1};
  if (largest_s >= 1e-3) return {"ms", 1e3};
  return {"us", 1e6};
}

// At least `largest_s` decides on the unit: columns to be compared have the same.
Column time_column(std::string heading, std::vector<std::optional<double>> times_s,
                   double largest_s = 0) {
  for (const std::optional<double>& time_s : times_s) {
    largest_s = std::max(largest_s, time_s.value_or(0));
  }
  const TimeUnit unit = unit_for(largest_s);
  for (std::optional<double>& time_s : times_s) {
    if (time_s) *time_s *= unit.per_s;
  }
  const int fewest = unit.per_s > 1 ? 1 : 3;
  return number_column(std::move(heading), unit.name, times_s, fewest, 3);
}

Column percent_column(std::string heading, const std::vector<double>& shares) {
  Column column{std::move(heading), "%"};
  for (const double share : shares) column.cells.push_back(fmt::format("{:.1f}", 100 * share));
  return column;
}

// Shortens the cells of these columns, the first one first, until the lines fit.
void fit_columns(std::vector<Column>& columns, const std::vector<std::size_t>& elastic) {
  constexpr std::size_t kLeast = 10;
  for (const std::size_t i : elastic) {
    const std::size_t total = total_width(columns);
    if (total <= kJobTextWidth) return;
    const std::size_t width = columns[i].width();
    const std::size_t excess = total - kJobTextWidth;
    const std::size_t kept = std::max(kLeast, width > excess ? width - excess : 0);
    for (std::string& cell : columns[i].cells) cell = shortened(cell, kept);
  }
}

// A table under a title; the title stands in the first heading.
std::string table_text(std::vector<Column> columns, const std::vector<std::size_t>& elastic) {
  if (columns.front().cells.empty()) return "";
  fit_columns(columns, elastic);
  return "\n" + format_columns(columns);
}

class JobText {
 public:
  JobText(const JobGraph& job, const JobRecord& record, const JobBreakdown& breakdown,
          const Fabric& fabric)
      : job_(job), record_(record), breakdown_(breakdown), fabric_(fabric), view_(job, record) {}

  [[nodiscard]] std::string text(const JobTextOptions& options) const {
    std::string head =
        fmt::format("{} on {}: {} rank{}, {} call{}, step time {}\n", shortened(job_.name, 40),
                    shortened(fabric_.name(), 20), job_.ranks, job_.ranks == 1 ? "" : "s",
                    record_.calls, record_.calls == 1 ? "" : "s", format_time(record_.step_time_s));
    if (record_.lowered.classes.folded()) {
      head += fmt::format("simulated ranks, which stand for all: {}\n", view_.actors());
    }
    for (const std::string& note : job_notes(job_, fabric_)) head += "note: " + note + "\n";
    return head + parts() + calls(options.max_calls) + path() + links(options.max_links);
  }

 private:
  [[nodiscard]] double share(double time_s) const {
    return record_.step_time_s > 0 ? time_s / record_.step_time_s : 0;
  }

  [[nodiscard]] std::string parts() const {
    if (breakdown_.actors.empty()) return "";
    const std::size_t worst = worst_actor(breakdown_);
    const RankTime& own = breakdown_.actors[worst];
    const RankTime& mean = breakdown_.mean;
    Column names{.heading = "time of a rank", .left = true};
    std::vector<std::optional<double>> mean_s;
    std::vector<std::optional<double>> own_s;
    std::vector<double> mean_share;
    std::vector<double> own_share;
    for (const auto& [name, part] : {std::pair{"computation", &RankTime::compute_s},
                                     {"both at once", &RankTime::overlap_s},
                                     {"exposed communication", &RankTime::exposed_s},
                                     {"idle", &RankTime::idle_s},
                                     {"waiting for the host", &RankTime::host_idle_s}}) {
      if (part == &RankTime::host_idle_s && mean.host_idle_s <= 0) continue;
      names.cells.emplace_back(name);
      mean_s.emplace_back(mean.*part);
      own_s.emplace_back(own.*part);
      mean_share.push_back(share(mean.*part));
      own_share.push_back(share(own.*part));
    }
    const std::int32_t rank = record_.lowered.classes.actor[worst];
    std::vector<Column> columns{
        std::move(names), time_column("mean", mean_s), percent_column("", mean_share),
        time_column(fmt::format("rank {}", rank), own_s), percent_column("", own_share)};
    std::string text = table_text(std::move(columns), {}) +
                       fmt::format("  rank {} has the most exposed communication\n", rank);
    if (mean.host_idle_s > 0) {
      text += "  waiting for the host counts as computation above: \"idle (host)\" of profiles\n";
    }
    return text;
  }

  [[nodiscard]] std::string calls(std::size_t most) const {
    const std::size_t rows = std::min(most, breakdown_.calls.size());
    Column communicators{.heading = "communicator", .left = true};
    Column collectives{.heading = "call", .left = true};
    Column sizes{"size"};
    Column ranks{"ranks"};
    Column configurations{.heading = "configuration", .left = true};
    Column numbers{"calls", "per rank"};
    std::vector<std::optional<double>> time_s;
    std::vector<std::optional<double>> wait_s;
    std::vector<std::optional<double>> measured_s;
    Column busbw{"busbw", "GB/s"};
    std::vector<double> shares;
    for (std::size_t i = 0; i < rows; ++i) {
      const CallSummary& call = breakdown_.calls[i];
      communicators.cells.push_back(shortened(job_.communicators[at(call.communicator)].name, 20));
      collectives.cells.push_back(call_label(call));
      sizes.cells.push_back(short_bytes(call.bytes));
      ranks.cells.push_back(std::to_string(call.ranks));
      configurations.cells.push_back(config_label(call.config));
      numbers.cells.push_back(std::to_string(call.calls));
      time_s.emplace_back(call.time_s);
      wait_s.emplace_back(call.wait_s);
      measured_s.push_back(call.measured_s > 0 ? std::optional(call.measured_s) : std::nullopt);
      busbw.cells.push_back(fmt::format("{:.1f}", bus_bandwidth_Bps(call) / 1e9));
      shares.push_back(share(call.total_s));
    }
    double longest_s = 0;
    bool traced = false;
    for (std::size_t i = 0; i < rows; ++i) {
      longest_s = std::max({longest_s, *time_s[i], measured_s[i].value_or(0)});
      traced = traced || measured_s[i].has_value();
    }
    std::vector<Column> columns{std::move(communicators),
                                std::move(collectives),
                                std::move(sizes),
                                std::move(ranks),
                                std::move(configurations),
                                std::move(numbers),
                                time_column("time", time_s, longest_s)};
    if (traced) columns.push_back(time_column("measured", measured_s, longest_s));
    columns.push_back(time_column("wait", wait_s));
    columns.push_back(std::move(busbw));
    columns.push_back(percent_column("of step", shares));
    std::string text = table_text(std::move(columns), {4, 0});
    if (rows < breakdown_.calls.size()) {
      text += fmt::format("  … {} more\n", breakdown_.calls.size() - rows);
    }
    if (traced) {
      text +=
          "  measured: mean duration in the trace, in each call that of the rank that waits "
          "least\n";
    }
    return text;
  }

  [[nodiscard]] std::string path() const {
    std::vector<std::pair<double, std::string>> parts;
    double rest_s = record_.step_time_s;
    const auto add = [&](double time_s, const std::string& name) {
      rest_s -= time_s;
      if (time_s > 0) parts.emplace_back(time_s, name);
    };
    add(breakdown_.path_compute_s - breakdown_.path_host_idle_s, "computation");
    add(breakdown_.path_host_idle_s, "waiting for the host");
    add(breakdown_.path_measured_s, "communication as measured");
    for (std::size_t i = 0; i < job_.communicators.size(); ++i) {
      add(breakdown_.path_communicator_s[i], shortened(job_.communicators[i].name, 40));
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (rest_s > 1e-3 * record_.step_time_s) parts.emplace_back(rest_s, "other");
    Column names{.heading = "critical path", .left = true};
    std::vector<std::optional<double>> times_s;
    std::vector<double> shares;
    for (const auto& [time_s, name] : parts) {
      names.cells.push_back(name);
      times_s.emplace_back(time_s);
      shares.push_back(share(time_s));
    }
    return table_text({std::move(names), time_column("", times_s), percent_column("", shares)}, {});
  }

  [[nodiscard]] std::string links(std::size_t most) const {
    Column names{.heading = "busiest links", .left = true};
    Column kinds{.heading = "kind", .left = true};
    Column bytes{"bytes"};
    Column capacities{"capacity", "GB/s"};
    std::vector<double> means;
    std::vector<double> peaks;
    Column counts{"links"};
    bool folded = false;
    for (const BusyLink& link : busiest_job_links(record_, fabric_, most)) {
      names.cells.push_back(link.name);
      kinds.cells.emplace_back(to_string(link.kind));
      bytes.cells.push_back(short_bytes(static_cast<std::uint64_t>(link.bytes)));
      capacities.cells.push_back(fmt::format("{:.1f}", link.capacity_Bps / 1e9));
      means.push_back(link.share);
      peaks.push_back(link.peak);
      counts.cells.push_back(std::to_string(link.count));
      folded = folded || link.count > 1;
    }
    std::vector<Column> columns{std::move(names), std::move(kinds)};
    if (folded) columns.push_back(std::move(counts));
    columns.insert(columns.end(),
                   {std::move(bytes), std::move(capacities), percent_column("mean use", means),
                    percent_column("peak use", peaks)});
    std::string text = table_text(std::move(columns), {0});
    std::size_t used = 0;
    for (std::size_t i = 0; i < record_.lowered.fabric_links && !record_.series.empty(); ++i) {
      if (record_.series.bytes[i] > 0) ++used;
    }
    if (used > means.size()) text += fmt::format("  … {} more\n", used - means.size());
    if (folded) text += "  each row is one of the given number of links that are used equally\n";
    return text;
  }

  const JobGraph& job_;
  const JobRecord& record_;
  const JobBreakdown& breakdown_;
  const Fabric& fabric_;
  JobView view_;
};

}  // namespace

std::string job_text(const JobGraph& job, const JobRecord& record, const JobBreakdown& breakdown,
                     const Fabric& fabric, const JobTextOptions& options) {
  return JobText(job, record, breakdown, fabric).text(options);
}

std::vector<std::string> job_notes(const JobGraph& job, const Fabric& fabric) {
  std::vector<std::string> notes = job.notes;
  const auto is_roofline = [](const JobOp& op) { return op.flop > 0 || op.memory_bytes > 0; };
  const auto has_roofline = [&](const RankProgram& program) {
    return std::any_of(program.ops.begin(), program.ops.end(), is_roofline);
  };
  if (fabric.gpu_model().empty() &&
      std::any_of(job.programs.begin(), job.programs.end(), has_roofline)) {
    notes.push_back(fmt::format("fabric {} does not name its GPUs; they compute like an {}",
                                shortened(fabric.name(), 20), kAssumedGpu));
  }
  return notes;
}

std::string tuner_text(std::span<const TunerRow> tuners) {
  if (tuners.empty()) return "";
  Column names{.heading = "tuner", .left = true};
  std::vector<std::optional<double>> steps_s;
  std::vector<std::optional<double>> exposed_s;
  Column speedups{"speedup"};
  for (const TunerRow& row : tuners) {
    names.cells.push_back(row.name);
    steps_s.emplace_back(row.step_time_s);
    exposed_s.emplace_back(row.exposed_s);
    speedups.cells.push_back(
        row.step_time_s > 0 ? fmt::format("{:.3f}", tuners.front().step_time_s / row.step_time_s)
                            : "-");
  }
  return table_text({std::move(names), time_column("step time", steps_s),
                     time_column("exposed", exposed_s), std::move(speedups)},
                    {0});
}

std::size_t worst_actor(const JobBreakdown& breakdown) {
  std::size_t worst = 0;
  for (std::size_t actor = 1; actor < breakdown.actors.size(); ++actor) {
    // Rounding must not choose among equal ranks.
    if (breakdown.actors[actor].exposed_s > breakdown.actors[worst].exposed_s * (1 + 1e-9)) {
      worst = actor;
    }
  }
  return worst;
}

}  // namespace cclgym
