// Evaluations as text, CSV and HTML.
#include <algorithm>
#include <fmt/format.h>

#include "agents/evaluation.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

// A colour for each algorithm: its hue; the same name, the same hue.
std::string colour_of(const std::string& choice) {
  const std::string algorithm = choice.substr(0, choice.find(' '));
  std::uint32_t hash = 2166136261U;
  for (const char c : algorithm) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("hsl({},70%,{}%)", hash % 360,
                     choice.find("Simple") != std::string::npos  ? 78
                     : choice.find("LL128") != std::string::npos ? 84
                                                                 : 90);
}

std::string collective_table(const EvaluatedPart& part, const std::string& collective) {
  std::vector<std::uint64_t> sizes;
  std::vector<const PolicyRun*> rows;  // of each policy, the first seed's
  for (const PolicyRun& run : part.runs) {
    const bool known =
        std::ranges::any_of(rows, [&](const PolicyRun* row) { return row->policy == run.policy; });
    if (!known) rows.push_back(&run);
    for (const EvaluatedCell& cell : run.cells) {
      if (cell.collective == collective) sizes.push_back(cell.bytes);
    }
  }
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::string html = fmt::format("<h3>{}</h3><table><tr><th>policy</th>", collective);
  for (const std::uint64_t size : sizes) html += fmt::format("<th>{}</th>", format_bytes(size));
  html += "</tr>\n";
  for (const PolicyRun* row : rows) {
    html += fmt::format("<tr><th>{}</th>", escaped(row->policy));
    for (const std::uint64_t size : sizes) {
      const auto cell = std::ranges::find_if(row->cells, [&](const EvaluatedCell& one) {
        return one.collective == collective && one.bytes == size;
      });
      if (cell == row->cells.end()) {
        html += "<td></td>";
        continue;
      }
      html += fmt::format("<td style=\"background:{}\">{}<br><small>{:.3f}</small></td>",
                          colour_of(cell->choice), escaped(cell->choice), cell->oracle_ratio);
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

}  // namespace

std::string evaluation_table(std::span<const PolicySummary> summaries) {
  std::size_t widest = 6;
  for (const PolicySummary& one : summaries) widest = std::max(widest, one.policy.size());
  std::string text = fmt::format("{:<{}}  {:>10}  {:>19}  {:>9}  {:>9}  {:>10}\n", "policy", widest,
                                 "x oracle", "seeds", "p90 cell", "worst", "speedup");
  text += fmt::format("{:<{}}  {:>10}  {:>19}  {:>9}  {:>9}  {:>10}\n", "", widest, "geo. mean",
                      "least .. most", "x oracle", "x oracle", "x default");
  for (const PolicySummary& one : summaries) {
    text +=
        fmt::format("{:<{}}  {:>10.4f}  {:>19}  {:>9.3f}  {:>9.3f}  {:>10.3f}\n", one.policy,
                    widest, one.oracle_ratio,
                    fmt::format("{:.4f} .. {:.4f}", one.least_oracle_ratio, one.most_oracle_ratio),
                    one.p90_cell, one.worst_cell, one.default_speedup);
  }
  return text;
}

std::string evaluation_csv(std::span<const PolicyRun> runs, const std::string& part, bool header) {
  std::string text;
  if (header) {
    text =
        "part,policy,seed,collective,size_bytes,calls,time_us,oracle_ratio,default_ratio,choice\n";
  }
  // Names of parts and choosers are the user's: what would break a field becomes a space.
  const auto field = [](std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return c == ',' || c == '\n' || c == '"' || c == '\r'; }, ' ');
    return name;
  };
  for (const PolicyRun& run : runs) {
    for (const EvaluatedCell& cell : run.cells) {
      text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", field(part), field(run.policy),
                          run.seed, cell.collective, cell.bytes, cell.calls, cell.time_us,
                          cell.oracle_ratio, cell.default_ratio, field(cell.choice));
    }
  }
  return text;
}

std::string evaluation_page(const std::string& title, std::span<const EvaluatedPart> parts) {
  std::string html = fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>"
      "body{{font:14px sans-serif;margin:2em}}table{{border-collapse:collapse;margin-bottom:2em}}"
      "td,th{{border:1px solid #ccc;padding:2px 5px;font-size:11px;text-align:left}}"
      "td{{color:#111}}</style></head><body><h1>{0}</h1>\n"
      "<p>What each policy chose most often by size (first seed), and below it its time over the "
      "oracle's, geometric mean. A colour is an algorithm, darker from LL to Simple.</p>\n",
      escaped(title));
  for (const EvaluatedPart& part : parts) {
    html += fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", escaped(part.label),
                        escaped(evaluation_table(summarize_runs(part.runs))));
    std::vector<std::string> collectives;
    for (const PolicyRun& run : part.runs) {
      for (const EvaluatedCell& cell : run.cells) {
        if (std::ranges::find(collectives, cell.collective) == collectives.end()) {
          collectives.push_back(cell.collective);
        }
      }
    }
    for (const std::string& collective : collectives) html += collective_table(part, collective);
  }
  return html + "</body></html>\n";
}

}  // namespace cclgym
