// Texts that `run` prints and writes about published speedups.
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "core/files/csv.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"
#include "experiments/published/published_comparison.hpp"

namespace cclgym {

namespace {

// The speedup with three digits: "1.50", "12.3".
std::string speedup_text(double speedup) {
  return fmt::format("{:.{}f}", speedup, speedup < 9.995 ? 2 : 1);
}

std::string interval_text(double low, double high) {
  const std::string from = speedup_text(low);
  const std::string to = speedup_text(high);
  return from == to ? from : from + " to " + to;
}

std::string interval_text(const PublishedVerdict& verdict) {
  return verdict.simulated() ? interval_text(verdict.low(), verdict.high()) : "-";
}

struct Count {
  std::size_t rows = 0;
  std::size_t holding = 0;
  std::size_t not_simulated = 0;

  void add(const PublishedVerdict& verdict) {
    ++rows;
    if (verdict.holds()) ++holding;
    if (!verdict.simulated()) ++not_simulated;
  }
};

// Counts of the null model's verdicts on the same rows, and of the rows that hold only narrowly.
struct NullCount {
  std::size_t holding = 0;              ///< rows that hold for the null model
  std::size_t informative = 0;          ///< rows that miss for the null model
  std::size_t informative_holding = 0;  ///< informative rows that hold
  std::size_t narrow = 0;               ///< rows that hold by less than kNarrow

  static constexpr double kNarrow = 0.01;

  void add(const PublishedComparison& comparison) {
    const PublishedVerdict& judged = comparison.judged();
    if (null_model_holds(comparison.row)) {
      ++holding;
    } else {
      ++informative;
      if (judged.holds()) ++informative_holding;
    }
    if (judged.holds() && judged.margin < kNarrow) ++narrow;
  }

  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("a speedup of 1 throughout would hold {}", holding);
    if (informative > 0) {
      text += fmt::format("; of the {} rows that it would miss, {} hold", informative,
                          informative_holding);
    }
    if (narrow > 0) {
      text += fmt::format("; {} hold by less than {:.0f} %", narrow, 100 * kNarrow);
    }
    return text;
  }
};

// The margin in per cent, "8.2 %"; empty if the row does not hold.
std::string margin_text(const PublishedVerdict& verdict) {
  return verdict.holds() ? fmt::format("{:.1f} %", 100 * verdict.margin) : "";
}

std::string null_text(const PublishedRow& row) {
  return null_model_holds(row) ? "holds" : "misses";
}

void add_row(std::vector<Column>& columns, const PublishedBlock& block,
             const PublishedComparison& comparison) {
  const PublishedRow& row = comparison.row;
  const bool alone = row.subject == PublishedSubject::Variant;
  std::size_t i = 0;
  const auto add = [&](std::string text) { columns[i++].cells.push_back(std::move(text)); };
  add(row.source);
  add(row.range_text());
  add(interval_text(row.speedup_low, row.speedup_high));
  add(interval_text(comparison.judged()));
  add(verdict_text(comparison.judged()));
  add(margin_text(comparison.judged()));
  add(null_text(row));
  add(winner_text(block, comparison));
  add(row.variant);
  add(alone || !comparison.variant ? "-" : interval_text(*comparison.variant));
  add(alone || !comparison.variant ? "" : verdict_text(*comparison.variant));
}

// One line of published.csv.
struct ComparedLine {
  int row = 0;
  std::string fabric;
  int servers = 0;
  int ranks = 0;
  std::string collective;
  std::string baseline;
  std::string source;
  std::string size_from;
  std::string size_to;
  double published_low = 0;
  double published_high = 0;
  std::string judged_by;
  int sizes = 0;
  double simulated_low = 0;
  double simulated_high = 0;
  std::string verdict;
  double miss = 0;
  std::string miss_size;
  double margin = 0;
  std::string null_verdict;
  std::string winner;
  std::string variant;
  double variant_low = 0;
  double variant_high = 0;
  std::string variant_verdict;
};

constexpr std::array<CsvColumn<ComparedLine>, 25> kComparedColumns{{
    {"row", &ComparedLine::row},
    {"fabric", &ComparedLine::fabric},
    {"servers", &ComparedLine::servers},
    {"ranks", &ComparedLine::ranks},
    {"collective", &ComparedLine::collective},
    {"baseline", &ComparedLine::baseline},
    {"source", &ComparedLine::source},
    {"size_from", &ComparedLine::size_from},
    {"size_to", &ComparedLine::size_to},
    {"published_low", &ComparedLine::published_low},
    {"published_high", &ComparedLine::published_high},
    {"judged_by", &ComparedLine::judged_by},
    {"sizes", &ComparedLine::sizes},
    {"simulated_low", &ComparedLine::simulated_low},
    {"simulated_high", &ComparedLine::simulated_high},
    {"verdict", &ComparedLine::verdict},
    {"miss", &ComparedLine::miss},
    {"miss_size", &ComparedLine::miss_size},
    {"margin", &ComparedLine::margin},
    {"null_verdict", &ComparedLine::null_verdict},
    {"winner", &ComparedLine::winner},
    {"variant", &ComparedLine::variant},
    {"variant_low", &ComparedLine::variant_low},
    {"variant_high", &ComparedLine::variant_high},
    {"variant_verdict", &ComparedLine::variant_verdict},
}};

std::string plain_verdict(const PublishedVerdict& verdict) {
  return !verdict.simulated() ? "not-simulated" : verdict.holds() ? "holds" : "misses";
}

double low_of(const PublishedVerdict& verdict) {
  return verdict.simulated() ? verdict.low() : std::nan("");
}
double high_of(const PublishedVerdict& verdict) {
  return verdict.simulated() ? verdict.high() : std::nan("");
}

ComparedLine line_of(const PublishedBlock& block, const PublishedComparison& comparison) {
  const PublishedRow& row = comparison.row;
  const PublishedVerdict& judged = comparison.judged();
  const PublishedVerdict variant = comparison.variant.value_or(PublishedVerdict{});
  return {.row = row.number,
          .fabric = block.fabric,
          .servers = block.servers,
          .ranks = block.ranks,
          .collective = block.collective,
          .baseline = row.baseline,
          .source = row.source,
          .size_from = format_bytes(row.size_from),
          .size_to = row.size_to ? format_bytes(*row.size_to) : "",
          .published_low = row.speedup_low,
          .published_high = row.speedup_high,
          .judged_by = std::string(to_string(row.subject)),
          .sizes = static_cast<int>(judged.points.size()),
          .simulated_low = low_of(judged),
          .simulated_high = high_of(judged),
          .verdict = plain_verdict(judged),
          .miss = judged.miss,
          .miss_size = judged.miss == 0 ? "" : format_bytes(judged.miss_bytes),
          .margin = judged.holds() ? judged.margin : std::nan(""),
          .null_verdict = null_text(row),
          .winner = winner_text(block, comparison),
          .variant = row.variant,
          .variant_low = low_of(variant),
          .variant_high = high_of(variant),
          .variant_verdict = comparison.variant ? plain_verdict(variant) : ""};
}

}  // namespace

