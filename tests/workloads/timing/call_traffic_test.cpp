// Bytes of a call from a lowering of another size.
#include <cmath>
#include <functional>
#include <map>

#include "core/random.hpp"
#include "sim/call/config_options.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "workloads/timing/call_flows.hpp"
#include "workloads/timing/job_fixtures.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), 1.0); }

struct Machine {
  const char* fabric;
  int gpus;
  const char* cost_model;
  std::vector<const char*> algorithms;
};
const Machine kMachines[] = {{"dgx1", 8, "v100", {"ring", "tree", "all-pairs"}},
                             {"ndv4", 16, "a100", {"ring", "tree"}},
                             {"hgx-h100", 8, "h100", {"ring", "nvls"}}};

// Calls of random sizes, tiled and whole, with each algorithm of each machine.
void for_each_call(const std::function<void(Simulator&, const Call&, const Config&)>& check) {
  Random random = Random::stream(7, {1});
  for (const Machine& machine : kMachines) {
    for (const char* algorithm : machine.algorithms) {
      for (const Protocol protocol : {Protocol::Simple, Protocol::LL}) {
        CAPTURE(machine.fabric, algorithm, to_string(protocol));
        const CostModel model = shipped_cost_model(machine.cost_model);
        Simulator simulator(fabric_of(machine.fabric, machine.gpus), model, "flow");
        const Config config =
            with_tiles(model, CollectiveKind::AllReduce,
                       {.algorithm = algorithm, .protocol = protocol, .channels = 2}, {}, {});
        for (int i = 0; i < 12; ++i) {
          const auto bytes = static_cast<std::uint64_t>(std::exp2(10 + 18 * random.uniform()));
          check(simulator, {.bytes = fitting_bytes(CollectiveKind::AllReduce, bytes, machine.gpus)},
                config);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("the bytes of a call follow from the lowering of another size", "[workloads][traffic]") {
  std::map<GraphShape, CallTraffic> known;
  const Simulator* last = nullptr;
  std::string algorithm;
  int shared = 0;
  for_each_call([&](Simulator& simulator, const Call& call, const Config& config) {
    if (last != &simulator || algorithm != config.algorithm) known.clear();
    last = &simulator;
    algorithm = config.algorithm;
    const ProgramCut cut = program_cut(*simulator.compiled(call, config));
    const LoweredProgram lowered = simulator.lowered(call, config);
    const auto [traffic, fresh] = known.try_emplace(
        graph_shape(cut, simulator.cost_model(), call, config), lowered, simulator.cost_model());
    if (!fresh) ++shared;
    const CallBytes bytes = traffic->second.bytes(cut, call, config);

    std::vector<double> link(lowered.fabric_links, 0.0);
    std::vector<double> cap_Bps(lowered.fabric_links, 0.0);
    const TransferGraph& graph = *lowered.graph;
    double all = 0;
    for (TransferId node = 0; node < graph.size(); ++node) {
      if (graph.route_of(node) < 0) continue;
      const double moved = graph.bytes(node) * graph.repeat(node);
      all += moved;
      for (const std::int32_t id : graph.route_links(graph.route_of(node))) {
        if (at(id) >= link.size()) continue;
        link[at(id)] += moved;
        cap_Bps[at(id)] = std::max(cap_Bps[at(id)], graph.rate_cap_Bps(node));
      }
    }
    CAPTURE(call.bytes);
    for (std::size_t i = 0; i < link.size(); ++i) {
      CHECK(near(link[i], bytes.link[i]));
      CHECK(near(cap_Bps[i], bytes.link_cap_Bps[i]));
    }
    double connections = 0;
    for (const double moved : bytes.connection) connections += moved;
    CHECK(near(all, connections));
    CHECK(near(2 * all, bytes.memory));
  });
  CHECK(shared > 100);
}

TEST_CASE("the flow of a call does not depend on the calls before it", "[workloads][traffic]") {
  const JobGraph job = empty_job(16);
  for (const char* tuner : {"ring/Simple/4", "tree/LL128/2", "nccl-default:2.18"}) {
    CAPTURE(tuner);
    const auto fabric = fabric_of("ndv4", 16);
    const CostModel model = shipped_cost_model("a100");
    GroupViews shared(fabric, model);
    shared.set_tuners(job, {.job = tuner});
    CallFlows flows(shared);
    for (const std::uint64_t bytes : {1U << 12, 1U << 20, 3U << 20, 1U << 24, 5U << 26}) {
      CAPTURE(bytes);
      const JobOp op = call_on(CollectiveKind::AllReduce, bytes, 0, 0);
      GroupViews own(fabric, model);
      own.set_tuners(job, {.job = tuner});
      CallFlows fresh(own);
      const CallFlow& a = flows.of(shared.collective(op, job.groups[0]));
      const CallFlow& b = fresh.of(own.collective(op, job.groups[0]));
      CHECK(near(a.time_s, b.time_s));
      CHECK(near(a.latency_s, b.latency_s));
      CHECK(near(a.bytes, b.bytes));
      CHECK(near(a.rate_cap_Bps, b.rate_cap_Bps));
      CHECK(a.memory_load == b.memory_load);
      CHECK(a.sms == b.sms);
      CHECK(flows.loads(shared.collective(op, job.groups[0])) ==
            fresh.loads(own.collective(op, job.groups[0])));
    }
  }
}
