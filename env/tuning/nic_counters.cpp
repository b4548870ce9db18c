#include "env/tuning/nic_counters.hpp"

#include <algorithm>
#include <mutex>
#include <span>

#include "core/error.hpp"
#include "core/index.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "env/tuning/workload/workload.hpp"

namespace cclgym {

namespace {

// Number of each NIC of the first node, by device; -1 for other devices.
std::vector<int> nic_numbers(const Fabric& fabric) {
  std::vector<int> numbers;
  int next = 0;
  for (const Node& node : fabric.nodes()) {
    const bool counted = node.kind == NodeKind::Nic && node.server == 0 && at(next) < kCountedNics;
    numbers.push_back(counted ? next++ : -1);
  }
  return numbers;
}

double share_variance(const std::array<float, kCountedNics>& shares, int nics) {
  double sum = 0;
  for (std::size_t nic = 0; nic < at(nics); ++nic) {
    const double apart = static_cast<double>(shares[nic]) * nics - 1;
    sum += apart * apart;
  }
  return sum / nics;
}

// Makes shares of bytes; returns false if there are none.
bool normalise_shares(std::array<float, kCountedNics>& shares,
                      const std::array<double, kCountedNics>& bytes) {
  double sum = 0;
  for (const double one : bytes) sum += one;
  if (sum <= 0) return false;
  for (std::size_t nic = 0; nic < kCountedNics; ++nic) {
    shares[nic] = static_cast<float>(bytes[nic] / sum);
  }
  return true;
}

}  // namespace

double NicShares::fan_out() const {
  const bool used = std::ranges::any_of(sent, [](float share) { return share > 0; });
  return nics > 1 && used ? (nics / (1 + variance) - 1) / (nics - 1) : 0;
}

NicCounters::NicCounters(std::shared_ptr<const CallSite> site)
    : site_(std::move(site)), simulators_(site_->fabrics.size()) {}

const NicShares& NicCounters::shares(const Call& call, const PlainConfig& config) {
  const Key key{config.program, config.binding,  call.collective,
                call.root,      config.channels, config.instances};
  {
    const std::shared_lock lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
  }
  const std::unique_lock lock(mutex_);
  const auto [entry, is_new] = known_.try_emplace(key);
  if (is_new) entry->second = count(call, config);
  return entry->second;
}

NicShares NicCounters::count(const Call& call, const PlainConfig& config) {
  const std::shared_ptr<const Fabric>& fabric = site_->fabrics[config.binding];
  NicShares shares;
  if (fabric->servers() < 2) return shares;
  const std::vector<int> numbers = nic_numbers(*fabric);
  shares.nics = *std::ranges::max_element(numbers) + 1;
  if (shares.nics == 0) return shares;
  auto& simulator = simulators_[config.binding];
  if (!simulator) {
    // Flows of this model carry the payload only, without tiles.
    simulator = std::make_unique<Simulator>(fabric, cost_model_for("hockney", *fabric), "flow",
                                            site_->algorithms);
  }
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 26U;
  Call large = call;
  large.bytes = fitting_bytes(call.collective, kBytes, fabric->ranks());
  Config plain = full_config(site_->algorithms, config);
  plain.protocol = Protocol::Simple;
  plain.tile_bytes = 0;
  plain.slots = 0;
  std::array<double, kCountedNics> sent{};
  std::array<double, kCountedNics> received{};
  try {
    const LoweredProgram lowered = simulator->lowered(large, plain);
    const TransferGraph& graph = *lowered.graph;
    for (TransferId id = 0; id < graph.size(); ++id) {
      const std::int32_t route = graph.route_of(id);
      if (route < 0) continue;
      const double bytes = graph.bytes(id) * graph.repeat(id);
      for (const std::int32_t number : graph.route_links(route)) {
        if (at(number) >= fabric->links().size()) continue;  // a connection of the cost model
        const Link& link = fabric->links()[at(number)];
        if (link.kind != LinkKind::Network) continue;
        if (numbers[at(link.source)] >= 0) sent[at(numbers[at(link.source)])] += bytes;
        if (numbers[at(link.target)] >= 0) received[at(numbers[at(link.target)])] += bytes;
      }
    }
  } catch (const UserError&) {
    return shares;
  }
  const bool out = normalise_shares(shares.sent, sent);
  const bool in = normalise_shares(shares.received, received);
  if (out && in) {
    shares.variance =
        (share_variance(shares.sent, shares.nics) + share_variance(shares.received, shares.nics)) /
        2;
  }
  return shares;
}

}  // namespace cclgym
