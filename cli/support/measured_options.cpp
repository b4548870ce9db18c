#include "cli/support/measured_options.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>

#include "calibration/measure/systems.hpp"
#include "cli/support/print.hpp"
#include "core/files/writable.hpp"
#include "core/ranks/launch.hpp"
#include "core/split.hpp"
#include "cost_models/nccl/nccl_version.hpp"

namespace cclgym {

namespace {

OptionSpec count_option(std::string name, std::string description, double least) {
  return {.name = std::move(name),
          .kind = OptionKind::Integer,
          .description = std::move(description),
          .min = least,
          .max = 1'000'000};
}

const OptionSpec& ranks_option() {
  static const OptionSpec spec =
      count_option("ranks", "number of ranks, for output of nccl-tests that does not state it", 2);
  return spec;
}
const OptionSpec& nodes_option() {
  static const OptionSpec spec =
      count_option("nodes", "number of nodes, for output of nccl-tests that does not state it", 1);
  return spec;
}
const OptionSpec& max_ranks_option() {
  static const OptionSpec spec =
      count_option("max-ranks", "max number of ranks of the rows to use", 2);
  return spec;
}
const OptionSpec& max_alltoall_ranks_option() {
  static const OptionSpec spec = count_option("max-alltoall-ranks",
                                              "max number of ranks of a simulated AllToAll; "
                                              "with adaptive routes, 512 ranks take a minute per "
                                              "size [default: 256]",
                                              2);
  return spec;
}

std::optional<int> count_of(const Arguments& arguments, const OptionSpec& spec) {
  if (!arguments.has(spec.name)) return std::nullopt;
  return static_cast<int>(
      read_integer(arguments.text(spec.name), spec, argument_location(spec.name)));
}

}  // namespace

std::vector<std::string> comma_list(const std::string& text, const std::string& option) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, ',')) {
    parts.emplace_back(part);
    if (parts.back().empty()) {
      throw UserError(argument_location(option),
                      fmt::format("found {}; expected names separated by commas", quoted(text)));
    }
  }
  return parts;
}

std::string refusal_text(std::span<const RefusedRows> refused) {
  std::string text = reasons_text(refused);
  if (text.find("name rccl-default") != std::string::npos) {
    text += "; --tuner rccl-default or --tuner ALGORITHM/PROTOCOL/CHANNELS does so";
  } else if (text.find("name an algorithm") != std::string::npos) {
    text += "; --tuner ALGORITHM/PROTOCOL/CHANNELS does so";
  }
  return text;
}

bool writes_output() {
  const std::optional<LaunchedRank> launched = launched_rank();
  return !launched || launched->rank == 0;
}

void check_output_file(const Arguments& arguments) {
  if (writes_output()) require_output(arguments, "out");
}

void check_output_folder(const Arguments& arguments) {
  if (!arguments.has("out") || !writes_output()) return;
  const std::filesystem::path path = arguments.text("out");
  if (path.empty()) throw UserError(argument_location("out"), "expected the name of a folder");
  if (std::filesystem::exists(path) && !std::filesystem::is_directory(path)) {
    throw UserError(argument_location("out"), fmt::format("{} is not a folder", path.string()));
  }
  at_option("out", path.string(), [&] { check_writable_folder(path.string()); });
}

void add_measured_options(ArgumentReader& reader) {
  reader
      .input("measured", "FILE",
             "measured times: CSV, or output of nccl-tests, rccl-tests, OSU's benchmarks or NCCL's "
             "Inspector")
      .option("system", "NAMES",
              "systems whose rows are used, or the system of a file that does not name it")
      .input("fabric", "FABRIC",
             "fabric of all rows: a shipped fabric or a .yaml file [default: that of the row's "
             "system]")
      .option("config", "NAMES", "names in the column config whose rows are used")
      .option("collective", "NAMES",
              "collectives whose rows are used, or the collective of output of nccl-tests that "
              "does not name it")
      .option(
          "tuner", "T",
          "tuner (cclgym list algorithms), or ALGORITHM[/PROTOCOL[/CHANNELS]], of rows that do "
          "not state what chose; NCCL chooses what is left out [default: NCCL's default choice, "
          "or RCCL's]")
      .option("nccl", "VERSION", "release of NCCL for rows that do not state it")
      .option(ranks_option(), "N")
      .option(nodes_option(), "N")
      .option(max_ranks_option(), "N")
      .option(max_alltoall_ranks_option(), "N");
}

MeasuredRows measured_rows(const Arguments& arguments) {
  MeasuredRows measured{.path = arguments.required("measured"), .rows = {}, .filter = {}};
  MeasuredFileContext context{.ranks = count_of(arguments, ranks_option()),
                              .nodes = count_of(arguments, nodes_option())};
  CellFilter& filter = measured.filter;
  filter.max_ranks = count_of(arguments, max_ranks_option());
  filter.max_alltoall_ranks =
      count_of(arguments, max_alltoall_ranks_option()).value_or(filter.max_alltoall_ranks);
  if (arguments.has("fabric")) filter.fabric = arguments.text("fabric");
  if (arguments.has("config")) filter.configs = comma_list(arguments.text("config"), "config");
  if (arguments.has("nccl")) {
    const std::string& version = arguments.text("nccl");
    at_option("nccl", version, [&] { (void)nearest_modelled_nccl(version); });
    filter.nccl_version = version;
    context.nccl_version = filter.nccl_version;
  }
  if (arguments.has("tuner")) {
    const std::string& text = arguments.text("tuner");
    at_option("tuner", text, [&] { set_tuner(filter, text, {}); });
  }
  if (arguments.has("collective")) {
    for (const std::string& name : comma_list(arguments.text("collective"), "collective")) {
      const auto kind = measured_collective(name);
      if (!kind) {
        throw UserError(argument_location("collective"),
                        unknown_name_message("collective", name,
                                             {"all_reduce", "all_gather", "reduce_scatter",
                                              "reduce", "broadcast", "alltoall", "sendrecv"}));
      }
      filter.collectives.push_back(*kind);
    }
    if (filter.collectives.size() == 1) context.collective = filter.collectives.front();
  }
  if (arguments.has("system")) {
    filter.systems = comma_list(arguments.text("system"), "system");
    if (filter.systems.size() == 1) context.system = filter.systems.front();
  }
  measured.rows = read_measured_file(measured.path, context);
  if (!filter.fabric) {
    const std::vector<std::string> of_rows = systems_of(measured.rows);
    for (const std::string& name : filter.systems) {
      if (std::ranges::find(of_rows, name) == of_rows.end()) (void)measured_system(name);
    }
  }
  const bool named = std::all_of(measured.rows.begin(), measured.rows.end(),
                                 [](const Measurement& row) { return !row.system.empty(); });
  if (!named && !filter.fabric) {
    const GuessedFabric guess = guess_fabric(measured.rows, measured.path);
    print_error("note: {}\n", guess.note);
    filter.fabric = guess.fabric;
  }
  return measured;
}

}  // namespace cclgym
