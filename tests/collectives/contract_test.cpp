#include "collectives/contract.hpp"

#include <string>

#include "collectives/memory_layout.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

using namespace cclgym;

namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("contracts: AllReduce, Broadcast and Reduce cut the whole buffer",
          "[collectives][contract]") {
  const Contract all = Contract::make(CollectiveKind::AllReduce, 3, 2);
  CHECK(all.name() == "allreduce");
  CHECK(all.input_chunks(1) == 2);
  CHECK(all.output_chunks(1) == 2);
  CHECK(all.chunks_per_call() == 2);
  CHECK(all.precondition(2, 1) == ChunkId{2, 1});
  CHECK(all.postcondition(0, 1) == RequiredValue{{0, 1}, {1, 1}, {2, 1}});

  const Contract broadcast = Contract::make(CollectiveKind::Broadcast, 3, 2, true, 1);
  CHECK(broadcast.precondition(1, 0) == ChunkId{1, 0});
  CHECK_FALSE(broadcast.precondition(0, 0));
  CHECK(broadcast.postcondition(2, 1) == RequiredValue{{1, 1}});
  CHECK(Contract::make(CollectiveKind::Broadcast, 3, 2, false, 1).input_chunks(0) == 0);

  const Contract reduce = Contract::make(CollectiveKind::Reduce, 3, 2, true, 2);
  CHECK(reduce.postcondition(2, 0) == RequiredValue{{0, 0}, {1, 0}, {2, 0}});
  CHECK_FALSE(reduce.postcondition(0, 0));
  CHECK(Contract::make(CollectiveKind::Reduce, 3, 2, false, 2).output_chunks(0) == 0);
}

TEST_CASE("contracts: collectives with one slice per rank", "[collectives][contract]") {
  const Contract gather = Contract::make(CollectiveKind::AllGather, 3, 2);
  CHECK(gather.input_chunks(0) == 2);
  CHECK(gather.output_chunks(0) == 6);
  CHECK(gather.chunks_per_call() == 6);
  CHECK(gather.postcondition(0, 3) == RequiredValue{{1, 1}});

  const Contract scatter = Contract::make(CollectiveKind::ReduceScatter, 3, 2);
  CHECK(scatter.input_chunks(0) == 6);
  CHECK(scatter.output_chunks(0) == 2);
  CHECK(scatter.postcondition(1, 1) == RequiredValue{{0, 3}, {1, 3}, {2, 3}});

  const Contract to_all = Contract::make(CollectiveKind::AllToAll, 3, 2);
  CHECK(to_all.postcondition(1, 5) == RequiredValue{{2, 3}});
  CHECK(to_all.chunks_per_call() == 6);

  const Contract to_root = Contract::make(CollectiveKind::Gather, 3, 2, false, 1);
  CHECK(to_root.output_chunks(1) == 6);
  CHECK(to_root.output_chunks(0) == 0);
  CHECK(to_root.postcondition(1, 4) == RequiredValue{{2, 0}});

  const Contract from_root = Contract::make(CollectiveKind::Scatter, 3, 2, false, 1);
  CHECK(from_root.input_chunks(1) == 6);
  CHECK(from_root.input_chunks(2) == 0);
  CHECK(from_root.postcondition(2, 1) == RequiredValue{{1, 5}});
  CHECK_FALSE(from_root.precondition(0, 0));
}

TEST_CASE("contracts: AllToNext sends to the next rank, the first rank receives nothing",
          "[collectives][contract]") {
  const Contract next = Contract::make(CollectiveKind::AllToNext, 3, 2);
  CHECK_FALSE(next.postcondition(0, 0));
  CHECK(next.postcondition(1, 1) == RequiredValue{{0, 1}});
  CHECK(next.postcondition(2, 0) == RequiredValue{{1, 0}});
}

TEST_CASE("contracts: in place, both names of a place resolve to one", "[collectives][contract]") {
  const auto resolve = [](CollectiveKind kind, Buffer buffer, int index) {
    return Contract::make(kind, 4, 2, true).resolve({1, buffer, index});
  };
  CHECK(resolve(CollectiveKind::AllReduce, Buffer::Output, 1) == Location{1, Buffer::Input, 1});
  CHECK(resolve(CollectiveKind::AllGather, Buffer::Input, 1) == Location{1, Buffer::Output, 3});
  CHECK(resolve(CollectiveKind::AllGather, Buffer::Output, 5) == Location{1, Buffer::Output, 5});
  CHECK(resolve(CollectiveKind::ReduceScatter, Buffer::Output, 1) == Location{1, Buffer::Input, 3});
  CHECK(resolve(CollectiveKind::AllReduce, Buffer::Scratch, 7) == Location{1, Buffer::Scratch, 7});
  const Contract apart = Contract::make(CollectiveKind::AllReduce, 4, 2);
  CHECK(apart.resolve({1, Buffer::Output, 1}) == Location{1, Buffer::Output, 1});
}

