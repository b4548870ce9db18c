#include "cost_models/parameters/shipped_sets.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <optional>

#include "core/error.hpp"
#include "cost_models/parameters/cost_parameters.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view parameters_a100;
extern const std::string_view parameters_a100_abci;
extern const std::string_view parameters_a100_efa;
extern const std::string_view parameters_a100_mscclpp;
extern const std::string_view parameters_a100_slingshot;
extern const std::string_view parameters_a100_slingshot_software;
extern const std::string_view parameters_a100_tcp;
extern const std::string_view parameters_a10g_tcp;
extern const std::string_view parameters_b200;
extern const std::string_view parameters_gh200;
extern const std::string_view parameters_h100;
extern const std::string_view parameters_h100_cluster00;
extern const std::string_view parameters_h100_mscclpp;
extern const std::string_view parameters_mi250x;
extern const std::string_view parameters_mi250x_slingshot;
extern const std::string_view parameters_mi300x;
extern const std::string_view parameters_mi50;
extern const std::string_view parameters_openmpi_tcp;
extern const std::string_view parameters_v100;
extern const std::string_view parameters_v100_abci;
}  // namespace embedded

namespace {

// A shipped parameter set, and the GPUs and the network that it describes.
struct ShippedSet {
  std::string_view name;
  const std::string_view* text;
  std::vector<std::string> gpu_models;      // none: processes without GPUs
  std::optional<NetworkKind> network = {};  // nullopt: `auto` takes it only if a fabric says so
  // False: its costs inside a node hold for this network alone.
  bool for_other_networks = true;
};

const std::vector<ShippedSet>& shipped_sets() {
  using enum NetworkKind;
  static const std::vector<ShippedSet> sets{
      {"a100", &embedded::parameters_a100, {"A100"}, InfiniBand},
      // One cluster, whose network is slower than its NICs.
      {"a100-abci", &embedded::parameters_a100_abci, {"A100"}},
      {"a100-efa", &embedded::parameters_a100_efa, {"A100"}, Efa},
      // Another software than NCCL and MSCCL.
      {"a100-mscclpp", &embedded::parameters_a100_mscclpp, {"A100"}},
      {"a100-slingshot", &embedded::parameters_a100_slingshot, {"A100"}, Slingshot},
      // The plugin's setting FI_CXI_RX_MATCH_MODE=software.
      {"a100-slingshot-software", &embedded::parameters_a100_slingshot_software, {"A100"}},
      // Two sets with iterations that compute, too.
      {"a100-tcp", &embedded::parameters_a100_tcp, {"A100"}, Tcp, false},
      {"a10g-tcp", &embedded::parameters_a10g_tcp, {"A10G"}, Tcp, false},
      {"b200", &embedded::parameters_b200, {"B200"}, InfiniBand},
      {"gh200", &embedded::parameters_gh200, {"GH200"}, Slingshot},
      // The H200 is an H100 with more memory.
      {"h100", &embedded::parameters_h100, {"H100", "H200"}, InfiniBand},
      // One cluster whose network is slower than its NICs.
      {"h100-cluster00", &embedded::parameters_h100_cluster00, {"H100", "H200"}},
      {"h100-mscclpp", &embedded::parameters_h100_mscclpp, {"H100", "H200"}},
      {"mi250x", &embedded::parameters_mi250x, {"MI250X"}, InfiniBand},
      {"mi250x-slingshot", &embedded::parameters_mi250x_slingshot, {"MI250X"}, Slingshot},
      {"mi300x", &embedded::parameters_mi300x, {"MI300X"}, InfiniBand},
      {"mi50", &embedded::parameters_mi50, {"MI50"}, InfiniBand},
      {"openmpi-tcp", &embedded::parameters_openmpi_tcp, {}, Tcp},
      {"v100", &embedded::parameters_v100, {"V100"}, InfiniBand},
      {"v100-abci", &embedded::parameters_v100_abci, {"V100"}},
  };
  return sets;
}

bool among(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool describes(const std::vector<std::string>& gpu_models, const std::string& gpu) {
  return gpu.empty() ? gpu_models.empty() : among(gpu_models, gpu);
}

const ShippedSet* find_set(std::string_view gpu, const std::function<bool(const ShippedSet&)>& is) {
  const auto found = std::ranges::find_if(shipped_sets(), [&](const ShippedSet& set) {
    return set.network && describes(set.gpu_models, std::string(gpu)) && is(set);
  });
  return found == shipped_sets().end() ? nullptr : &*found;
}

// The set of the GPU that is nearest to this one among the sets that fit; null if none does.
const ShippedSet* nearest_set(const GpuModel& gpu,
                              const std::function<bool(const ShippedSet&)>& is) {
  const std::vector<const GpuModel*> nearest = nearest_gpu_models(
      gpu_kind(gpu), [&](const GpuModel& model) { return find_set(model.name, is) != nullptr; });
  return nearest.empty() ? nullptr : find_set(nearest.front()->name, is);
}

// The sets from which a fabric takes its costs inside a node and those of its network.
struct SetsOfFabric {
  const ShippedSet* inside = nullptr;
  const ShippedSet* network = nullptr;
};

// The set that was fitted to these GPUs on this network or, if there is none, what is nearest: the
// set of the GPU, or of the nearest GPU, and the network of the nearest GPU that was measured on
// such a network (docs/cost-models.md has the errors of left-out GPUs). Nothing if the fabric does
// not say its GPU.
SetsOfFabric sets_of(const Fabric& fabric) {
  const std::string& gpus = fabric.gpu_model();
  const auto on_network = [&](const ShippedSet& set) { return set.network == fabric.network(); };
  const auto inside = [](const ShippedSet& set) { return set.for_other_networks; };
  const auto both = [&](const ShippedSet& set) { return on_network(set) && inside(set); };
  if (const ShippedSet* const own = find_set(gpus, on_network)) return {own, own};
  // One node has no messages between nodes.
  const bool one_node = fabric.servers() == 1 && !gpus.empty();
  if (const ShippedSet* const own = one_node ? find_set(gpus, inside) : nullptr) return {own, own};
  const GpuModel* const gpu = find_gpu_model(gpus);
  if (gpu == nullptr) return {};
  SetsOfFabric sets{.inside = find_set(gpus, inside)};
  if (sets.inside == nullptr) sets.inside = nearest_set(*gpu, both);
  if (sets.inside == nullptr) sets.inside = nearest_set(*gpu, inside);
  if (one_node) return {sets.inside, sets.inside};
  sets.network = nearest_set(*gpu, on_network);
  // A socket, for instance, does not ask who made the GPU.
  if (sets.network == nullptr) {
    const auto any = std::ranges::find_if(shipped_sets(), [&](const ShippedSet& set) {
      return on_network(set) && !set.gpu_models.empty();
    });
    sets.network = any == shipped_sets().end() ? sets.inside : &*any;
  }
  return sets;
}

constexpr char kComposes = '+';

// The set `inside` with the costs of messages between nodes of the set `network`.
ParameterSet composed(ParameterSet inside, const ParameterSet& network) {
  const std::string name = inside.model.name + kComposes + network.model.name;
  const auto origin = [](const ParameterSet& set, const std::string& parameter) {
    return fmt::format("taken over from set {}: {}", set.model.name, set.source_of(parameter));
  };
  for (const CostParameter& parameter : cost_parameters()) {
    const ParameterSet& from = parameter.network ? network : inside;
    if (const std::optional<double> value = parameter.get(from.model)) {
      if (parameter.network) parameter.set(inside.model, *value);
      inside.sources[parameter.name] = origin(from, parameter.name);
    } else if (parameter.network && parameter.get(inside.model)) {
      parameter.set(inside.model, ProtocolCost::kUnlimited);
      inside.sources.erase(parameter.name);
    }
  }
  inside.model.mpi = network.model.mpi;
  inside.model.matching = network.model.matching;
  inside.model.description =
      fmt::format("inside a node {}; between nodes {}", inside.model.name, network.model.name);
  inside.model.name = name;
  inside.unmeasured = "its values come from sets of other machines";
  if (inside.fitted_to && network.fitted_to) {
    inside.fitted_to->insert(inside.fitted_to->end(), network.fitted_to->begin(),
                             network.fitted_to->end());
  } else {
    inside.fitted_to.reset();
  }
  return inside;
}

constexpr std::string_view kOver = " over ";

std::string_view network_text(const Fabric& fabric) {
  return fabric.network() == NetworkKind::Other ? "another network" : to_string(fabric.network());
}

constexpr std::string_view kNoGpuModel = "no GPU model";
constexpr std::string_view kNoSetFor = "no set for ";

}  // namespace

const std::vector<std::string>& cost_model_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"hockney"};
    for (const ShippedSet& set : shipped_sets()) all.emplace_back(set.name);
    return all;
  }();
  return names;
}

