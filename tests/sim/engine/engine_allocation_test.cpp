// Checks that engine flow allocates nothing after its first run of a graph, because training runs
// it millions of times.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "bench/ring_graph.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/engine_random_graphs.hpp"
#include "support/catch.hpp"

// The sanitizers have their own allocators, which must not be replaced.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<long> allocations{0};
}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace cclgym;

TEST_CASE("repeated runs of engine flow allocate nothing", "[sim][engine-allocation]") {
  std::vector<std::shared_ptr<const TransferGraph>> graphs = {
      bench::ring_allreduce_graph(8, 1e6, 0.7e-6, 25e9, false),
      bench::ring_allreduce_graph(8, 1e6, 0.7e-6, 25e9, true),
      bench::jittered_ring_graph(8, 8, 1e6, 0.7e-6, 25e9)};
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    graphs.push_back(test::RandomGraph(seed).graph());
  }
  const auto engine = make_engine("flow");
  for (const auto& graph : graphs) {
    engine->load(graph);
    engine->run();
    const long before = allocations;
    engine->run();
    engine->run();
    const long after = allocations;
    CHECK(after == before);
  }
}

#endif