TEST_CASE("memory layout: places are distinct, coincide in place, and map back to locations",
          "[collectives][contract]") {
  for (const CollectiveKind kind : all_collectives()) {
    for (const bool in_place : {false, true}) {
      if (in_place && (kind == CollectiveKind::Gather || kind == CollectiveKind::Scatter ||
                       kind == CollectiveKind::AllToAll)) {
        continue;
      }
      const Contract contract = Contract::make(kind, 3, 2, in_place, 1);
      const std::vector<std::int32_t> scratch{0, 3, 1};
      const MemoryLayout layout(contract, scratch);
      std::vector<Location> found(layout.size(), Location{-1, Buffer::Input, 0});
      for (int rank = 0; rank < 3; ++rank) {
        for (const Buffer buffer : {Buffer::Input, Buffer::Output, Buffer::Scratch}) {
          for (int index = 0; index < layout.chunks(rank, buffer); ++index) {
            const Location canonical = contract.resolve({rank, buffer, index});
            Location& slot = found.at(layout.place(rank, buffer, index));
            CHECK((slot.rank == -1 || slot == canonical));
            slot = canonical;
            CHECK(layout.location(rank, layout.place(rank, buffer, index)) == canonical);
          }
        }
      }
      for (const Location& location : found) CHECK(location.rank != -1);
    }
  }
}

TEST_CASE("contracts: errors name the expected values", "[collectives][contract]") {
  const auto make = [](CollectiveKind kind, int ranks, int chunks, bool in_place, int root) {
    return message_of([&] { (void)Contract::make(kind, ranks, chunks, in_place, root); });
  };
  CHECK(make(CollectiveKind::AllReduce, 0, 1, false, 0) ==
        "allreduce: 0 ranks; expected at least 1");
  CHECK(make(CollectiveKind::AllReduce, 2, 0, false, 0) ==
        "allreduce: 0 chunks; expected at least 1");
  CHECK(make(CollectiveKind::Broadcast, 4, 1, false, 4) == "broadcast: root 4; expected 0 to 3");
  CHECK(make(CollectiveKind::AllToAll, 4, 1, true, 0).find("no in-place form") !=
        std::string::npos);
  CHECK(make(CollectiveKind::AllGather, 1 << 20, 1 << 20, false, 0).find("at most") !=
        std::string::npos);
}

TEST_CASE("contracts: user-defined", "[collectives][contract]") {
  // Rank 1 gets the sum of rank 0's two chunks; other ranks get nothing.
  const auto post = [](int rank, int) -> std::optional<RequiredValue> {
    if (rank != 1) return std::nullopt;
    return RequiredValue{{0, 1}, {0, 0}};
  };
  const Contract contract = Contract::custom("fold", 2, {2, 0}, {0, 1}, post);
  CHECK(contract.kind() == CollectiveKind::Custom);
  CHECK(contract.name() == "fold");
  CHECK(contract.chunks_per_call() == 2);
  CHECK(contract.postcondition(1, 0) == RequiredValue{{0, 0}, {0, 1}});
  CHECK(contract.precondition(0, 1) == ChunkId{0, 1});
  CHECK_FALSE(contract.precondition(1, 0));

  const auto bad = [](RequiredValue value) {
    return message_of([&] {
      (void)Contract::custom("bad", 2, {2, 0}, {0, 1},
                             [&](int, int) { return std::optional(value); });
    });
  };
  CHECK(
      bad({{0, 2}}) ==
      "bad: postcondition of rank 1 output[0] names rank 0 input[2], which is not an input chunk");
  CHECK(bad({{0, 1}, {0, 1}}).find("names rank 0 input[1] twice") != std::string::npos);
  CHECK(bad({}).find("is empty") != std::string::npos);
  CHECK(message_of([] {
          (void)Contract::custom("bad", 2, {1}, {1, 1}, nullptr);
        }) == "bad: chunk counts for 1 (input) and 2 (output) ranks; expected 2");
}

TEST_CASE("contracts: names, granularity, bus bandwidth", "[collectives][contract]") {
  CHECK(parse_collective("allreduce") == CollectiveKind::AllReduce);
  CHECK(parse_collective("all_reduce") == CollectiveKind::AllReduce);
  CHECK(parse_collective("ReduceScatter") == CollectiveKind::ReduceScatter);
  CHECK(parse_collective("reduce_scatter") == CollectiveKind::ReduceScatter);
  CHECK_FALSE(parse_collective("allredcue"));
  for (const CollectiveKind kind : all_collectives()) {
    CHECK(parse_collective(to_string(kind)) == kind);
  }
  CHECK(all_collectives().size() == 9);
  CHECK(size_granularity(CollectiveKind::AllReduce, 8) == 1);
  CHECK(size_granularity(CollectiveKind::AllGather, 8) == 8);
  CHECK(bus_bandwidth_factor(CollectiveKind::AllReduce, 8) == Approx(1.75));
  CHECK(bus_bandwidth_factor(CollectiveKind::ReduceScatter, 8) == Approx(0.875));
  CHECK(bus_bandwidth_factor(CollectiveKind::Broadcast, 8) == Approx(1.0));
  CHECK(is_reduction(CollectiveKind::Reduce));
  CHECK_FALSE(is_reduction(CollectiveKind::Gather));
}