ParameterSet shipped_parameter_set(std::string_view name) {
  if (name == "hockney") {
    CostModel model;
    model.name = "hockney";
    model.description = "alpha + L * beta by the fabric's links alone: the oracle";
    model.hockney = true;
    return {.model = std::move(model), .fitted_to = std::vector<FittedRows>{}};
  }
  if (const std::size_t plus = name.find(kComposes); plus != std::string_view::npos) {
    return composed(shipped_parameter_set(name.substr(0, plus)),
                    shipped_parameter_set(name.substr(plus + 1)));
  }
  for (const ShippedSet& set : shipped_sets()) {
    if (name != set.name) continue;
    ParameterSet read =
        read_parameter_set(parse_yaml(*set.text, std::string(name) + ".yaml (built in)"));
    read.model.gpu_models = set.gpu_models;
    return read;
  }
  throw UserError(unknown_name_message("cost model", name, cost_model_names()));
}

CostModel shipped_cost_model(std::string_view name) { return shipped_parameter_set(name).model; }

ParameterSet parameter_set_for(std::string_view name, const Fabric& fabric) {
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    return load_parameter_set(std::string(name));
  }
  const std::string& gpus = fabric.gpu_model();
  if (name != "auto") {
    ParameterSet set = shipped_parameter_set(name);
    // hockney describes no GPU, and only the user knows the GPUs of a fabric that does not state
    // them.
    if (!set.model.hockney && !gpus.empty() && !describes(set.model.gpu_models, gpus)) {
      set.model.misfit = "not of " + gpus;
    }
    return set;
  }
  if (!fabric.cost_model().empty()) return parameter_set_for(fabric.cost_model(), fabric);
  const auto [inside, network] = sets_of(fabric);
  if (inside == nullptr) {
    ParameterSet set = shipped_parameter_set("hockney");
    set.model.misfit = kNoGpuModel;
    return set;
  }
  std::string its_name(inside->name);
  if (network != inside) its_name += kComposes + std::string(network->name);
  ParameterSet set = shipped_parameter_set(its_name);
  if (!describes(set.model.gpu_models, gpus)) {
    set.model.misfit = std::string(kNoSetFor) + gpus;
  } else if (fabric.servers() > 1 && inside->network != fabric.network()) {
    set.model.misfit = fmt::format("{}{}{}{}", kNoSetFor, gpus, kOver, network_text(fabric));
  }
  return set;
}

