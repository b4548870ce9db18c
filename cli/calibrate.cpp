// cclgym calibrate: measures real collectives.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/backends/gpu_backends.hpp"
#include "calibration/backends/mpi_backend.hpp"
#include "calibration/cuda/cuda_cells.hpp"
#include "calibration/cuda/nccl/nccl_cells.hpp"
#include "cli/output/json_output.hpp"
#include "cli/runs/sweep_options.hpp"
#include "cli/support/command.hpp"
#include "cli/support/gpu_options.hpp"
#include "cli/support/measured_options.hpp"
#include "cli/support/mpi_options.hpp"
#include "cli/support/print.hpp"

namespace cclgym {

namespace {

const std::vector<std::string>& backend_names() {
  static const std::vector<std::string> names{"cuda", "mpi", "nccl"};
  return names;
}

void add_backend_options(ArgumentReader& reader, const std::string& backend) {
  if (backend == "mpi") add_mpi_options(reader);
  if (backend == "cuda") add_record_options(reader, cuda_cell_options());
  if (backend != "nccl") return;
  add_launch_options(reader);
  add_record_options(reader, nccl_cell_options());
  add_record_options(reader, nccl_worker_options());
}

MeasurementBackend backend_of(const std::string& name, const Arguments& arguments) {
  if (name == "mpi") return mpi_backend(mpi_sweep(arguments), mpi_launch(arguments));
  if (name == "cuda") return cuda_backend(record_texts(arguments, cuda_cell_options()));
  return nccl_backend(record_texts(arguments, nccl_cell_options()),
                      record_texts(arguments, nccl_worker_options()),
                      system_option(arguments, "nccl"),
                      arguments.has("launch") ? mpi_launch(arguments) : std::vector<std::string>{});
}

int calibrate(const std::vector<std::string>& args) {
  // The backend's name comes first, because each backend has options of its own.
  const std::string name = args.empty() || args.front().starts_with("-") ? "" : args.front();
  if (!name.empty() && std::ranges::find(backend_names(), name) == backend_names().end()) {
    throw UserError(unknown_name_message("backend", name, backend_names()));
  }
  ArgumentReader reader(calibrate_command());
  reader
      .positional("BACKEND",
                  "kind of measurements: mpi (OpenMPI on any network), nccl (NCCL on the GPUs of "
                  "this machine) or cuda (one GPU); `calibrate BACKEND --help` lists its options")
      .output("out,o", "FILE", "CSV file for the rows; an incomplete file is continued");
  add_backend_options(reader, name);
  add_sweep_options(reader);
  reader
      .flag("dry-run",
            "print the number of cells and an upper bound of the time; nothing is measured")
      .flag("json", kJsonHelp);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  if (!arguments->has("out")) {
    throw UserError(argument_location("out"), "is missing; expected the file to write");
  }
  check_output_file(*arguments);
  const MeasurementBackend backend = backend_of(name, *arguments);
  const bool json = wants_json(*arguments);
  if (arguments->has("dry-run")) {
    print_planned_sweep(backend, *arguments, arguments->text("out"), json);
    return 0;
  }
  const SweepResult result = run_sweep(backend, *arguments, arguments->text("out"));
  if (json) {
    print_json({{"rows", result.progress.done},
                {"cells", result.progress.total},
                {"refused", result.refused},
                {"failed", result.failed},
                {"last_failure", result.last_failure},
                {"file", arguments->text("out")}});
    return 0;
  }
  print_out("rows      {} of {} in {}\n", result.progress.done, result.progress.total,
            arguments->text("out"));
  if (result.refused > 0) print_out("refused   {}\n", result.refused);
  if (result.failed > 0) {
    print_out("failed    {}, the last one {}\n", result.failed, result.last_failure);
  }
  return 0;
}

}  // namespace

const Command& calibrate_command() {
  static const Command command{
      .name = "calibrate",
      .summary = "Measure real collectives, for `fit` and `compare`",
      .usage = "BACKEND --out FILE [options]",
      .examples =
          "  cclgym calibrate mpi --launch \"mpirun -n 4\" --sizes \"64B..4MiB x4\" -o "
          "measured.csv\n"
          "      every algorithm of OpenMPI, with and without segments, and its own choice\n"
          "  cclgym calibrate mpi --launch \"scripts/netlab mpirun\" --system netlab -o "
          "netlab.csv\n"
          "      between hosts that are network namespaces, with links of a known rate\n"
          "  cclgym calibrate nccl -o nccl.csv\n"
          "      NCCL's algorithms, protocols and channels over all GPUs of this machine\n"
          "  cclgym calibrate cuda -o gpu.csv\n"
          "      the parameters of a single GPU: launches, steps, rates of thread blocks\n"
          "  (the same command continues a sweep that was stopped or killed)",
      .run = calibrate,
      .modes = {{"mpi"}, {"nccl"}, {"cuda"}}};
  return command;
}

}  // namespace cclgym
