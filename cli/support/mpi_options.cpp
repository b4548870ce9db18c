#include "cli/support/mpi_options.hpp"

#include <algorithm>
#include <boost/program_options/parsers.hpp>

#include "cli/support/measured_options.hpp"
#include "experiments/measured/measured_file.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

const OptionSpec kSizes{.name = "sizes",
                        .kind = OptionKind::Bytes,
                        .shape = OptionShape::OneOrList,
                        .description =
                            "collective sizes, as counted by nccl-tests: values and ranges, "
                            "separated by commas",
                        .min = 4,
                        .max = 1024.0 * 1024 * 1024,
                        .default_text = "64B..4MiB x4"};
const OptionSpec kSegments{
    .name = "segments",
    .kind = OptionKind::Bytes,
    .shape = OptionShape::OneOrList,
    .description =
        "segment sizes for the algorithms that take segments, in addition to no segments",
    .max = 1024.0 * 1024 * 1024,
    .default_text = "32KiB,128KiB,512KiB"};

std::vector<std::uint64_t> sizes_of(const Arguments& arguments, const OptionSpec& spec) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& part : comma_list(arguments.text_or_default(spec), spec.name)) {
    const auto range = read_bytes_range(part, spec, argument_location(spec.name));
    sizes.insert(sizes.end(), range.begin(), range.end());
  }
  return sizes;
}

std::vector<std::string> names_of(const Arguments& arguments, const std::string& option) {
  if (!arguments.has(option)) return {};
  return comma_list(arguments.text(option), option);
}

// Fields of the CSV file are not quoted.
std::string label_of(const Arguments& arguments, const std::string& option,
                     const std::string& otherwise) {
  if (!arguments.has(option)) return otherwise;
  const std::string& text = arguments.text(option);
  if (text.find_first_of(",\"\r\n") != std::string::npos) {
    throw UserError(argument_location(option),
                    "found " + quoted(text) + "; expected a name without commas and quotes");
  }
  return text;
}

}  // namespace

void add_launch_options(ArgumentReader& reader) {
  reader
      .option("launch", "COMMAND",
              "command that starts a program on the ranks, e.g. \"mpirun -n 4\" [default: mpirun; "
              "none for nccl]")
      .option("system", "NAME", "name of the system in the rows [default: name of the backend]");
}

std::string system_option(const Arguments& arguments, const std::string& otherwise) {
  return label_of(arguments, "system", otherwise);
}

void add_label_option(ArgumentReader& reader) {
  reader.option("label", "TEXT", "text for the column config, which distinguishes the run");
}

std::string label_option(const Arguments& arguments) { return label_of(arguments, "label", ""); }

void add_mpi_options(ArgumentReader& reader) {
  add_launch_options(reader);
  add_label_option(reader);
  reader
      .option("collective", "NAMES",
              "collectives to measure, e.g. allreduce,broadcast [default: all]")
      .option(kSizes, "SIZES")
      .option(kSegments, "SIZES")
      .option("algorithm", "NAMES",
              "algorithms of the library to measure, or openmpi-default [default: all]");
}

MpiSweep mpi_sweep(const Arguments& arguments) {
  MpiSweep sweep{.system = system_option(arguments, "mpi"),
                 .config = label_option(arguments),
                 .collectives = {},
                 .sizes = sizes_of(arguments, kSizes),
                 .segments = sizes_of(arguments, kSegments),
                 .algorithms = names_of(arguments, "algorithm")};
  std::vector<std::string> collectives;
  std::vector<std::string> algorithms{std::string(kMpiDefault)};
  for (const OpenMpiCollective& each : openmpi_collectives()) {
    collectives.emplace_back(to_string(each.collective));
  }
  for (const OpenMpiAlgorithm& each : openmpi_algorithms()) {
    algorithms.emplace_back(each.algorithm);
  }
  for (const std::string& name : names_of(arguments, "collective")) {
    const auto kind = measured_collective(name);
    if (!kind || std::ranges::find(collectives, to_string(*kind)) == collectives.end()) {
      throw UserError(argument_location("collective"),
                      unknown_name_message("collective", name, collectives));
    }
    sweep.collectives.push_back(*kind);
  }
  for (const std::string& name : sweep.algorithms) {
    if (std::ranges::find(algorithms, name) == algorithms.end()) {
      throw UserError(argument_location("algorithm"),
                      unknown_name_message("algorithm", name, algorithms));
    }
  }
  return sweep;
}

std::vector<std::string> mpi_launch(const Arguments& arguments) {
  if (!arguments.has("launch")) return {"mpirun"};
  auto words = boost::program_options::split_unix(arguments.text("launch"));
  if (words.empty()) throw UserError(argument_location("launch"), "is empty; expected a command");
  return words;
}

}  // namespace cclgym
