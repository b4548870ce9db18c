// A validation in words, as CSV and as a page.
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "calibration/html_page.hpp"
#include "calibration/validation.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kValidationScript;
}  // namespace embedded

namespace {

using Json = nlohmann::ordered_json;

std::string time_text(double time_s) {
  const double us = time_s * 1e6;
  return us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us / 1000);
}

}  // namespace

std::string validation_text(const std::vector<Validation>& parts) {
  std::string text =
      fmt::format("{:<20} {:>5}  {:>7} {:>16}  {:>11} {:>7}  {:>12} {:>7}\n", "part", "calls",
                  "chosen", "95 %", "chosen", "within", "default", "within");
  text += fmt::format("{:<20} {:>5}  {:>7} {:>16}  {:>11} {:>7}  {:>12} {:>7}\n", "", "",
                      "/default", "", "/best", "10 %", "/best", "10 %");
  for (const Validation& part : parts) {
    text += fmt::format(
        "{:<20} {:>5}  {:>7.3f} {:>16}  {:>11.3f} {:>5.0f} %  {:>12.3f} {:>5.0f} %\n", part.label,
        part.calls.size(), part.ratio,
        fmt::format("{:.3f} .. {:.3f}", part.ratio_low, part.ratio_high), part.over_best,
        part.within_tenth * 100, part.default_over_best, part.default_within_tenth * 100);
  }
  for (const Validation& part : parts) {
    text += fmt::format("\n{}\n{:<14} {:>8}  {:>10} {:>10} {:>10}  {:>7} {:>16}  {:<34} {}\n",
                        part.label, "collective", "size", "default", "chosen", "best", "/default",
                        "95 %", "chosen", "best");
    for (const ValidatedCall& call : part.calls) {
      text +=
          fmt::format("{:<14} {:>8}  {:>10} {:>10} {:>10}  {:>7.3f} {:>16}  {:<34} {}\n",
                      to_string(call.collective), format_bytes(call.bytes),
                      time_text(call.default_s), time_text(call.chosen_s), time_text(call.best_s),
                      call.ratio, fmt::format("{:.3f} .. {:.3f}", call.ratio_low, call.ratio_high),
                      call.chosen, call.best == call.chosen ? "=" : call.best);
    }
  }
  return text;
}

std::string validation_csv(const std::vector<Validation>& parts) {
  std::string text =
      "part,collective,size_bytes,chosen,best,configs,rounds,default_us,chosen_us,best_us,ratio,"
      "ratio_low,ratio_high\n";
  for (const Validation& part : parts) {
    for (const ValidatedCall& call : part.calls) {
      text +=
          fmt::format("{},{},{},{},{},{},{},{:.4f},{:.4f},{:.4f},{:.5f},{:.5f},{:.5f}\n",
                      part.label, to_string(call.collective), call.bytes, call.chosen, call.best,
                      call.configs, call.rounds, call.default_s * 1e6, call.chosen_s * 1e6,
                      call.best_s * 1e6, call.ratio, call.ratio_low, call.ratio_high);
    }
  }
  return text;
}

std::string validation_html(const std::vector<Validation>& parts) {
  Json data = Json::array();
  for (const Validation& part : parts) {
    Json calls = Json::array();
    for (const ValidatedCall& call : part.calls) {
      calls.push_back({{"collective", to_string(call.collective)},
                       {"bytes", call.bytes},
                       {"chosen", call.chosen},
                       {"best", call.best},
                       {"default_us", call.default_s * 1e6},
                       {"chosen_us", call.chosen_s * 1e6},
                       {"best_us", call.best_s * 1e6},
                       {"ratio", call.ratio},
                       {"low", call.ratio_low},
                       {"high", call.ratio_high}});
    }
    data.push_back({{"label", part.label},
                    {"ratio", part.ratio},
                    {"low", part.ratio_low},
                    {"high", part.ratio_high},
                    {"over_best", part.over_best},
                    {"within", part.within_tenth},
                    {"default_over_best", part.default_over_best},
                    {"default_within", part.default_within_tenth},
                    {"calls", calls}});
  }
  return html_page({.title = "A policy on hardware · cclgym",
                    .text = validation_text(parts),
                    .json = data.dump(),
                    .script = embedded::kValidationScript});
}

}  // namespace cclgym
