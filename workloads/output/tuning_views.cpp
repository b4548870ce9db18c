#include "workloads/output/tuning_views.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/text_columns.hpp"
#include "core/units.hpp"

namespace cclgym {

std::string tuning_text(const JobTuning& tuning) {
  std::vector<Column> columns{{.heading = "call", .left = true},
                              {.heading = "before", .left = true},
                              {.heading = "chosen", .left = true}};
  std::vector<std::optional<double>> share;
  std::vector<std::optional<double>> before_us;
  std::vector<std::optional<double>> chosen_us;
  std::vector<std::optional<double>> step_ms;
  for (const TunedCall& call : tuning.calls) {
    columns[0].cells.push_back(fmt::format("{} {} {}", call.call.communicator,
                                           to_string(call.call.collective),
                                           format_bytes(call.call.bytes)));
    columns[1].cells.push_back(config_label(call.before));
    columns[2].cells.push_back(call.chosen == call.before ? "the same" : config_label(call.chosen));
    share.emplace_back(100 * call.share);
    before_us.emplace_back(1e6 * call.before_s);
    chosen_us.emplace_back(1e6 * call.chosen_s);
    step_ms.emplace_back(1e3 * call.step_after_s);
  }
  if (tuning.calls.empty()) return "\nno call takes enough of the step to be tuned\n";
  columns.push_back(number_column("share", "%", share, 1, 1));
  columns.push_back(number_column("before", "us alone", before_us, 1, 3));
  columns.push_back(number_column("chosen", "us alone", chosen_us, 1, 3));
  columns.push_back(number_column("step", "ms then", step_ms, 2, 4));
  return fmt::format("\ncalls, longest first\n{}", format_columns(columns));
}

nlohmann::ordered_json tuning_json(const JobTuning& tuning) {
  auto list = nlohmann::ordered_json::array();
  const auto config_json = [](const Config& config) {
    return nlohmann::ordered_json{{"algorithm", config.algorithm},
                                  {"protocol", to_string(config.protocol)},
                                  {"channels", config.channels},
                                  {"threads", config.threads}};
  };
  for (const TunedCall& call : tuning.calls) {
    list.push_back({{"communicator", call.call.communicator},
                    {"collective", to_string(call.call.collective)},
                    {"bytes", call.call.bytes},
                    {"share", call.share},
                    {"before", config_json(call.before)},
                    {"before_s", call.before_s},
                    {"chosen", config_json(call.chosen)},
                    {"chosen_s", call.chosen_s},
                    {"step_s", call.step_after_s}});
  }
  return list;
}

}  // namespace cclgym