std::string verdict_text(const PublishedVerdict& verdict) {
  if (!verdict.simulated()) return "not simulated";
  if (verdict.holds()) return "holds";
  const double percent = std::max(100 * std::abs(verdict.miss), 0.1);
  return fmt::format("{} {:.{}f} %", verdict.miss > 0 ? "high" : "low", percent,
                     percent < 0.95 ? 1 : 0);
}

std::string winner_text(const PublishedBlock& block, const PublishedComparison& comparison) {
  const std::optional<std::size_t> winner = comparison.winner();
  if (!winner) return "-";
  std::string text =
      *winner == kBaselineSeries ? "the baseline" : short_config(block.series[*winner].config);
  if (const std::size_t others = comparison.other_winners(); others > 0) {
    text += fmt::format(" +{}", others);
  }
  return text;
}

std::string published_text(std::span<const PublishedBlock> blocks, std::size_t published_rows) {
  if (published_rows == 0) return "";
  if (blocks.empty()) {
    return fmt::format(
        "\nnone of the {} published rows has results for its fabric, collective and baseline "
        "here\n",
        published_rows);
  }
  std::string text = fmt::format(
      "\npublished speedups beside the simulated ones; a row holds if all of its range lies within "
      "{} x low to {} x high\n",
      kPublishedLeast, kPublishedMost);
  Count judged;
  Count variants;
  NullCount null_model;
  for (const PublishedBlock& block : blocks) {
    std::vector<Column> columns{
        {"source", "", true},     {"sizes", "", true}, {"published", "x", true},
        {"simulated", "x", true}, {"", "", true},      {"margin", "", true},
        {"if all 1", "", true},   {"by", "", true},    {"published variant", "", true},
        {"its own", "x", true},   {"", "", true}};
    for (const PublishedComparison& comparison : block.rows) {
      add_row(columns, block, comparison);
      judged.add(comparison.judged());
      null_model.add(comparison);
      if (comparison.variant) variants.add(*comparison.variant);
    }
    text +=
        fmt::format("\n{}, {}: speedup over {}\n", block.fabric, block.collective, block.baseline);
    text += format_columns(columns);
  }
  text += fmt::format("\n{} of {} published rows hold", judged.holding, judged.rows);
  if (judged.not_simulated > 0) text += fmt::format(", {} not simulated", judged.not_simulated);
  if (variants.rows > 0) {
    text += fmt::format("; by the variant that the publication names, {} of {}", variants.holding,
                        variants.rows);
  }
  return text + '\n' + null_model.text() + '\n';
}

std::string published_csv(std::span<const PublishedBlock> blocks) {
  std::string text = csv_header(kComparedColumns) + "\n";
  for (const PublishedBlock& block : blocks) {
    for (const PublishedComparison& comparison : block.rows) {
      text += csv_line(kComparedColumns, line_of(block, comparison)) + "\n";
    }
  }
  return text;
}

}  // namespace cclgym
