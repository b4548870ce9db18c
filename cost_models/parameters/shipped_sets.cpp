#include "cost_models/parameters/shipped_sets.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view parameters_a100;
extern const std::string_view parameters_a100_abci;
extern const std::string_view parameters_a100_mscclpp;
extern const std::string_view parameters_a100_perlmutter;
extern const std::string_view parameters_a100_slingshot;
extern const std::string_view parameters_a100_slingshot_software;
extern const std::string_view parameters_a100_tcp;
extern const std::string_view parameters_a10g_tcp;
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

// Condition under which `auto` selects a set.
enum class Use : std::uint8_t { Gpu, Fabric, ByName };

// A shipped parameter set and the GPUs or fabrics that it describes.
struct ShippedSet {
  std::string_view name;
  const std::string_view* text;
  std::vector<std::string> gpu_models;      // none: processes without GPUs
  Use use = Use::Gpu;                       // Use::Gpu: every fabric with these GPUs
  std::vector<std::string_view> fabrics{};  // Use::Fabric: only these
};

const std::vector<ShippedSet>& shipped_sets() {
  static const std::vector<ShippedSet> sets{
      {"a100", &embedded::parameters_a100, {"A100"}},
      {"a100-abci", &embedded::parameters_a100_abci, {"A100"}, Use::Fabric, {"abci-a"}},
      // Another software than NCCL and MSCCL.
      {"a100-mscclpp", &embedded::parameters_a100_mscclpp, {"A100"}, Use::ByName},
      {"a100-perlmutter",
       &embedded::parameters_a100_perlmutter,
       {"A100"},
       Use::Fabric,
       {"perlmutter"}},
      {"a100-slingshot", &embedded::parameters_a100_slingshot, {"A100"}, Use::Fabric, {"polaris"}},
      // The plugin's setting FI_CXI_RX_MATCH_MODE=software.
      {"a100-slingshot-software",
       &embedded::parameters_a100_slingshot_software,
       {"A100"},
       Use::ByName},
      {"a100-tcp", &embedded::parameters_a100_tcp, {"A100"}, Use::Fabric, {"a100-tcp"}},
      {"a10g-tcp", &embedded::parameters_a10g_tcp, {"A10G"}},
      {"gh200", &embedded::parameters_gh200, {"GH200"}},
      // The H200 is an H100 with more memory.
      {"h100", &embedded::parameters_h100, {"H100", "H200"}},
      // One cluster whose network is slower than its NICs.
      {"h100-cluster00", &embedded::parameters_h100_cluster00, {"H100", "H200"}, Use::ByName},
      {"h100-mscclpp", &embedded::parameters_h100_mscclpp, {"H100", "H200"}, Use::ByName},
      {"mi250x", &embedded::parameters_mi250x, {"MI250X"}},
      {"mi250x-slingshot",
       &embedded::parameters_mi250x_slingshot,
       {"MI250X"},
       Use::Fabric,
       {"frontier"}},
      {"mi300x", &embedded::parameters_mi300x, {"MI300X"}},
      {"mi50", &embedded::parameters_mi50, {"MI50"}},
      {"openmpi-tcp", &embedded::parameters_openmpi_tcp, {}, Use::Fabric, {"ethernet"}},
      {"v100", &embedded::parameters_v100, {"V100"}},
      {"v100-abci", &embedded::parameters_v100_abci, {"V100"}, Use::Fabric, {"abci-v"}},
  };
  return sets;
}

template <class Name>
bool among(const std::vector<Name>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool describes(const std::vector<std::string>& gpu_models, const Fabric& fabric) {
  return fabric.gpu_model().empty() ? gpu_models.empty() : among(gpu_models, fabric.gpu_model());
}

// The set for a fabric: the set for this fabric by name if there is one, else the set for its GPU.
const ShippedSet* set_of(const Fabric& fabric) {
  const ShippedSet* found = nullptr;
  for (const ShippedSet& set : shipped_sets()) {
    if (!describes(set.gpu_models, fabric)) continue;
    if (set.use == Use::Fabric && among(set.fabrics, fabric.name())) return &set;
    if (set.use == Use::Gpu) found = &set;
  }
  return found;
}

// The set of the GPU that is nearest to that of the fabric; null if the fabric does not say its
// GPU.
const ShippedSet* nearest_set(const Fabric& fabric) {
  const GpuModel* const gpu = find_gpu_model(fabric.gpu_model());
  if (gpu == nullptr) return nullptr;
  const auto set_for = [](const GpuModel& model) {
    const auto found = std::ranges::find_if(shipped_sets(), [&](const ShippedSet& set) {
      return set.use == Use::Gpu && among(set.gpu_models, model.name);
    });
    return found == shipped_sets().end() ? nullptr : &*found;
  };
  const std::vector<const GpuModel*> nearest = nearest_gpu_models(
      gpu_kind(*gpu), [&](const GpuModel& model) { return set_for(model) != nullptr; });
  return nearest.empty() ? nullptr : set_for(*nearest.front());
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
    if (!set.model.hockney && !gpus.empty() && !describes(set.model.gpu_models, fabric)) {
      set.model.misfit = "not of " + gpus;
    }
    return set;
  }
  const ShippedSet* shipped = set_of(fabric);
  const bool own = shipped != nullptr;
  if (!own) shipped = nearest_set(fabric);
  ParameterSet set = shipped_parameter_set(shipped != nullptr ? shipped->name : "hockney");
  if (!own) {
    set.model.misfit = gpus.empty() ? std::string(kNoGpuModel) : std::string(kNoSetFor) + gpus;
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
    return fmt::format(
        "no parameter set was fitted to the {} of fabric '{}', so {}, that of {}, stands for it: "
        "{}; name a cost model to choose another, or to avoid this warning",
        fabric.gpu_model(), fabric.name(), model.name, of, kStandInText);
  }
  return fmt::format("cost model {} stands for {}, but fabric '{}' has {}", model.name, of,
                     fabric.name(), fabric.gpu_model());
}

}  // namespace cclgym
