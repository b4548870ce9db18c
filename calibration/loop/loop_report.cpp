// A loop as text and as a page.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibration/loop/loop_results.hpp"
#include "core/report/page.hpp"
#include "core/statistics.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kLoopScript;
}  // namespace embedded

namespace {

using Json = nlohmann::ordered_json;

std::string ratio_text(const PairedRatio& ratio) {
  return fmt::format("{:.3f} ({:.3f} .. {:.3f})", ratio.mean, ratio.low, ratio.high);
}

// The policies that are compared with the others.
std::vector<std::string> subjects_of(const LoopResults& results) {
  std::vector<std::string> subjects;
  for (const LoopComparison& one : results.comparisons) {
    if (std::ranges::find(subjects, one.subject) == subjects.end()) subjects.push_back(one.subject);
  }
  return subjects;
}

std::string comparison_text(const LoopResults& results, const std::string& subject) {
  Column lane{.heading = subject + " against", .left = true};
  Column state{.heading = "state", .left = true};
  Column calls{.heading = "calls"};
  Column total{.heading = "total time, ratio", .unit = "95 % interval"};
  Column mean{.heading = "geo. mean of ratios", .unit = "95 % interval"};
  for (const LoopComparison& one : results.comparisons) {
    if (one.subject != subject) continue;
    lane.cells.push_back(one.state.empty() ? one.lane : "");
    state.cells.push_back(one.state.empty() ? "all" : one.state);
    calls.cells.push_back(std::to_string(one.calls));
    total.cells.push_back(ratio_text(one.total));
    mean.cells.push_back(ratio_text(one.mean));
  }
  return format_columns({lane, state, calls, total, mean});
}

std::string detection_text(const LoopResults& results) {
  Column lane{.heading = "trigger of", .left = true};
  Column changes{.heading = "changes"};
  Column soon{.heading = "found in", .unit = fmt::format("{} calls", kSoonCalls)};
  Column delay{.heading = "median", .unit = "calls"};
  Column most{.heading = "most", .unit = "calls"};
  Column wrong{.heading = "false alarms"};
  Column rate{.heading = "per 1,000", .unit = "calls"};
  for (const LoopDetection& one : results.detections) {
    lane.cells.push_back(one.lane);
    changes.cells.push_back(std::to_string(one.changes));
    soon.cells.push_back(std::to_string(one.soon));
    delay.cells.push_back(one.delays.empty() ? "-" : fmt::format("{:g}", median(one.delays)));
    most.cells.push_back(
        one.delays.empty() ? "-" : fmt::format("{:g}", *std::ranges::max_element(one.delays)));
    wrong.cells.push_back(std::to_string(one.false_alarms));
    rate.cells.push_back(
        fmt::format("{:.2f}", 1000.0 * static_cast<double>(one.false_alarms) /
                                  static_cast<double>(std::max<std::size_t>(one.calls, 1))));
  }
  return format_columns({lane, changes, soon, delay, most, wrong, rate});
}

std::string agreement_text(const LoopRecord& record) {
  std::string text;
  for (const LoopAgreement& one : record.agreement) {
    text += fmt::format(
        "{}: {} calls, {} changes of tables, {} dropped, {} calls waited (at most {:.1f} ms){}{}\n",
        one.lane, one.calls, one.changes, one.dropped, one.waits, one.longest_wait_s * 1e3,
        one.states == 0 ? "" : fmt::format(", {} states", one.states),
        one.off.empty() ? "" : "; switched off: " + one.off);
  }
  return text;
}

// Seconds that one point of the plots stands for.
double point_s(double seconds) { return std::max(1.0, seconds / 300); }

// Mean ratio of a comparison by time.
Json ratio_points(const LoopRecord& record, const LoopComparison& compared, double width_s) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<const LoopRow*, const LoopRow*>> pairs;
  for (const LoopRow& row : record.rows) {
    auto& [own, other] = pairs[{row.iteration, row.call}];
    if (row.lane == compared.subject) own = &row;
    if (row.lane == compared.lane) other = &row;
  }
  std::map<std::int64_t, std::pair<double, double>> sums;  // times of both, by point
  for (const auto& [place, rows] : pairs) {
    if (rows.first == nullptr || rows.second == nullptr) continue;
    auto& [own_us, other_us] = sums[static_cast<std::int64_t>(rows.first->at_s / width_s)];
    own_us += rows.first->time_us;
    other_us += rows.second->time_us;
  }
  Json points = Json::array();
  for (const auto& [point, sum] : sums) {
    points.push_back({(static_cast<double>(point) + 0.5) * width_s, sum.first / sum.second});
  }
  return points;
}

