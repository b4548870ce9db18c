// A validation as text, as CSV and as a page.
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "calibration/validate/validation.hpp"
#include "core/report/page.hpp"
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

// Calls in which NCCL followed the policy, and a warning about ranks that share a GPU.
std::string nccl_text(const Validation& part) {
  std::string text;
  if (!part.followed.empty()) {
    text += part.label + ": calls in which NCCL ran the policy's choice:";
    const char* separator = " ";
    for (const auto& [how, calls] : part.followed) {
      text += fmt::format("{}{} {}", separator, how, calls);
      separator = ", ";
    }
    text += '\n';
  }
  if (part.one_gpu) {
    text += part.label + ": all ranks were on one GPU; the times say nothing about links\n";
  }
  return text;
}

// One row per configuration and part: who chose, the ratio to the default, the share near the best.
std::string summary_text(const std::vector<Validation>& parts) {
  constexpr auto kRow = "{:<20} {:<14} {:>5}  {:>8} {:>16}  {:>7}  {:>11}\n";
  std::string text =
      fmt::format(kRow, "part", "choice", "calls", "/default", "95 %", "/best", "within 10 %");
  const auto number = [](double value) { return fmt::format("{:.3f}", value); };
  const auto interval = [](const PairedRatio& ratio) {
    return fmt::format("{:.3f} .. {:.3f}", ratio.low, ratio.high);
  };
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  for (const Validation& part : parts) {
    text += fmt::format(kRow, part.label, "chosen", part.calls.size(), number(part.ratio.mean),
                        interval(part.ratio), number(part.over_best), percent(part.within_tenth));
    if (part.swept_ratio) {
      text +=
          fmt::format(kRow, "", "sweep's best", part.swept_calls, number(part.swept_ratio->mean),
                      interval(*part.swept_ratio), "", percent(part.swept_within_tenth));
    }
    text += fmt::format(kRow, "", "default", part.calls.size(), "1", "",
                        number(part.default_over_best), percent(part.default_within_tenth));
  }
  text += '\n';
  for (const Validation& part : parts) {
    if (part.chosen_over_swept) {
      text += fmt::format("{}: chosen / sweep's best {:.3f} ({})\n", part.label,
                          part.chosen_over_swept->mean, interval(*part.chosen_over_swept));
    }
    const ValidatedCall& worst = part.worst();
    text += fmt::format("{}: worst call {} of {}, {:.2f} times the default ({})\n", part.label,
                        to_string(worst.collective), format_bytes(worst.bytes), worst.ratio.mean,
                        worst.chosen);
    text += nccl_text(part);
  }
  return text;
}

}  // namespace

std::string validation_text(const std::vector<Validation>& parts) {
  const auto interval = [](const PairedRatio& ratio) {
    return fmt::format("{:.3f} .. {:.3f}", ratio.low, ratio.high);
  };
  std::string text = summary_text(parts);
  for (const Validation& part : parts) {
    text += fmt::format("\n{}\n{:<14} {:>8}  {:>10} {:>10} {:>10}  {:>7} {:>16}  {:<34} {}\n",
                        part.label, "collective", "size", "default", "chosen", "best", "/default",
                        "95 %", "chosen", "best");
    for (const ValidatedCall& call : part.calls) {
      text += fmt::format("{:<14} {:>8}  {:>10} {:>10} {:>10}  {:>7.3f} {:>16}  {:<34} {}\n",
                          to_string(call.collective), format_bytes(call.bytes),
                          time_text(call.default_s), time_text(call.chosen_s),
                          time_text(call.best_s), call.ratio.mean, interval(call.ratio),
                          call.chosen, call.best == call.chosen ? "=" : call.best);
    }
  }
  return text;
}

std::string validation_csv(const std::vector<Validation>& parts) {
  std::string text =
      "part,collective,size_bytes,chosen,best,configs,rounds,default_us,chosen_us,best_us,ratio,"
      "ratio_low,ratio_high,swept,swept_ratio\n";
  for (const Validation& part : parts) {
    for (const ValidatedCall& call : part.calls) {
      text += fmt::format("{},{},{},{},{},{},{},{:.4f},{:.4f},{:.4f},{:.5f},{:.5f},{:.5f},{},{}\n",
                          part.label, to_string(call.collective), call.bytes, call.chosen,
                          call.best, call.configs, call.rounds, call.default_s * 1e6,
                          call.chosen_s * 1e6, call.best_s * 1e6, call.ratio.mean, call.ratio.low,
                          call.ratio.high, call.swept,
                          call.swept_ratio ? fmt::format("{:.5f}", call.swept_ratio->mean) : "");
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
                       {"ratio", call.ratio.mean},
                       {"low", call.ratio.low},
                       {"high", call.ratio.high}});
      if (call.swept_ratio) {
        calls.back()["swept"] = call.swept;
        calls.back()["swept_ratio"] = call.swept_ratio->mean;
      }
    }
    data.push_back({{"label", part.label},
                    {"ratio", part.ratio.mean},
                    {"low", part.ratio.low},
                    {"high", part.ratio.high},
                    {"over_best", part.over_best},
                    {"within", part.within_tenth},
                    {"default_over_best", part.default_over_best},
                    {"default_within", part.default_within_tenth},
                    {"calls", calls}});
    if (const std::string notes = nccl_text(part); !notes.empty()) data.back()["notes"] = notes;
    if (part.swept_ratio) {
      data.back()["swept"] = {{"ratio", part.swept_ratio->mean},
                              {"low", part.swept_ratio->low},
                              {"high", part.swept_ratio->high},
                              {"within", part.swept_within_tenth},
                              {"calls", part.swept_calls}};
    }
  }
  return html_page({.title = "A policy on hardware",
                    .notice = "The plots of this page need JavaScript. The figures as text:",
                    .text = validation_text(parts),
                    .json = data.dump(),
                    .scripts = {embedded::kValidationScript}});
}

}  // namespace cclgym
