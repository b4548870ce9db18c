#include "sim/simulator.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"

using namespace cclgym;
using namespace cclgym::test;

TEST_CASE("bandwidths follow nccl-tests", "[sim][simulator]") {
  Simulator simulator(fabric("ring", 4), shipped_cost_model("hockney"), engine_names()[0]);
  const Result result =
      simulator.simulate(call_of(CollectiveKind::AllReduce, 1 << 24), config_of("ring"));
  CHECK(result.algbw_Bps == Approx((1 << 24) / result.time_s));
  CHECK(result.busbw_Bps == Approx(result.algbw_Bps * 1.5));
  CHECK(result.flows == 4 * 6);
  CHECK(result.rank_time_s.size() == 4);
  CHECK(*std::max_element(result.rank_time_s.begin(), result.rank_time_s.end()) == result.time_s);
}

TEST_CASE("no configuration beats the wire", "[sim][simulator]") {
  // AllReduce moves at least 2(n-1)/n of the data out of every GPU: 150 GB/s on DGX-1 (six units),
  // 300 GB/s on NDv4.
  for (const auto& [name, wire_Bps] : {std::pair{"dgx1", 150e9}, std::pair{"ndv4", 300e9}}) {
    const auto f = fabric(name);
    for (const std::string model : {"hockney", "a100", "v100"}) {
      Simulator simulator(f, shipped_cost_model(model), "flow");
      for (const Combination& combination : combinations(8)) {
        if (combination.collective != CollectiveKind::AllReduce) continue;
        for (const int channels : {1, 6, 24}) {
          for (const Protocol protocol : all_protocols()) {
            const Call call = call_of(CollectiveKind::AllReduce, 1 << 28);
            const Config config = config_of(combination.algorithm, channels, protocol);
            if (!check_resident(AlgorithmLibrary::shipped(), call, config, *f,
                                simulator.cost_model())
                     .empty())
              continue;
            const Result result = simulator.simulate(call, config);
            CAPTURE(name, model, combination.algorithm, channels, to_string(protocol));
            CHECK(result.busbw_Bps <= wire_Bps * (1 + 1e-9));
          }
        }
      }
    }
  }
}

TEST_CASE("time grows with size and shrinks with threads", "[sim][simulator]") {
  Simulator simulator(fabric("ndv4"), shipped_cost_model("a100"), "flow");
  double previous_s = 0;
  for (std::uint64_t bytes = 1024; bytes <= (1U << 30); bytes *= 4) {
    const double time_s =
        simulator.simulate(call_of(CollectiveKind::AllReduce, bytes), config_of("ring", 4)).time_s;
    CHECK(time_s > previous_s);
    previous_s = time_s;
  }
  Config few = config_of("ring", 4);
  few.threads = 128;
  // 128 / (128 + 230) instead of 512 / (512 + 230): half as fast.
  CHECK(simulator.simulate(call_of(CollectiveKind::AllReduce, 1U << 30), few).time_s >
        1.8 * previous_s);
}

TEST_CASE("start skew is seeded: same seed, same bits", "[sim][simulator]") {
  CostModel model = shipped_cost_model("a100");
  model.start_skew_s = 5e-6;
  const Call call = call_of(CollectiveKind::AllReduce, 1 << 20);
  Simulator first(fabric("ndv4"), model, "flow");
  Simulator second(fabric("ndv4"), model, "flow");
  const Config config = config_of("ring", 4);
  const double time_s = first.simulate(call, config, 7, 3).time_s;
  CHECK(first.simulate(call, config, 7, 4).time_s != time_s);
  CHECK(first.simulate(call, config, 8, 3).time_s != time_s);
  CHECK(second.simulate(call, config, 7, 3).time_s == time_s);
  CHECK(first.simulate(call, config, 7, 3).time_s == time_s);
  model.start_skew_s = 0;
  Simulator without(fabric("ndv4"), model, "flow");
  CHECK(without.simulate(call, config, 7, 3).time_s < time_s);
  CHECK(without.simulate(call, config, 7, 3).time_s == without.simulate(call, config, 9, 1).time_s);
}

