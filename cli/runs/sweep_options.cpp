#include "cli/runs/sweep_options.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output/json_output.hpp"
#include "cli/support/interrupt.hpp"
#include "cli/support/print.hpp"
#include "core/progress.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

const OptionSpec kSeed{.name = "seed",
                       .kind = OptionKind::Integer,
                       .description = "seed of the order of the cells",
                       .min = 0,
                       .max = 1e15,
                       .default_text = "1"};
const OptionSpec kWarmup{.name = "warmup",
                         .kind = OptionKind::Integer,
                         .description = "number of calls per cell before the measured ones",
                         .min = 1,
                         .max = 1e6,
                         .default_text = "20"};
const OptionSpec kRepeats{.name = "repeats",
                          .kind = OptionKind::Integer,
                          .description = "number of measured calls per cell",
                          .min = 1,
                          .max = 1e6,
                          .default_text = "50"};
const OptionSpec kMostTime{
    .name = "time-per-cell",
    .kind = OptionKind::Time,
    .description = "time after which a cell with at least 5 repeats is not repeated further",
    .max = 1e6,
    .default_text = "2s"};
const OptionSpec kTimeout{
    .name = "timeout",
    .kind = OptionKind::Time,
    .description = "time after which a hanging cell, or a worker that does not start, is killed",
    .max = 1e6,
    .exclusive_min = true,
    .default_text = "60s"};

SweepOptions sweep_options(const Arguments& arguments, const std::string& path) {
  const auto time_s = [&](const OptionSpec& spec) {
    return read_time_s(arguments.text_or_default(spec), spec, argument_location(spec.name));
  };
  return {.path = path,
          .fresh = arguments.has("fresh"),
          .seed = static_cast<std::uint64_t>(arguments.integer(kSeed)),
          .warmup = static_cast<int>(arguments.integer(kWarmup)),
          .repeats = static_cast<int>(arguments.integer(kRepeats)),
          .most_s = time_s(kMostTime),
          .timeout_s = time_s(kTimeout),
          .start_s = time_s(kTimeout)};
}

}  // namespace

void add_sweep_options(ArgumentReader& reader) {
  reader.option(kWarmup, "N")
      .option(kRepeats, "N")
      .option(kMostTime, "T")
      .option(kTimeout, "T")
      .option(kSeed, "N")
      .flag("fresh", "delete existing rows")
      .flag("quiet", "print no progress");
}

void print_planned_sweep(const MeasurementBackend& backend, const Arguments& arguments,
                         const std::string& path, bool json) {
  const SweepOptions options = sweep_options(arguments, path);
  const SweepProgress planned = planned_sweep(backend, options);
  const double most_s = static_cast<double>(planned.total - planned.found) * options.most_s;
  if (json) {
    print_json({{"cells", planned.total}, {"done", planned.found}, {"most_s", most_s}});
    return;
  }
  print_out("cells     {}, of which {} are done\n", planned.total, planned.found);
  print_out(
      "time      at most about {}: {} per cell (--time-per-cell), besides starts and warm-up\n",
      duration_text(most_s), format_time(options.most_s));
}

SweepResult run_sweep(const MeasurementBackend& backend, const Arguments& arguments,
                      const std::string& path) {
  const SweepOptions options = sweep_options(arguments, path);
  const bool quiet = arguments.has("quiet");
  const bool terminal = standard_error_redraws();
  std::unique_ptr<InterruptNotice> interrupt;
  std::unique_ptr<Progress> progress;
  const SweepResult result = sweep(backend, options, [&](const SweepProgress& at) {
    if (!interrupt) {
      interrupt = std::make_unique<InterruptNotice>(at.total, terminal && !quiet);
      if (!quiet && at.found > 0) {
        print_error("resuming: {} of {} cells are done\n", at.found, at.total);
      }
      if (!quiet) progress = std::make_unique<Progress>(std::cerr, terminal, at.total, at.found);
    }
    interrupt->update(at.done);
    if (progress) progress->update(at.done);
  });
  if (progress) progress->leave_line();
  if (result.dropped_row) {
    print_error("note: the incomplete last row of {} was measured again\n", path);
  }
  if (!result.environment_note.empty()) {
    print_error("note: existing rows were measured elsewhere: {}\n", result.environment_note);
  }
  return result;
}

}  // namespace cclgym