CostModel cost_model_for(std::string_view name, const Fabric& fabric) {
  return parameter_set_for(name, fabric).model;
}

std::string cost_model_warning(const CostModel& model, const Fabric& fabric) {
  if (model.misfit.empty()) return {};
  if (model.hockney) {
    return fmt::format(
        "fabric '{}' does not say which GPUs it has, so cost model hockney is used: times depend "
        "on the latencies and bandwidths of links alone, not on launches, protocols or thread "
        "blocks; name a cost model to choose another, or name hockney to avoid this warning",
        fabric.name());
  }
  const std::string of = model.gpu_models.empty()
                             ? "processes that have no GPUs"
                             : fmt::format("{}", fmt::join(model.gpu_models, " and "));
  if (model.misfit.starts_with(kNoSetFor)) {
    const bool composed = model.name.find(kComposes) != std::string::npos;
    const bool networks = composed || model.misfit.find(kOver) != std::string::npos;
    return fmt::format(
        "no parameter set was fitted to {}, so {} stands for it: {}; name a cost model to choose "
        "another (hockney and files of your own have no such warning)",
        networks ? fmt::format("the {} of fabric '{}' over {}", fabric.gpu_model(), fabric.name(),
                               network_text(fabric))
                 : fmt::format("the {} of fabric '{}'", fabric.gpu_model(), fabric.name()),
        composed ? fmt::format("{}, which takes its network from another set,", model.name)
                 : fmt::format("{}, that of {},", model.name, of),
        kStandInText);
  }
  return fmt::format("cost model {} stands for {}, but fabric '{}' has {}", model.name, of,
                     fabric.name(), fabric.gpu_model());
}

}  // namespace cclgym