TEST_CASE("invalid configurations are refused with the reason", "[sim][simulator]") {
  Simulator simulator(fabric("ring", 6), shipped_cost_model("hockney"), "flow");
  const auto message = [&simulator](const Call& call, const Config& config) -> std::string {
    try {
      (void)simulator.simulate(call, config);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  const Call allreduce = call_of(CollectiveKind::AllReduce, 4096);
  CHECK(message(allreduce, config_of("rign")).find("did you mean 'ring'?") != std::string::npos);
  CHECK(message(allreduce, config_of("recursive-doubling")).find("power of two") !=
        std::string::npos);
  CHECK(message(call_of(CollectiveKind::AllToAll, 4096), config_of("ring"))
            .find("algorithm 'ring' has no alltoall; it has ") != std::string::npos);
  CHECK(message(allreduce, config_of("ring", 0)) == "channels must be >= 1, found 0");
  CHECK(message(call_of(CollectiveKind::AllReduce, 0), config_of("ring")) ==
        "a call's size must be > 0");
  Call rooted = call_of(CollectiveKind::Broadcast, 4096);
  rooted.root = 6;
  CHECK(message(rooted, config_of("ring")) == "root must be a rank from 0 to 5, found 6");
}

TEST_CASE("programs that need more thread blocks than a GPU runs at once are refused",
          "[sim][simulator]") {
  const auto f = fabric("ndv4");
  const Call call = call_of(CollectiveKind::AllReduce, 1 << 20);
  Simulator simulator(f, shipped_cost_model("a100"), "flow");
  const auto refusal = [&](const Config& config) -> std::string {
    try {
      (void)simulator.simulate(call, config);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(config_of("all-pairs", 24)) ==
        "all-pairs with 24 channels needs at least 168 thread blocks per GPU; cost model a100 runs "
        "108 of 512 threads at once");
  for (const int channels : {1, 15, 16, 24, 108, 109}) {
    for (const std::string algorithm : {"all-pairs", "ring"}) {
      const Config config = config_of(algorithm, channels);
      CHECK(refusal(config) ==
            check_resident(AlgorithmLibrary::shipped(), call, config, *f, simulator.cost_model()));
      CHECK(refusal(config).empty() == (channels <= (algorithm == "ring" ? 108 : 15)));
      CHECK(check_resident(AlgorithmLibrary::shipped(), call, config, *f,
                           shipped_cost_model("hockney"))
                .empty());
    }
  }
  // A program from outside the library is counted as it is.
  AlgorithmRequest request;
  request.ranks = 8;
  request.channels = 8;
  const auto program = build_algorithm("all-pairs", request);
  CHECK_THROWS_AS(simulator.record_program(program, call, config_of("all-pairs", 8)), UserError);
  CostModel unlimited = simulator.cost_model();
  unlimited.max_thread_blocks = 0;
  Simulator free(f, unlimited, "flow");
  CHECK_NOTHROW(free.record_program(program, call, config_of("all-pairs", 8)));
}

TEST_CASE("rings over two nodes use all NICs", "[sim][simulator]") {
  FabricSpec spec;
  spec.name = "ndv4";
  spec.servers = 2;
  const auto f = make_fabric(spec);
  for (const std::string model : {"hockney", "a100"}) {
    Simulator simulator(f, shipped_cost_model(model), "flow");
    const auto busbw = [&](int channels) {
      return simulator
          .simulate(call_of(CollectiveKind::AllReduce, 1ULL << 30), config_of("ring", channels))
          .busbw_Bps;
    };
    const double one = busbw(1);
    CAPTURE(model, one);
    CHECK(busbw(8) >= 6 * one);
    // No ring is faster than the 24 GB/s of PCIe at its NIC.
    if (model == "hockney") CHECK(one == Approx(24e9).epsilon(0.01));
  }
}

TEST_CASE("unsuitable sizes are refused with the nearest suitable ones", "[sim][simulator]") {
  CHECK(check_size(CollectiveKind::AllReduce, 128, 8).empty());
  CHECK(check_size(CollectiveKind::AllGather, 128, 8).empty());
  CHECK(check_size(CollectiveKind::AllGather, 100, 8) ==
        "allgather of 100 B is not a multiple of 32 B (8 ranks x 4 B elements); nearest: 96 or "
        "128 B");
  CHECK(check_size(CollectiveKind::AllReduce, 3, 8) ==
        "allreduce of 3 B is not a multiple of 4 B (4 B elements); nearest: 4 B");
  CHECK(check_size(CollectiveKind::AllReduce, 0, 8) == "a size must be > 0");
}

TEST_CASE("a size is rounded down to 16 B per rank, as by nccl-tests", "[sim][simulator]") {
  using enum CollectiveKind;
  for (const auto collective : {AllGather, ReduceScatter, AllToAll}) {
    CHECK(rounded_size(collective, 64 << 10, 24) == 65280);  // 24 x 2720 B
    CHECK(rounded_size(collective, 64 << 10, 72) == 64512);  // 72 x 896 B
    CHECK(rounded_size(collective, 64 << 10, 16) == 64 << 10);
    CHECK(rounded_size(collective, 96, 24) == 96);    // a whole element per rank is kept
    CHECK(rounded_size(collective, 200, 24) == 192);  // 8 B per rank
    CHECK(rounded_size(collective, 64, 24) == 0);
    CHECK(rounded_size(collective, 200, 24, 8) == 192);
    CHECK(rounded_size(collective, 100, 24, 8) == 0);
  }
  CHECK(rounded_size(AllReduce, 64 << 10, 24) == 64 << 10);
  CHECK(rounded_size(AllReduce, 1003, 24) == 1000);
  CHECK(rounded_size(AllReduce, 1003, 24, 8) == 1000);
  CHECK(rounded_size(AllReduce, 3, 8) == 0);
  // A rounded size is valid, and the largest that has 16 B per rank.
  for (int ranks = 2; ranks < 80; ++ranks) {
    for (const std::uint64_t bytes : {5000U, 65536U, 1000003U}) {
      const std::uint64_t rounded = rounded_size(AllGather, bytes, ranks);
      CHECK(check_size(AllGather, rounded, ranks).empty());
      CHECK(rounded <= bytes);
      CHECK(bytes - rounded < 16U * static_cast<unsigned>(ranks));
    }
  }
}
