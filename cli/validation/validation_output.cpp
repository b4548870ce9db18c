#include "cli/validation/validation_output.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output/json_output.hpp"
#include "cli/support/print.hpp"
#include "core/files/text_file.hpp"

namespace cclgym {

namespace {

const std::string kRowsSuffix = ".rows.csv";
const OptionSpec kRounds{
    .name = "rounds",
    .kind = OptionKind::Integer,
    .description = "number of interleaved measurements per call and configuration",
    .min = 2,
    .max = 10'000,
    .default_text = "10"};
const OptionSpec kAgentSeed{.name = "agent",
                            .kind = OptionKind::Integer,
                            .description = "seed of the agent",
                            .min = 0,
                            .max = 1e15,
                            .default_text = "the first that was trained"};
const OptionSpec kWithin{
    .name = "within",
    .kind = OptionKind::Real,
    .description = "max time of a configuration relative to the best of --measured",
    .min = 1,
    .max = 1e6,
    .default_text = "1.3"};

}  // namespace

void add_validation_options(ArgumentReader& reader) {
  reader.option(kAgentSeed, "N")
      .option("out,o", "DIR",
              "folder for LABEL.rows.csv, validation.csv and validation.html; parts that are there "
              "already are shown, too")
      .option(kRounds, "N")
      .option("measured", "FILE",
              "sweep of `calibrate` on the same machine: only configurations near its best are "
              "measured, and its best is shown beside the agent's choice")
      .option(kWithin, "X")
      .flag("dry-run",
            "print the number of measurements and an upper bound of the time; nothing is measured")
      .flag("json", kJsonHelp);
}

int validation_rounds(const Arguments& arguments) {
  return static_cast<int>(arguments.integer(kRounds));
}

double validation_within(const Arguments& arguments) {
  return read_real(arguments.text_or_default(kWithin), kWithin, argument_location("within"));
}

const OptionSpec& validated_agent_option() { return kAgentSeed; }

OwnFiles validation_files() {
  return {.writer = "cclgym validate",
          .mark = "validation.csv",
          .mark_begins = "part,collective,",
          .others = {"validation.html"}};
}

std::string validation_rows_path(const std::filesystem::path& folder, const std::string& label) {
  return (folder / (label + kRowsSuffix)).string();
}

std::vector<std::string> validated_labels(const std::filesystem::path& folder) {
  std::vector<std::string> labels;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kRowsSuffix)) labels.push_back(name.substr(0, name.rfind(kRowsSuffix)));
  }
  std::ranges::sort(labels);
  return labels;
}

void print_validation(const std::vector<Validation>& parts, bool json) {
  if (json) {
    print_json(json_rows(validation_csv(parts), {"part", "chosen", "best"}));
  } else {
    print_out("{}", validation_text(parts));
  }
}

void publish_validation(const std::vector<Validation>& parts, const std::filesystem::path& folder,
                        bool json) {
  write_text_file((folder / "validation.csv").string(), validation_csv(parts));
  write_text_file((folder / "validation.html").string(), validation_html(parts));
  print_validation(parts, json);
  if (!json) print_out("\npage      {}\n", (folder / "validation.html").string());
}

}  // namespace cclgym
