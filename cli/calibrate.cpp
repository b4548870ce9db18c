// cclgym calibrate: real collectives, measured.
#include <fmt/core.h>

#include "calibration/mpi_backend.hpp"
#include "cli/command.hpp"
#include "cli/measured_options.hpp"
#include "cli/mpi_options.hpp"
#include "cli/sweep_options.hpp"

namespace cclgym {

namespace {

int calibrate(const std::vector<std::string>& args) {
  ArgumentReader reader(calibrate_command());
  reader.positional("backend", "what to measure: mpi")
      .option("out,o", "FILE", "the rows, in CSV; a file that has some of them is gone on with");
  add_mpi_options(reader);
  add_sweep_options(reader);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  const std::string& name = arguments->text("backend");
  const std::vector<std::string> names{"mpi"};
  if (name != names.front()) throw UserError(unknown_name_message("backend", name, names));
  if (!arguments->has("out")) {
    throw UserError(argument_location("out"), "is missing; expected the file to write");
  }
  check_output_file(*arguments);
  const MeasurementBackend backend = mpi_backend(mpi_sweep(*arguments), mpi_launch(*arguments));
  const SweepResult result = run_sweep(backend, *arguments, arguments->text("out"));
  fmt::print("rows      {} of {} in {}\n", result.progress.done, result.progress.total,
             arguments->text("out"));
  if (result.refused > 0) fmt::print("refused   {}\n", result.refused);
  if (result.failed > 0) {
    fmt::print("failed    {}, the last one {}\n", result.failed, result.last_failure);
  }
  return 0;
}

}  // namespace

const Command& calibrate_command() {
  static const Command command{
      .name = "calibrate",
      .summary = "Measures real collectives, for `fit` and `compare`",
      .usage = "BACKEND --out FILE [options]",
      .examples =
          "  cclgym calibrate mpi --launch \"mpirun -n 4\" --sizes \"64B..4MiB x4\" -o "
          "measured.csv\n"
          "      every algorithm of OpenMPI, whole and in segments, and its own choice\n"
          "  cclgym calibrate mpi --launch \"scripts/netlab mpirun\" --system netlab -o "
          "netlab.csv\n"
          "      between hosts that are network namespaces, with links of a known rate\n"
          "  (the same command goes on with a sweep that was stopped or killed)",
      .run = calibrate};
  return command;
}

}  // namespace cclgym
