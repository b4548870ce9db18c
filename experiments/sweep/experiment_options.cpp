#include "experiments/sweep/experiment_options.hpp"

#include <fmt/format.h>

#include "collectives/contract.hpp"
#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/parameter_file.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/call/config_options.hpp"
#include "sim/engine/engine.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

// The key of an axis, made from a key of a configuration.
OptionSpec axis_of(std::string_view key, const std::string& name, const std::string& description) {
  OptionSpec spec = config_option(key);
  spec.name = name;
  spec.shape = OptionShape::OneOrList;
  spec.description = description;
  return spec;
}

OptionSpec algorithms_option() {
  OptionSpec spec =
      axis_of("algorithm", "algorithms",
              "algorithms, each left out for collectives that it does not have, and tuners, which "
              "choose the configuration of each call (see \"A tuner\")");
  for (const TunerInfo& info : tuner_infos()) spec.choices.push_back(info.form);
  return spec;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const EngineInfo& info : engine_infos()) names.push_back(info.name);
  return names;
}

std::vector<std::string> data_type_names() {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : data_types()) names.push_back(name);
  return names;
}

std::vector<OptionSpec> make_experiment_options() {
  return {
      {.name = "name",
       .description = "name of the experiment and of its folder under results/: letters, digits, "
                      "'.', '_' and '-'",
       .required = true},
      {.name = "description", .description = "purpose of the experiment, shown in the report"},
      {.name = "fabrics",
       .shape = OptionShape::OneOrList,
       .description = "fabrics: each a name, the path of a file (docs/fabrics.md; relative to the "
                      "folder of this file), or a mapping with the keys under \"A fabric\"",
       .required = true},
      {.name = "collectives",
       .kind = OptionKind::Choice,
       .shape = OptionShape::OneOrList,
       .description = "names of collectives",
       .required = true,
       .choices = collective_names()},
      algorithms_option(),
      axis_of("protocol", "protocols", "protocols (without effect under cost model hockney)"),
      axis_of("channels", "channels", "numbers of channels; also ranges, \"1..32 x2\""),
      axis_of("instances", "instances",
              "numbers of copies of the program, each with its part of every chunk on "
              "channels of its own (MSCCL's parallelisation r); also ranges"),
      axis_of("threads", "threads", "numbers of threads per thread block; also ranges"),
      {.name = "sizes",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::OneOrList,
       .description =
           "collective sizes as nccl-tests counts them (the larger of a rank's send and receive "
           "buffers); also ranges, \"1KiB..1GiB x2\". Each must be a multiple of the element size, "
           "times the number of ranks if a buffer has one slice per rank",
       .min = 1,
       .required = true},
      axis_of("tile", "tile",
              "max sizes of the tiles in which chunks move; protocol: that of each protocol, as in "
              "NCCL; none: chunks move whole; also ranges"),
      axis_of("slots", "slots",
              "max numbers of messages on a connection; protocol: that of each protocol, as in "
              "NCCL; none: unlimited; also ranges"),
      {.name = "only",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::OneOrList,
       .description = "combinations to which the algorithms named here are restricted (see \"Not "
                      "every combination\")"},
      {.name = "datatype",
       .kind = OptionKind::Choice,
       .description = "data type of the elements; sizes are multiples of the element size",
       .default_text = "float32",
       .choices = data_type_names()},
      {.name = "root",
       .kind = OptionKind::Integer,
       .description = "root rank of broadcast, reduce, gather and scatter",
       .min = 0,
       .max = 999'999,
       .default_text = "0"},
      {.name = "seeds",
       .kind = OptionKind::Integer,
       .shape = OptionShape::OneOrList,
       .description = "seeds of the random draws of the noise and of the cost model, one cell per "
                      "seed; also ranges",
       .min = 0,
       .default_text = "1"},
      {.name = "repetitions",
       .kind = OptionKind::Integer,
       .description = "number of simulations per cell, whose median, min and max times are in the "
                      "results; cells without random draws are simulated once",
       .min = 1,
       .max = 1'000'000,
       .default_text = "1"},
      {.name = "time_of",
       .kind = OptionKind::Choice,
       .description =
           "part of a call that the times are of: the call, or its kernels with "
           "messages between nodes alone (only collectives over levels, on several nodes)",
       .default_text = "call",
       .choices = {"call", "across-nodes"}},
      {.name = "legal",
       .kind = OptionKind::Choice,
       .description = "configurations that compete for the best: those that NCCL itself offers on "
                      "the fabric (nccl; all where it offers none of them), or any",
       .default_text = "nccl",
       .choices = {"nccl", "any"}},
      {.name = "cost_model",
       .description =
           "cost model: a name (" + fmt::format("{}", fmt::join(cost_model_names(), ", ")) +
           "), the path of a parameter file (*.yaml), auto (the set for the fabric, otherwise for "
           "its GPU or the nearest GPU; hockney if it states none), or a mapping with the keys "
           "under "
           "\"A cost model\"",
       .default_text = "auto"},
      {.name = "noise",
       .shape = OptionShape::OneOrList,
       .description = "noise profiles, each applied to every fabric: none, cloud-ib, or the path "
                      "of a profile (*.yaml, relative to the folder of this file)",
       .default_text = "none"},
      {.name = "engine",
       .kind = OptionKind::Choice,
       .description = "simulation engine",
       .default_text = engine_infos().front().name,
       .choices = engine_names()},
      {.name = "baseline",
       .kind = OptionKind::Mapping,
       .description = "configuration to which speedups are relative (see \"The baseline\")"},
      {.name = "timeline",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::OneOrList,
       .description = "cells for which timelines are written (see \"A timeline\")"},
      {.name = "measured",
       .shape = OptionShape::OneOrList,
       .description = "CSV files (relative to the folder of this file) with measured times to show "
                      "beside the simulated ones"},
      {.name = "measured_speedup",
       .kind = OptionKind::Mapping,
       .description = "measured speedup to show beside the simulated speedup over the baseline "
                      "(see \"Measured times\")"},
      {.name = "published",
       .shape = OptionShape::OneOrList,
       .description = "CSV files (relative to the folder of this file) with published speedups to "
                      "compare the simulated ones with"},
  };
}

