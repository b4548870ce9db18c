// Fabrics, and simulations of single calls.
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

#include "core/yaml/yaml.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "experiments/sweep/experiment_options.hpp"
#include "python/bindings.hpp"
#include "python/python_fabric.hpp"
#include "sim/analysis.hpp"
#include "sim/call/config_options.hpp"
#include "sim/noise/noise_warning.hpp"
#include "sim/simulator.hpp"
#include "sim/timeline.hpp"
#include "sim/tuners/tuner.hpp"
#include "topology_models/describe/describe.hpp"
#include "topology_models/metrics/metrics.hpp"

namespace py = pybind11;

namespace cclgym::bindings {
namespace {

PythonFabric make_python_fabric(const std::string& json) {
  const YamlValue value = parse_yaml(json, "fabric");
  try {
    const FabricSpec spec = read_fabric_spec(value);
    auto fabric = make_fabric(spec);
    std::string label = fabric_label(spec, *fabric);
    return {std::move(fabric), std::move(label)};
  } catch (const UserError& error) {
    const std::string place = value.location().to_string();
    if (std::string_view(error.what()).starts_with(place)) throw;
    throw UserError(error.what());
  }
}

py::list nodes_of(const Fabric& fabric) {
  py::list nodes;
  for (const Node& node : fabric.nodes()) {
    nodes.append(py::dict(py::arg("name") = node.name,
                          py::arg("kind") = std::string(to_string(node.kind)),
                          py::arg("server") = node.server));
  }
  return nodes;
}

py::list links_of(const Fabric& fabric) {
  py::list links;
  for (const Link& link : fabric.links()) {
    const auto name = [&](NodeId node) {
      return fabric.nodes()[static_cast<std::size_t>(node)].name;
    };
    links.append(py::dict(
        py::arg("source") = name(link.source), py::arg("target") = name(link.target),
        py::arg("kind") = std::string(to_string(link.kind)), py::arg("latency_s") = link.latency_s,
        py::arg("capacity_Bps") = link.capacity_Bps()));
  }
  return links;
}

template <class T>
py::object or_none(const Computed<T>& computed) {
  return computed.value ? py::cast(*computed.value) : py::none();
}

py::dict metrics_of(const PythonFabric& self) {
  FabricMetrics metrics;
  {
    const py::gil_scoped_release release;
    metrics = fabric_metrics(*self.fabric);
  }
  py::object rounds = py::none();
  if (metrics.inverse_bisection.value) {
    rounds = py::module_::import("fractions")
                 .attr("Fraction")(metrics.inverse_bisection.value->numerator(),
                                   metrics.inverse_bisection.value->denominator());
  }
  return py::dict(py::arg("diameter") = or_none(metrics.diameter),
                  py::arg("link_unit_Bps") = or_none(metrics.link_unit_Bps),
                  py::arg("inverse_bisection") = rounds,
                  py::arg("bisection_Bps") = or_none(metrics.bisection_Bps),
                  py::arg("switch_hops") = or_none(metrics.switch_hops));
}

OptionSpec one_of(std::string_view key, const char* name) {
  OptionSpec spec = experiment_option(key);
  spec.name = name;
  spec.shape = OptionShape::One;
  return spec;
}

/// Keys of a call and its configuration.
const std::vector<OptionSpec>& call_options() {
  static const std::vector<OptionSpec> specs = [] {
    std::vector<OptionSpec> all = config_options();
    for (OptionSpec& spec : all) spec.required = false;  // a program has its own
    OptionSpec collective{.name = "collective",
                          .kind = OptionKind::Choice,
                          .description = "collective",
                          .choices = collective_names()};
    all.push_back(collective);
    all.push_back(one_of("sizes", "size"));
    all.push_back(one_of("root", "root"));
    all.push_back(one_of("datatype", "datatype"));
    return all;
  }();
  return specs;
}

const OptionSpec& call_option(std::string_view name) {
  for (const OptionSpec& spec : call_options()) {
    if (spec.name == name) return spec;
  }
  throw std::logic_error("no option of a call");
}

struct CallInput {
  Call call;
  Config config;
  std::string tuner;
};

// Rounds the size of the call as nccl-tests does.
void round_bytes(const YamlValue& mapping, Call& call, const Fabric& fabric) {
  const OptionSpec& type = call_option("datatype");
  const YamlValue named = option_value(mapping, type);
  const int element_bytes = data_types()[read_choice(named, type)].second;
  const std::uint64_t asked = call.bytes;
  call.bytes = rounded_size(call.collective, asked, fabric.ranks(), element_bytes);
  if (call.bytes == 0) {
    throw UserError(option_value(mapping, call_option("size")).location(),
                    check_size(call.collective, asked, fabric.ranks(), element_bytes));
  }
}

CallInput read_call(const YamlValue& mapping, const PythonFabric& fabric, const CostModel& model,
                    AlgorithmLibrary& library, const ThreadBlockProgram* program) {
  check_keys(mapping, call_options(), "simulate");
  CallInput input;
  const auto value = [&](std::string_view name) {
    return option_value(mapping, call_option(name));
  };
  const YamlValue size = value("size");
  if (size.is_null()) throw UserError("simulate: size is missing");
  input.call.bytes = read_bytes(size, call_option("size"));
  if (program != nullptr) {
    for (const char* key : {"collective", "algorithm", "channels", "instances", "root"}) {
      const YamlValue* given = find_value(mapping, call_option(key));
      if (given != nullptr && !given->is_null()) {
        throw UserError(given->location(),
                        fmt::format("{} comes with the program; leave it out", key));
      }
    }
    input.call.collective = program->contract.kind();
    input.call.root = program->contract.root();
    Config& config = input.config;
    config.algorithm = program->name;
    config.channels = program->channels;
    config.protocol =
        read_protocol(value("protocol").is_null() ? "Simple" : value("protocol").as_text(),
                      value("protocol").location());
    config.threads = static_cast<int>(read_integer(value("threads"), call_option("threads")));
    const auto text = [&](const char* key) { return value(key).as_text(); };
    config = with_tiles(model, input.call.collective, config,
                        read_tile(text("tile"), call_option("tile"), value("tile").location()),
                        read_slots(text("slots"), call_option("slots"), value("slots").location()));
    round_bytes(mapping, input.call, *fabric.fabric);
    return input;
  }
  if (value("collective").is_null()) throw UserError("simulate: collective is missing");
  input.call.collective =
      collective_named(value("collective").as_text(), value("collective").location());
  input.call.root = static_cast<int>(read_integer(value("root"), call_option("root")));
  const YamlValue* algorithm = find_value(mapping, call_option("algorithm"));
  if (algorithm == nullptr) throw UserError("simulate: algorithm is missing");
  if (is_tuner(algorithm->as_text())) {
    input.tuner = algorithm->as_text();
    for (const OptionSpec& option : config_options()) {
      const YamlValue* given = find_value(mapping, option);
      if (option.name == "algorithm" || given == nullptr) continue;
      throw UserError(given->location(),
                      fmt::format("{} is chosen by {}; leave it out", option.name, input.tuner));
    }
    round_bytes(mapping, input.call, *fabric.fabric);
    const auto tuner = make_tuner(input.tuner, {.fabric = fabric.fabric,
                                                .fabric_label = fabric.label,
                                                .cost_model = model,
                                                .where = algorithm->location(),
                                                .algorithms = library,
                                                .collectives = {input.call.collective}});
    library.add_all(tuner->algorithms());
    input.config = tuner->choose(input.call);
    return input;
  }
  library.add_spelled(algorithm->as_text(), algorithm->location());
  input.config = read_config(mapping, library).under(model, input.call.collective);
  round_bytes(mapping, input.call, *fabric.fabric);
  if (auto reason = check_config(library, input.call, input.config, fabric.fabric->ranks());
      !reason.empty()) {
    throw UserError(algorithm->location(), reason);
  }
  return input;
}

py::dict as_dict(const SimulationRecord& record, const Simulator& simulator, const CallInput& input,
                 const std::string& warning) {
  const Result& result = record.result;
  py::dict all(
      py::arg("fabric") = simulator.fabric().name(), py::arg("ranks") = simulator.fabric().ranks(),
      py::arg("collective") = std::string(to_string(record.call.collective)),
      py::arg("algorithm") = input.tuner.empty() ? record.config.algorithm : input.tuner,
      py::arg("program") = record.config.algorithm,
      py::arg("protocol") = std::string(to_string(record.config.protocol)),
      py::arg("channels") = record.config.channels, py::arg("instances") = record.config.instances,
      py::arg("threads") = record.config.threads, py::arg("size_bytes") = record.call.bytes,
      py::arg("cost_model") = simulator.cost_model().name,
      py::arg("noise") = simulator.noise().name,
      py::arg("engine") = std::string(simulator.engine_name()), py::arg("time_s") = result.time_s,
      py::arg("algbw_Bps") = result.algbw_Bps, py::arg("busbw_Bps") = result.busbw_Bps,
      py::arg("steps") = result.steps, py::arg("flows") = result.flows,
      py::arg("rank_time_s") = result.rank_time_s, py::arg("warning") = warning);
  py::list links;
  if (record.dated()) {
    const std::vector<LinkUse> uses = link_use(record, false);
    for (const std::size_t link : busiest_links(uses)) {
      links.append(py::dict(py::arg("link") = link_name(*record.lowered.fabric, link),
                            py::arg("bytes") = uses[link].bytes,
                            py::arg("rate_Bps") = uses[link].rate_Bps,
                            py::arg("capacity_Bps") = uses[link].capacity_Bps,
                            py::arg("busy_s") = uses[link].busy_s));
    }
  }
  all["links"] = links;
  return all;
}

py::dict simulate_call(const PythonFabric& fabric, const std::string& json,
                       const std::optional<Compiled>& compiled, const std::string& cost_model,
                       const std::string& engine, const std::string& noise, std::uint64_t seed,
                       const std::optional<std::string>& timeline) {
  const std::shared_ptr<const ThreadBlockProgram> program = compiled ? compiled->program : nullptr;
  std::optional<SimulationRecord> record;
  std::optional<Simulator> simulator;
  CallInput input;
  std::string warning;
  // SimGrid allows one engine in a process: without the lock, threads would have several.
  std::optional<py::gil_scoped_release> release;
  if (engine == "flow") release.emplace();
  const CostModel model = cost_model_for(cost_model, *fabric.fabric);
  for (const std::string& text : fabric.fabric->warnings()) warning += text + "; ";
  warning += cost_model_warning(model, *fabric.fabric);
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  input = read_call(parse_yaml(json, "call"), fabric, model, library, program.get());
  if (program && program->contract.ranks() != fabric.fabric->ranks()) {
    throw UserError(fmt::format("the program is for {} ranks; fabric '{}' has {}",
                                program->contract.ranks(), fabric.fabric->name(),
                                fabric.fabric->ranks()));
  }
  simulator.emplace(fabric.fabric, model, engine, library);
  if (noise != "none") simulator->set_noise(noise_profile_for(noise, {}));
  if (warning.empty()) warning = noise_warning(simulator->noise(), *fabric.fabric);
  record = program ? simulator->record_program(program, input.call, input.config, seed)
                   : simulator->record(input.call, input.config, seed);
  if (timeline) write_timeline_file(*timeline, *record, *fabric.fabric);
  release.reset();
  return as_dict(*record, *simulator, input, warning);
}

}  // namespace

void bind_simulations(py::module_& module) {
  py::class_<PythonFabric>(module, "Fabric")
      .def_property_readonly("name", [](const PythonFabric& self) { return self.fabric->name(); })
      .def_readonly("label", &PythonFabric::label)
      .def_property_readonly("ranks", [](const PythonFabric& self) { return self.fabric->ranks(); })
      .def_property_readonly("servers",
                             [](const PythonFabric& self) { return self.fabric->servers(); })
      .def_property_readonly("gpu_model",
                             [](const PythonFabric& self) { return self.fabric->gpu_model(); })
      .def("nodes", [](const PythonFabric& self) { return nodes_of(*self.fabric); })
      .def("links", [](const PythonFabric& self) { return links_of(*self.fabric); })
      .def("metrics", &metrics_of)
      .def("describe", [](const PythonFabric& self) { return describe_fabric(*self.fabric); })
      .def("dot", [](const PythonFabric& self) { return to_dot(*self.fabric); });
  module.def("fabric", &make_python_fabric);
  module.def("fabrics", [] {
    py::dict entries;
    for (const FabricInfo& info : fabric_infos()) entries[py::str(info.name)] = info.description;
    return entries;
  });
  module.def("simulate", &simulate_call);
}

}  // namespace cclgym::bindings
