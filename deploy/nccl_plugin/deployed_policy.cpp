#include "deploy/nccl_plugin/deployed_policy.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/error.hpp"
#include "core/random.hpp"

namespace cclgym {

namespace {

const char* const kMachines = "tuner.machines";
const std::string kSizes = "tuner.sizes/";
const std::string kSeen = "tuner.seen/";

std::string place_name(const DeployedMachine& machine, std::size_t collective) {
  return machine.label + "/" + std::string(kNcclCollectiveNames[collective]);
}

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw UserError(name + ": " + what);
}

// Reads a line such as "16 2 ndv4 nodes=2": ranks, nodes, label.
DeployedMachine read_line(std::string_view line, const std::string& name) {
  DeployedMachine machine;
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (std::uint32_t* number : {&machine.ranks, &machine.nodes}) {
    const auto [next, error] = std::from_chars(at, end, *number);
    if (error != std::errc{} || next == end || *next != ' ' || *number == 0) {
      fail(name, "text 'tuner.machines': " + quoted(line) + "; expected 'RANKS NODES MACHINE'");
    }
    at = next + 1;
  }
  machine.label = std::string(at, end);
  if (machine.label.empty() || machine.nodes > machine.ranks) {
    fail(name, "text 'tuner.machines': " + quoted(line) + " is not a machine");
  }
  return machine;
}

DeployedGrid read_grid(const PolicyFile& file, const PolicyFileTable& sizes,
                       const std::string& place, const std::string& name) {
  const std::string label = "'" + place + "'";
  DeployedGrid grid;
  if (sizes.values.empty() || sizes.values.size() % 2 != 0 ||
      sizes.values.size() / 2 > kMostDeployedSizes) {
    fail(name, "table " + label + " is not a list of sizes");
  }
  for (std::size_t i = 0; i < sizes.values.size(); i += 2) {
    grid.sizes.push_back(sizes.values[i] | std::uint64_t{sizes.values[i + 1]} << 32U);
    if (i > 0 && grid.sizes.back() <= grid.sizes[i / 2 - 1]) {
      fail(name, "table " + label + ": sizes do not ascend");
    }
  }
  const PolicyFileTensor* seen = file.tensor(kSeen + place);
  if (seen == nullptr || seen->shape.size() != 3 || seen->shape[0] != grid.sizes.size()) {
    fail(name, "tensor '" + kSeen + place + "' is missing or does not match these sizes");
  }
  grid.calls = seen->shape[1];
  grid.features = seen->shape[2];
  grid.seen = seen->values;
  return grid;
}

}  // namespace

void set_machines(PolicyFile& file, const std::vector<DeployedMachine>& machines) {
  std::erase_if(file.texts, [](const auto& record) { return record.name == kMachines; });
  std::erase_if(file.tables, [](const auto& record) { return record.name.starts_with(kSizes); });
  std::erase_if(file.tensors, [](const auto& record) { return record.name.starts_with(kSeen); });
  std::string lines;
  for (const DeployedMachine& machine : machines) {
    lines += std::to_string(machine.ranks) + " " + std::to_string(machine.nodes) + " " +
             machine.label + "\n";
    for (std::size_t i = 0; i < machine.grids.size(); ++i) {
      if (!machine.grids[i]) continue;
      const DeployedGrid& grid = *machine.grids[i];
      const std::string place = place_name(machine, i);
      PolicyFileTable& sizes = file.tables.emplace_back();
      sizes.name = kSizes + place;
      for (const std::uint64_t bytes : grid.sizes) {
        sizes.values.push_back(static_cast<std::uint32_t>(bytes));
        sizes.values.push_back(static_cast<std::uint32_t>(bytes >> 32U));
      }
      file.tensors.push_back(
          {kSeen + place,
           {static_cast<std::uint32_t>(grid.sizes.size()), grid.calls, grid.features},
           grid.seen});
    }
  }
  if (!machines.empty()) file.texts.push_back({kMachines, lines});
}

std::vector<DeployedMachine> read_machines(const PolicyFile& file, const std::string& name) {
  std::vector<DeployedMachine> machines;
  const PolicyFileText* text = file.text(kMachines);
  if (text == nullptr) return machines;
  std::string_view rest = text->text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (machines.size() == kMostDeployedMachines) fail(name, "more than 1,024 machines");
    DeployedMachine machine = read_line(rest.substr(0, end), name);
    for (std::size_t i = 0; i < machine.grids.size(); ++i) {
      const std::string place = place_name(machine, i);
      const PolicyFileTable* sizes = file.table(kSizes + place);
      if (sizes != nullptr) machine.grids[i] = read_grid(file, *sizes, place, name);
    }
    machines.push_back(std::move(machine));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return machines;
}

std::vector<std::uint64_t> deployed_sizes() {
  constexpr double kLeastBytes = 8;
  constexpr int kSteps = 124;  // steps of 2^(1/4), up to 16 GiB
  constexpr double kLog2 = 0.69314718055994530942;
  std::vector<std::uint64_t> sizes;
  for (int step = 0; step <= kSteps; ++step) {
    sizes.push_back(
        static_cast<std::uint64_t>(kLeastBytes * portable_exp(0.25 * step * kLog2) + 0.5));
  }
  return sizes;
}

std::size_t place_of_size(const std::vector<std::uint64_t>& sizes, std::uint64_t bytes) {
  const auto after = std::ranges::upper_bound(sizes, bytes);
  return after == sizes.begin() ? 0 : static_cast<std::size_t>(after - sizes.begin()) - 1;
}

}  // namespace cclgym