std::vector<OptionSpec> make_timeline_options() {
  return {
      {.name = "fabric", .description = "label of one of the experiment's fabrics"},
      {.name = "collective", .description = "one of the experiment's collectives"},
      {.name = "algorithm", .description = "one of the experiment's algorithms or tuners"},
      {.name = "protocol", .description = "one of the experiment's protocols"},
      {.name = "channels",
       .kind = OptionKind::Integer,
       .description = "one of the experiment's numbers of channels"},
      {.name = "instances",
       .kind = OptionKind::Integer,
       .description = "one of the experiment's numbers of instances"},
      {.name = "threads",
       .kind = OptionKind::Integer,
       .description = "one of the experiment's numbers of threads"},
      {.name = "tile",
       .kind = OptionKind::Bytes,
       .description = "one of the experiment's tile sizes, protocol or none"},
      {.name = "slots",
       .kind = OptionKind::Integer,
       .description = "one of the experiment's numbers of slots, protocol or none"},
      {.name = "size", .kind = OptionKind::Bytes, .description = "one of the experiment's sizes"},
  };
}

std::vector<OptionSpec> make_baseline_options() {
  std::vector<OptionSpec> specs;
  for (const OptionSpec& spec : timeline_options()) {
    if (spec.name != "fabric" && spec.name != "collective" && spec.name != "size") {
      specs.push_back(spec);
    }
  }
  return specs;
}

std::vector<OptionSpec> make_cost_model_choice_options() {
  std::vector<OptionSpec> specs{
      {.name = "base",
       .description = "cost model whose values are overridden: a name, a path or auto",
       .default_text = "auto"}};
  for (OptionSpec spec : cost_model_options()) {
    if (spec.name == "name" || spec.name == "description" || spec.name == "fitted_to") continue;
    spec.required = false;
    spec.default_text.clear();  // a value that is not given stays as in the base
    specs.push_back(spec);
  }
  return specs;
}

}  // namespace

const std::vector<OptionSpec>& experiment_options() {
  static const std::vector<OptionSpec> specs = make_experiment_options();
  return specs;
}

const OptionSpec& experiment_option(std::string_view key) {
  return find_option(experiment_options(), key);
}

const std::vector<OptionSpec>& baseline_options() {
  static const std::vector<OptionSpec> specs = make_baseline_options();
  return specs;
}

const std::vector<OptionSpec>& timeline_options() {
  static const std::vector<OptionSpec> specs = make_timeline_options();
  return specs;
}

const std::vector<OptionSpec>& cost_model_choice_options() {
  static const std::vector<OptionSpec> specs = make_cost_model_choice_options();
  return specs;
}

const std::vector<std::pair<std::string, int>>& data_types() {
  static const std::vector<std::pair<std::string, int>> types{
      {"int8", 1},   {"uint8", 1},   {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"f8e4m3", 1},
      {"f8e5m2", 1}, {"float16", 2}, {"half", 2},     {"fp16", 2},     {"bfloat16", 2},
      {"bf16", 2},   {"int32", 4},   {"uint32", 4},   {"float32", 4},  {"float", 4},
      {"fp32", 4},   {"int64", 8},   {"uint64", 8},   {"float64", 8},  {"double", 8},
      {"fp64", 8}};
  return types;
}

}  // namespace cclgym
