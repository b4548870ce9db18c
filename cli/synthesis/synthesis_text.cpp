#include "cli/synthesis/synthesis_text.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/text_columns.hpp"
#include "experiments/schedules/library_points.hpp"
#include "experiments/schedules/program_view.hpp"
#include "experiments/schedules/schedule_page.hpp"

namespace cclgym {

using synthesis::SynthesizedProgram;

std::string programs_table(const synthesis::Synthesis& made) {
  std::vector<Column> columns{{.heading = "program", .left = true},
                              {.heading = "C", .unit = "chunks"},
                              {.heading = "S", .unit = "steps"},
                              {.heading = "R", .unit = "rounds"},
                              {.heading = "R/C", .unit = "rounds"},
                              {.heading = "optimal for", .left = true},
                              {.heading = "channels"},
                              {.heading = "blocks", .unit = "per GPU"}};
  for (const SynthesizedProgram& program : made.programs) {
    const std::vector<std::string> cells{
        program.name,
        fmt::format("{}", program.chunks),
        fmt::format("{}", program.steps),
        text_of(program.rounds),
        text_of(program.rounds_per_chunk()),
        program.optimal.empty() ? "-" : program.optimal,
        fmt::format("{}", program.program->channels),
        fmt::format("{}", program.program->most_resident_blocks())};
    for (std::size_t k = 0; k < cells.size(); ++k) columns[k].cells.push_back(cells[k]);
  }
  return format_columns(columns);
}

std::string bounds_text(const synthesis::Synthesis& made) {
  std::string text;
  if (made.min_steps > 0) text += fmt::format("steps >= {}", made.min_steps);
  if (made.min_rounds > Rational(0)) {
    text +=
        fmt::format("{}rounds per chunk >= {}", text.empty() ? "" : ", ", text_of(made.min_rounds));
  }
  return text.empty() ? "none" : text;
}

std::vector<std::string> outcome_sentences(const synthesis::Synthesis& made) {
  if (made.programs.empty()) {
    return {fmt::format("No program was found. Bounds: {}.", bounds_text(made))};
  }
  const auto fewest = std::ranges::min_element(made.programs, {}, &SynthesizedProgram::steps);
  // The program that is listed first of equal ones.
  const auto widest = std::ranges::min_element(
      made.programs, {}, [](const SynthesizedProgram& one) { return one.rounds_per_chunk(); });
  std::string steps =
      fmt::format("Fewest steps: {}, by {}", counted(fewest->steps, "step"), fewest->name);
  if (made.min_steps == 0) {
    steps += "; no bound is known.";
  } else if (fewest->steps == made.min_steps) {
    steps += ", which is the bound.";
  } else {
    steps += fmt::format("; the bound is {}.", made.min_steps);
  }
  const Rational least = widest->rounds_per_chunk();
  std::string rounds =
      fmt::format("Fewest rounds per chunk: {}, by {}", text_of(least), widest->name);
  if (made.min_rounds == Rational(0)) {
    rounds += "; no bound is known.";
  } else if (least == made.min_rounds) {
    rounds += ", which is the bound.";
  } else {
    rounds += fmt::format("; {:.1f} % more than the bound {}.",
                          100 * (boost::rational_cast<double>(least / made.min_rounds) - 1),
                          text_of(made.min_rounds));
  }
  return {fmt::format("{} {} found.", counted(made.programs.size(), "program"),
                      made.programs.size() == 1 ? "was" : "were"),
          steps, rounds};
}

std::string report_page(const synthesis::Synthesis& made, const Fabric& fabric,
                        CollectiveKind collective, const SynthesisReport& report) {
  SchedulePage page{.title = report.title,
                    .lead = outcome_sentences(made),
                    .table = programs_table(made),
                    .min_steps = static_cast<double>(made.min_steps),
                    .min_rounds = boost::rational_cast<double>(made.min_rounds)};
  page.lead.insert(page.lead.end(), report.notes.begin(), report.notes.end());
  for (const SynthesizedProgram& program : made.programs) {
    if (program.instances > 1) continue;  // the same schedule
    page.front.push_back(
        {.name = program.name,
         .steps = static_cast<double>(program.steps),
         .rounds_per_chunk = boost::rational_cast<double>(program.rounds_per_chunk())});
    page.schedules.push_back(view_of(program, fabric));
  }
  if (report.compared && !made.programs.empty()) {
    for (FrontPoint& point :
         library_points(fabric, collective, report.root, made.programs.front().unit_Bps)) {
      page.front.push_back(std::move(point));
    }
  }
  if (report.swept) {
    page.links = {{"times of the sweep", "sweep/report.html"}, {"dispatch table", "dispatch.yaml"}};
  }
  return schedule_page(page);
}

}  // namespace cclgym
