#include "cli/synthesis/synthesis_outcome.hpp"

#include <nlohmann/json.hpp>

#include "cli/support/print.hpp"
#include "cli/synthesis/synthesis_text.hpp"
#include "core/counted.hpp"

namespace cclgym {

void print_outcome(const SynthesisOutcome& outcome, const std::string& folder) {
  const synthesis::Synthesis& made = outcome.made;
  print_out("{}: {}\nbounds: {}\n", outcome.title, counted(made.programs.size(), "program"),
            bounds_text(made));
  if (!made.programs.empty()) print_out("\n{}", programs_table(made));
  if (outcome.table) print_out("\n{}", outcome.tuned);
  for (const std::string& note : outcome.notes) print_out("note: {}\n", note);
  print_out("\n");
  if (outcome.files > 0) print_out("programs  {}/programs\n", folder);
  print_out("proofs    {}/certificates ({})\n", folder, counted(outcome.proofs, "file"));
  if (outcome.table) print_out("table     {}/dispatch.yaml\n", folder);
  print_out("report    {}/report.html\n", folder);
}

nlohmann::ordered_json outcome_json(const SynthesisOutcome& outcome, const std::string& folder) {
  const synthesis::Synthesis& made = outcome.made;
  nlohmann::ordered_json programs = nlohmann::ordered_json::array();
  for (const synthesis::SynthesizedProgram& one : made.programs) {
    programs.push_back({{"name", one.name},
                        {"chunks", one.chunks},
                        {"steps", one.steps},
                        {"rounds", text_of(one.rounds)},
                        {"rounds_per_chunk", text_of(one.rounds_per_chunk())},
                        {"optimal_for", one.optimal},
                        {"channels", one.program->channels},
                        {"blocks_per_gpu", one.program->most_resident_blocks()}});
  }
  nlohmann::ordered_json json{
      {"title", outcome.title},     {"min_steps", nullptr},   {"min_rounds_per_chunk", nullptr},
      {"programs", programs},       {"notes", outcome.notes}, {"proofs", outcome.proofs},
      {"programs_folder", nullptr}, {"table", nullptr},       {"report", folder + "/report.html"}};
  if (made.min_steps > 0) json["min_steps"] = made.min_steps;
  if (made.min_rounds > Rational(0)) json["min_rounds_per_chunk"] = text_of(made.min_rounds);
  if (outcome.files > 0) json["programs_folder"] = folder + "/programs";
  if (outcome.table) json["table"] = folder + "/dispatch.yaml";
  return json;
}

}  // namespace cclgym