// Bytes per second that the nodes received during the agent's calls, by time.
Json rate_points(const LoopRecord& record, double width_s) {
  std::map<std::int64_t, std::pair<double, double>> sums;
  for (const LoopRow& row : record.rows) {
    if (row.lane != kAgentLane) continue;
    auto& [bytes, time_s] = sums[static_cast<std::int64_t>(row.at_s / width_s)];
    bytes += row.received_bytes;
    time_s += row.time_us * 1e-6;
  }
  Json points = Json::array();
  for (const auto& [point, sum] : sums) {
    points.push_back({(static_cast<double>(point) + 0.5) * width_s, sum.first / sum.second / 1e6});
  }
  return points;
}

// Spans of time in which a policy used one configuration for a call.
Json choices_of(const LoopRecord& record, const std::string& lane) {
  std::map<std::int64_t, Json> calls;
  std::map<std::int64_t, std::string> last;
  for (const LoopRow& row : record.rows) {
    if (row.lane != lane) continue;
    const std::string config = mpi_config_text(row.algorithm, row.segment_bytes);
    Json& one = calls[row.call];
    if (one.is_null()) {
      one = {{"call", fmt::format("{} {}", row.collective, format_bytes(row.size_bytes))},
             {"spans", Json::array()}};
    }
    if (last[row.call] != config) one["spans"].push_back({row.at_s, config});
    last[row.call] = config;
  }
  Json all = Json::array();
  for (auto& [call, one] : calls) all.push_back(std::move(one));
  return all;
}

}  // namespace

std::string loop_text(const LoopRecord& record, const LoopResults& results) {
  std::string text = fmt::format("{:.0f} s, {} calls, {} of them started late\n\n", results.seconds,
                                 record.rows.size(), results.late);
  for (const std::string& subject : subjects_of(results)) {
    text += comparison_text(results, subject) + "\n";
  }
  return text + detection_text(results) + "\n" + agreement_text(record);
}

std::string loop_html(const std::string& name, const LoopRecord& record,
                      const LoopResults& results) {
  const double width_s = point_s(results.seconds);
  Json subjects = Json::array();
  for (const std::string& subject : subjects_of(results)) {
    Json comparisons = Json::array();
    Json ratios = Json::object();
    for (const LoopComparison& one : results.comparisons) {
      if (one.subject != subject) continue;
      comparisons.push_back({one.lane, one.state, one.calls, one.total.mean, one.total.low,
                             one.total.high, one.mean.mean, one.mean.low, one.mean.high});
      if (one.state.empty()) ratios[one.lane] = ratio_points(record, one, width_s);
    }
    subjects.push_back({{"name", subject},
                        {"comparisons", comparisons},
                        {"ratios", ratios},
                        {"choices", choices_of(record, subject)}});
  }
  Json happenings = Json::array();
  for (const LoopHappening& one : record.happenings) {
    happenings.push_back({one.at_s, one.what, one.label});
  }
  const Json data{{"name", name},
                  {"seconds", results.seconds},
                  {"text", loop_text(record, results)},
                  {"subjects", subjects},
                  {"rate", rate_points(record, width_s)},
                  {"happenings", happenings}};
  return html_page({.title = "A closed loop: " + name,
                    .notice = "The plots of this page need JavaScript. The figures as text:",
                    .text = loop_text(record, results),
                    .json = data.dump(),
                    .scripts = {embedded::kLoopScript}});
}

}  // namespace cclgym
