// Compares times with SCCL's closed form (section 2). Under the Hockney model and without
// contention, a program of S steps and R rounds over C chunks takes S * alpha + (R / C) * L * beta.
#include <tuple>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

constexpr double kLinkAlpha = 0.7e-6;  // the shipped fabrics' link latency, s
constexpr double kBeta = 1.0 / 25e9;   // the shipped fabrics' link unit, s/B

// 1 B, 3 B, …, 16 GiB: powers of eight and their neighbours.
std::vector<std::uint64_t> sizes() {
  std::vector<std::uint64_t> result{3, 1000, 123456789};
  for (std::uint64_t bytes = 1; bytes <= (std::uint64_t{1} << 34); bytes *= 8) {
    result.push_back(bytes);
  }
  result.push_back(std::uint64_t{1} << 34);
  return result;
}

// Expects `steps` times alpha, and `rounds` times the call's bytes over one link unit.
void check_closed_form(const std::shared_ptr<const Fabric>& fabric, CollectiveKind collective,
                       const Config& config, double steps, double rounds) {
  for (const std::string& engine : engine_names()) {
    Simulator simulator(fabric, shipped_cost_model("hockney"), engine);
    for (const std::uint64_t bytes : sizes()) {
      const double expected_s = steps * kLinkAlpha + rounds * static_cast<double>(bytes) * kBeta;
      const Result result = simulator.simulate(call_of(collective, bytes), config);
      CAPTURE(engine, fabric->name(), config.algorithm, to_string(collective), bytes);
      CHECK(result.time_s == Approx(expected_s).epsilon(1e-9));
      CHECK(result.steps == steps);
    }
  }
}

}  // namespace

TEST_CASE("ring AllGather on DGX-1 is SCCL's (C,S,R) = (6,7,7)", "[sim][hockney]") {
  // L in SCCL's formula is a rank's input, an eighth of the call's bytes.
  check_closed_form(fabric("dgx1"), CollectiveKind::AllGather, config_of("ring", 6), 7,
                    7.0 / 6.0 / 8.0);
}

TEST_CASE("other rings on DGX-1", "[sim][hockney]") {
  // With four channels, the rings are the cycle of double links, twice in both directions: SCCL's
  // (4,7,7).
  check_closed_form(fabric("dgx1"), CollectiveKind::AllGather, config_of("ring", 4), 7,
                    7.0 / 4.0 / 8.0);
  // With one channel, a chunk does not share its double links and takes half a round: SCCL's
  // (1,7,7/2).
  check_closed_form(fabric("dgx1"), CollectiveKind::AllGather, config_of("ring", 1), 7,
                    7.0 / 2.0 / 8.0);
  check_closed_form(fabric("dgx1"), CollectiveKind::ReduceScatter, config_of("ring", 6), 7,
                    7.0 / 6.0 / 8.0);
  // SCCL's AllReduce (48,14,14) is ReduceScatter, then AllGather.
  check_closed_form(fabric("dgx1"), CollectiveKind::AllReduce, config_of("ring", 6), 14,
                    14.0 / 48.0);
}

TEST_CASE("ring on ring fabrics", "[sim][hockney]") {
  for (const int n : {2, 3, 5, 8, 13}) {
    const auto ring = fabric("ring", n);
    const double share = static_cast<double>(n - 1) / n;
    check_closed_form(ring, CollectiveKind::AllGather, config_of("ring"), n - 1, share);
    check_closed_form(ring, CollectiveKind::ReduceScatter, config_of("ring"), n - 1, share);
    check_closed_form(ring, CollectiveKind::AllReduce, config_of("ring"), 2 * (n - 1), 2 * share);
    // n chunks move one after another over n - 1 links.
    check_closed_form(ring, CollectiveKind::Broadcast, config_of("ring"), 2 * (n - 1), 2 * share);
  }
}

TEST_CASE("trees on fully connected fabrics", "[sim][hockney]") {
  for (const int n : {2, 4, 8, 16}) {
    const auto full = fabric("fully_connected", n);
    int log2n = 0;
    while ((1 << log2n) < n) ++log2n;
    // Within one node, the tree is a chain.
    check_closed_form(full, CollectiveKind::AllReduce, config_of("tree"), 2 * (n - 1), 2 * (n - 1));
    check_closed_form(full, CollectiveKind::Broadcast, config_of("tree"), log2n, log2n);
    check_closed_form(full, CollectiveKind::Reduce, config_of("tree"), log2n, log2n);
  }
}

TEST_CASE("recursive doubling and halving on fully connected fabrics", "[sim][hockney]") {
  for (const int n : {2, 4, 8, 16}) {
    const auto full = fabric("fully_connected", n);
    int log2n = 0;
    while ((1 << log2n) < n) ++log2n;
    const double share = static_cast<double>(n - 1) / n;
    check_closed_form(full, CollectiveKind::AllReduce, config_of("recursive-doubling"), log2n,
                      log2n);
    check_closed_form(full, CollectiveKind::AllGather, config_of("recursive-doubling"), log2n,
                      share);
    check_closed_form(full, CollectiveKind::AllReduce, config_of("halving-doubling"), 2 * log2n,
                      2 * share);
  }
}

TEST_CASE("PAT on fully connected fabrics", "[sim][hockney]") {
  for (const CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    for (const int log2n : {1, 2, 3, 4}) {
      const int n = 1 << log2n;
      check_closed_form(fabric("fully_connected", n), kind, config_of("pat"), log2n,
                        static_cast<double>(n - 1) / n);
    }
    // For other numbers of ranks, a message need not wait for the messages of all previous steps.
    for (const auto& [n, log2n, chain] :
         {std::tuple(3, 2, 1), {5, 3, 2}, {6, 3, 2}, {7, 3, 3}, {23, 5, 4}}) {
      Simulator simulator(fabric("fully_connected", n), shipped_cost_model("hockney"), "flow");
      const Result result = simulator.simulate(call_of(kind, 1 << 20), config_of("pat"));
      CAPTURE(n, to_string(kind));
      CHECK(result.flows == n * log2n);  // one message per rank and step
      CHECK(result.steps == chain);
      const double in_step = log2n * kLinkAlpha + (n - 1.0) / n * (1 << 20) * kBeta;
      CHECK(result.time_s <= in_step * (1 + 1e-9));
    }
  }
}

TEST_CASE("all-pairs and naive on fully connected fabrics", "[sim][hockney]") {
  for (const int n : {2, 3, 8, 12}) {
    const auto full = fabric("fully_connected", n);
    check_closed_form(full, CollectiveKind::AllReduce, config_of("all-pairs"), 2, 2.0 / n);
    check_closed_form(full, CollectiveKind::AllGather, config_of("all-pairs"), 1, 1.0 / n);
    check_closed_form(full, CollectiveKind::ReduceScatter, config_of("all-pairs"), 1, 1.0 / n);
    check_closed_form(full, CollectiveKind::AllToAll, config_of("naive"), 1, 1.0 / n);
    check_closed_form(full, CollectiveKind::Broadcast, config_of("naive"), 1, 1);
  }
}
