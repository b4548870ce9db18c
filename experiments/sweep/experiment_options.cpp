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

// A key of a configuration, as an axis of this name.
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
              "the algorithms; one that does not have a collective is left out there. Also "
              "tuners, which choose the configuration of each call, see \"A tuner\"");
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
      {.name = "description", .description = "what it is for; shown in the report"},
      {.name = "fabrics",
       .shape = OptionShape::OneOrList,
       .description = "the fabrics: a name, a path of a fabric file (*.yaml, seen from the folder "
                      "of this file), or a mapping with the keys under \"A fabric\"",
       .required = true},
      {.name = "collectives",
       .kind = OptionKind::Choice,
       .shape = OptionShape::OneOrList,
       .description = "the collectives",
       .required = true,
       .choices = collective_names()},
      algorithms_option(),
      axis_of("protocol", "protocols", "the protocols (without effect under cost model hockney)"),
      axis_of("channels", "channels", "numbers of channels; also ranges, \"1..32 x2\""),
      axis_of("instances", "instances",
              "numbers of copies of the whole program, each with its part of every chunk on "
              "channels of its own (MSCCL's parallelisation r); also ranges"),
      axis_of("threads", "threads", "threads of a thread block; also ranges"),
      {.name = "sizes",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::OneOrList,
       .description = "sizes of a call as nccl-tests counts them (the larger of a rank's send and "
                      "receive buffer); also ranges, \"1KiB..1GiB x2\". Each must be a multiple of "
                      "an element, times the ranks where a buffer has a slice per rank",
       .min = 1,
       .required = true},
      axis_of("tile", "tile",
              "largest tiles that chunks are moved in, or protocol (what the cost model states "
              "for the protocol); 0B: chunks move whole; also ranges"),
      axis_of("slots", "slots",
              "messages that a connection holds, or protocol; 0: any number; also ranges"),
      {.name = "only",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::OneOrList,
       .description = "restricts the algorithms named here to these combinations, see \"Not every "
                      "combination\""},
      {.name = "datatype",
       .kind = OptionKind::Choice,
       .description = "type of an element: what sizes must be multiples of",
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
       .description =
           "seeds of the random draws of the noise and of the cost model, each a cell of "
           "its own; also ranges",
       .min = 0,
       .default_text = "1"},
      {.name = "repetitions",
       .kind = OptionKind::Integer,
       .description = "simulations of each cell, of which results give median, minimum and maximum "
                      "time; one is made where nothing is drawn at random",
       .min = 1,
       .max = 1'000'000,
       .default_text = "1"},
      {.name = "cost_model",
       .description = "a cost model (" + fmt::format("{}", fmt::join(cost_model_names(), ", ")) +
                      "), the path of a parameter file (*.yaml), auto (the set for the fabric or "
                      "else for its GPU, or else hockney), or a mapping with the keys under \"A "
                      "cost model\"",
       .default_text = "auto"},
      {.name = "noise",
       .shape = OptionShape::OneOrList,
       .description = "noise that every fabric is under in turn: none, cloud-ib, or the path of a "
                      "profile (*.yaml, seen from the folder of this file)",
       .default_text = "none"},
      {.name = "engine",
       .kind = OptionKind::Choice,
       .description = "the simulation engine",
       .default_text = engine_infos().front().name,
       .choices = engine_names()},
      {.name = "baseline",
       .kind = OptionKind::Mapping,
       .description = "the configuration that speedups are against, see \"The baseline\""},
      {.name = "timeline",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::OneOrList,
       .description = "cells to write a timeline of, see \"A timeline\""},
      {.name = "measured",
       .shape = OptionShape::OneOrList,
       .description = "CSV files (seen from the folder of this file) with measured times to show "
                      "beside the simulated ones"},
      {.name = "measured_speedup",
       .kind = OptionKind::Mapping,
       .description = "measured speedup to show beside the simulated one over the baseline, see "
                      "\"Measured times\""},
      {.name = "published",
       .shape = OptionShape::OneOrList,
       .description = "CSV files (seen from the folder of this file) with published speedups to "
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
       .description = "one of the experiment's channels"},
      {.name = "instances",
       .kind = OptionKind::Integer,
       .description = "one of the experiment's instances"},
      {.name = "threads",
       .kind = OptionKind::Integer,
       .description = "one of the experiment's threads"},
      {.name = "tile",
       .kind = OptionKind::Bytes,
       .description = "one of the experiment's tiles, or protocol"},
      {.name = "slots",
       .kind = OptionKind::Integer,
       .description = "one of the experiment's slots, or protocol"},
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
       .description = "the cost model to start from: a name, a path or auto",
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
      {"int8", 1},   {"uint8", 1},   {"float16", 2}, {"bfloat16", 2}, {"int32", 4},
      {"uint32", 4}, {"float32", 4}, {"int64", 8},   {"uint64", 8},   {"float64", 8}};
  return types;
}

}  // namespace cclgym
