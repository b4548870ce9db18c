#include "calibration/systems.hpp"

#include <array>
#include <charconv>
#include <fmt/core.h>

#include "core/error.hpp"

namespace cclgym {

namespace {

// "ar_allpair_ll_x_4", "ag_ring_simple_8_2": collective, algorithm, protocol, channels, instances
// of MSCCL programs (rouge3877/ns3-msccl-data).
std::optional<Config> named_config(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find('_');
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (parts.size() != 5 || (parts[0] != "ar" && parts[0] != "ag")) return std::nullopt;
  Config config;
  if (parts[1] == "allpair") {
    config.algorithm = "all-pairs";
  } else if (parts[1] == "ring") {
    config.algorithm = "ring";
  } else {
    return std::nullopt;
  }
  const auto protocol = parse_protocol(parts[2]);
  if (!protocol) return std::nullopt;
  config.protocol = *protocol;
  const auto number = [](std::string_view digits, int& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size() && value >= 1;
  };
  if (parts[3] != "x" && !number(parts[3], config.channels)) return std::nullopt;
  if (!number(parts[4], config.instances)) return std::nullopt;
  return config;
}

}  // namespace

const std::vector<MeasuredSystem>& measured_systems() {
  static const std::vector<MeasuredSystem> systems{
      {"ABCI-A100", "abci-a", "auto", "2.8.4", "AIST ABCI 2.0: servers of 8 A100, HDR InfiniBand"},
      {"ABCI-V100", "abci-v", "auto", "2.8.4", "AIST ABCI: servers of 4 V100, EDR InfiniBand"},
      {"Alps-GH200", "alps", "auto", "2.23.4", "CSCS Alps: servers of 4 GH200, Slingshot"},
      {"Azure-NDv4", "ndv4", "auto", "2.8.4", "one Azure NDv4 server: 8 A100 on NVSwitch"},
      {"H100-SXM-slice", "hgx-h100", "auto", "2.18.3", "4 of the 8 H100 of an HGX server"},
      {"H100-cluster", "hgx-h100", "auto", "2.29.2", "servers of 8 H100, NDR InfiniBand"},
      {"MI300Xx8", "mi300x", "auto", "", "one server of 8 MI300X; MSCCL programs"},
      {"Polaris", "polaris", "auto", "2.18", "ALCF Polaris: servers of 4 A100, Slingshot"},
  };
  return systems;
}

const MeasuredSystem& measured_system(std::string_view name) {
  std::vector<std::string> names;
  for (const MeasuredSystem& system : measured_systems()) {
    if (system.name == name) return system;
    names.push_back(system.name);
  }
  throw UserError(unknown_name_message("system", name, names));
}

MeasuredSystem own_system(std::string name, std::string fabric) {
  if (name.empty()) name = fabric;
  return {std::move(name), std::move(fabric), "auto", "", "a system of your own"};
}

FabricSpec fabric_of_row(const MeasuredSystem& system, const Measurement& row) {
  FabricSpec spec{.name = system.fabric};
  const FabricInfo* info = find_fabric_info(system.fabric);
  if (info == nullptr) return spec;  // a fabric file is as large as it is
  const auto option = [&](std::string_view name) -> const OptionSpec* {
    for (const OptionSpec& each : info->options) {
      if (each.name == name) return &each;
    }
    return nullptr;
  };
  if (row.nodes > 1) spec.servers = row.nodes;
  const int gpus = row.ranks / row.nodes;
  if (const OptionSpec* most = option("gpus_per_server");
      most != nullptr && (!most->max || gpus < static_cast<int>(*most->max))) {
    spec.gpus_per_server = gpus;
  }
  return spec;
}

RunPlan run_plan(const MeasuredSystem& system, const Measurement& row) {
  RunPlan plan{.cost_model = system.cost_model};
  if (system.name == "MI300Xx8") {
    plan.named = named_config(row.config);
    if (!plan.named) {
      plan.refusal = fmt::format("config {} names no program that is known", quoted(row.config));
    }
  } else if (system.name == "Azure-NDv4" && row.config == "msccl") {
    plan.refusal = "config 'msccl' does not say which of MSCCL's programs ran";
  } else if (system.name == "Polaris" && (row.config == "envset1" || row.config == "envset2")) {
    plan.refusal = fmt::format("config '{}' ran over TCP sockets, which no parameter set describes",
                               row.config);
  }
  return plan;
}

}  // namespace cclgym
