// A custom collective: written in the chunk DSL, verified, compiled and simulated.
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "collectives/compiler/compile.hpp"
#include "collectives/program.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/units.hpp"
#include "cost_models/cost_model.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"
#include "topology_models/machines/registry.hpp"

namespace {

using namespace cclgym;

// AllGather around a ring in both directions. Each rank has two chunks: the first goes up the ring,
// the second down.
Program both_ways(int ranks) {
  ProgramBuilder p("both-ways", Contract::make(CollectiveKind::AllGather, ranks, 2));
  for (int rank = 0; rank < ranks; ++rank) {
    for (int half = 0; half < 2; ++half) {
      const int stride = half == 0 ? 1 : ranks - 1;
      const int place = 2 * rank + half;
      ChunkRef chunk = p.chunk(rank, Buffer::Input, half).copy(rank, Buffer::Output, place);
      for (int step = 1; step < ranks; ++step) {
        chunk = chunk.copy((rank + step * stride) % ranks, Buffer::Output, place);
      }
    }
  }
  return p.finish();
}

void simulate() {
  const std::shared_ptr<const Fabric> fabric = make_fabric({.name = "ndv4"});

  // The options of the library's algorithms; for MSCCL XML, omit them.
  const auto program = std::make_shared<const ThreadBlockProgram>(
      compile(both_ways(fabric->ranks()), {.fuse = false, .share_blocks = false}));
  const VerifyReport report = verify(*program);
  if (!report.ok) throw std::runtime_error(report.to_string());

  Simulator simulator(fabric, cost_model_for("auto", *fabric), "flow");
  const Call call{.collective = CollectiveKind::AllGather, .bytes = 8 << 20};
  const Config config{
      .algorithm = "ring", .protocol = Protocol::LL128, .channels = program->channels};
  const SimulationRecord own = simulator.record_program(program, call, config);
  const Result ring = simulator.simulate(call, config);
  std::cout << program->name << ": " << format_time(own.result.time_s) << ", " << own.result.flows
            << " transfers\n"
            << "ring, " << config.channels << " channel: " << format_time(ring.time_s) << ", "
            << ring.flows << " transfers\n";
}

}  // namespace

int main() {
  try {
    simulate();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
