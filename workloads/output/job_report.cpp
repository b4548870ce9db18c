#include "workloads/output/job_report.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/report/page.hpp"
#include "workloads/output/job_json.hpp"
#include "workloads/output/job_pictures.hpp"
#include "workloads/output/tuning_views.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kJobReportStyle;
extern const std::string_view kJobPlotsScript;
extern const std::string_view kJobPageScript;
}  // namespace embedded

namespace {

using PageJson = nlohmann::ordered_json;

// Boxes with short dates and their labels as numbers, so that the page stays small.
class BoxWriter {
 public:
  explicit BoxWriter(double step_time_s) : unit_s_(step_time_s > 0 ? step_time_s / 1e6 : 1) {}

  // Dates in millionths of the step.
  [[nodiscard]] PageJson boxes(const std::vector<PaintedBox>& boxes) {
    PageJson rows = PageJson::array();
    for (const PaintedBox& box : boxes) {
      rows.push_back({box.kind, date(box.start_s), date(box.begin_s), date(box.end_s),
                      label(box.label), box.operations});
    }
    return rows;
  }
  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }

 private:
  [[nodiscard]] std::int64_t date(double seconds) const {
    return static_cast<std::int64_t>(seconds / unit_s_ + 0.5);
  }
  std::size_t label(const std::string& text) {
    const auto [found, fresh] = numbers_.try_emplace(text, labels_.size());
    if (fresh) labels_.push_back(text);
    return found->second;
  }

  double unit_s_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> labels_;
};

}  // namespace

std::string job_report(const JobGraph& job, const JobRecord& record, const JobBreakdown& breakdown,
                       const Fabric& fabric, std::span<const TunerRow> tuners,
                       const JobReportOptions& options) {
  // Boxes per lane: more than pixels, but fewer for many ranks, so that browsers can draw all.
  constexpr double kPixels = 2000;
  const auto rows = static_cast<double>(std::min(options.max_ranks, job.programs.size()));
  const double resolution_s = record.step_time_s / kPixels;
  const double row_resolution_s = resolution_s * std::max(1.0, rows / 4);
  const JobView view(job, record);
  BoxWriter writer(record.step_time_s);
  PageJson pictures{{"cost_model", options.cost_model}, {"tuner", options.tuner},
                    {"worst", PageJson::object()},      {"communicators", PageJson::array()},
                    {"bars", PageJson::array()},        {"bar_ranks", 0},
                    {"path", PageJson::array()},        {"rows", PageJson::array()}};
  if (!breakdown.actors.empty()) {
    const std::size_t worst = worst_actor(breakdown);
    pictures["worst"] = {{"label", view.actor_label(worst)},
                         {"exposed_s", breakdown.actors[worst].exposed_s}};
  }
  for (const Communicator& communicator : job.communicators) {
    pictures["communicators"].push_back(communicator.name);
  }
  std::size_t bar_ranks = 0;
  for (const RankBar& bar : rank_bars(view, record, breakdown, options.max_bars)) {
    bar_ranks += bar.ranks;
    pictures["bars"].push_back({{"label", bar.label},
                                {"compute_s", bar.time.compute_s},
                                {"overlap_s", bar.time.overlap_s},
                                {"exposed_s", bar.time.exposed_s},
                                {"idle_s", bar.time.idle_s}});
  }
  pictures["bar_ranks"] = bar_ranks;
  pictures["path"] = writer.boxes(painted_path(view, breakdown, resolution_s));
  for (const PaintedRank& rank :
       painted_ranks(job, record, breakdown, options.max_ranks, row_resolution_s)) {
    PageJson lanes = PageJson::array();
    for (const PaintedRank::Lane& lane : rank.lanes) {
      lanes.push_back({{"stream", lane.stream}, {"boxes", writer.boxes(lane.boxes)}});
    }
    pictures["rows"].push_back({{"label", rank.label}, {"lanes", std::move(lanes)}});
  }
  pictures["labels"] = writer.labels();
  pictures["tuned"] = PageJson::array();
  if (options.tuning != nullptr) {
    for (const TunedCall& call : options.tuning->calls) {
      pictures["tuned"].push_back({call.call.communicator, to_string(call.call.collective),
                                   call.call.bytes, call.share, config_label(call.before),
                                   config_label(call.chosen), call.before_s, call.chosen_s,
                                   call.step_after_s});
    }
  }

  HtmlPage page;
  page.title = job.name + " on " + fabric.name();
  page.notice = "The plots of this page need JavaScript; these are the numbers.";
  page.text = job_text(job, record, breakdown, fabric) + tuner_text(tuners) +
              (options.tuning != nullptr ? tuning_text(*options.tuning) : "");
  const JobJsonOptions numbers{.max_actors = 0, .max_segments = 0, .max_links = 12, .indent = -1};
  page.json = "{\"numbers\":" + job_json(job, record, breakdown, fabric, tuners, numbers) +
              ",\"pictures\":" + pictures.dump(-1, ' ', false, PageJson::error_handler_t::replace) +
              "}";
  page.scripts = {embedded::kJobPlotsScript, embedded::kJobPageScript};
  page.styles = {embedded::kJobReportStyle};
  return html_page(page);
}

}  // namespace cclgym
