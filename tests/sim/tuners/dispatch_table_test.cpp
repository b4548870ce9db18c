// Tests of dispatch tables: their choices, notation and errors.
#include "sim/tuners/dispatch_table.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/files/text_file.hpp"
#include "core/random.hpp"
#include "core/units.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/call/tiles.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

const std::string kHead =
    "tables:\n"
    "  - fabric: ndv4\n"
    "    collective: allreduce\n"
    "    ranges:\n";

std::string range(const std::string& sizes, const std::string& more = "algorithm: ring") {
  return "      - {sizes: " + sizes + ", " + more + "}\n";
}

std::string refusal(const std::string& text) {
  try {
    (void)parse_dispatch_table(text, "t.yaml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

// A table in a file.
struct TableFile : TemporaryFile {
  explicit TableFile(const std::string& text) : TemporaryFile(text, "t.yaml") {}
};

TunerSite site(const std::string& fabric_name, const std::string& label = "") {
  return {.fabric = fabric(fabric_name),
          .fabric_label = label,
          .cost_model = shipped_cost_model("a100")};
}

std::string algorithm_for(const Tuner& tuner, std::uint64_t bytes,
                          CollectiveKind collective = CollectiveKind::AllReduce) {
  return tuner.choose(call_of(collective, bytes)).algorithm;
}

}  // namespace

TEST_CASE("a range includes its lower end and not its upper one", "[sim][dispatch-table]") {
  const TableFile file(kHead + range("1MiB..", "algorithm: tree") +
                       range("..64KiB", "algorithm: all-pairs, protocol: LL, instances: 2") +
                       range("64KiB .. 1MiB",
                             "algorithm: spread-ring, protocol: ll128, channels: 4, instances: 8, "
                             "threads: 256, tile: 32KiB, slots: 2"));
  CHECK(is_tuner("dispatch:" + file.path()));
  const auto tuner = make_tuner("dispatch:" + file.path(), site("ndv4"));
  CHECK(algorithm_for(*tuner, 4) == "all-pairs");
  CHECK(algorithm_for(*tuner, 65532) == "all-pairs");
  CHECK(algorithm_for(*tuner, 65536) == "spread-ring");
  CHECK(algorithm_for(*tuner, (1 << 20) - 4) == "spread-ring");
  CHECK(algorithm_for(*tuner, 1 << 20) == "tree");
  CHECK(algorithm_for(*tuner, 1ULL << 40) == "tree");
  const Config small = tuner->choose(call_of(CollectiveKind::AllReduce, 4));
  CHECK(small == Config{.algorithm = "all-pairs",
                        .protocol = Protocol::LL,
                        .instances = 2,
                        .tile_bytes = 32768,
                        .slots = 8});
  const Config middle = tuner->choose(call_of(CollectiveKind::AllReduce, 65536));
  CHECK(middle == Config{.algorithm = "spread-ring",
                         .protocol = Protocol::LL128,
                         .channels = 4,
                         .instances = 8,
                         .threads = 256,
                         .tile_bytes = 32768,
                         .slots = 2});
  CHECK(tuner->chooses_for(CollectiveKind::AllReduce));
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::AllGather));
}

TEST_CASE("a CSV of NCCL's tuner is a table: the first line that matches applies",
          "[sim][dispatch-table]") {
  const std::string rows =
      "# registered buffers\n"
      "allreduce,0,65536,tree,ll,2,1,-1,-1,1\n"
      "allreduce,0,65536,tree,ll,2,2,-1\n"
      "allreduce,0,65536,tree,ll,4,1,16\n"
      " allreduce , 0 , 65536 , tree , LL128 , 3 , -1 , 8 , 1\n"
      "allreduce,0,1048576,ring,simple,8,-1,-1\n"
      "allreduce,1048577,2097152,pat,simple,8,-1,-1\n"
      "allgather,0,-1,ring,ll,-1,-1,-1\n";
  for (const char* name : {"t.csv", "nccl_tuner.conf", "table"}) {
    INFO(name);
    const TemporaryFile file(rows, name);
    const auto tuner = make_tuner("dispatch:" + file.path(), site("ndv4"));
    const auto choose = [&](std::uint64_t bytes, CollectiveKind collective) {
      return tuner->choose(call_of(collective, bytes));
    };
    const Config tree = choose(65536, CollectiveKind::AllReduce);
    CHECK(tree ==
          with_protocol_tiles(shipped_cost_model("a100"), CollectiveKind::AllReduce,
                              {.algorithm = "tree", .protocol = Protocol::LL128, .channels = 3}));
    const Config ring = choose(65540, CollectiveKind::AllReduce);
    CHECK(ring.algorithm == "ring");
    CHECK(ring.protocol == Protocol::Simple);
    CHECK(ring.channels == 8);
    CHECK(ring.slots > 0);
    // NCCL chooses the channels of -1, and for all that is in no line or that it does not offer.
    const auto nccl = make_tuner("nccl-default", site("ndv4"));
    const Config gather = choose(1 << 20, CollectiveKind::AllGather);
    CHECK(gather.protocol == Protocol::LL);
    CHECK(gather.channels == make_tuner("nccl-default::LL:ring", site("ndv4"))
                                 ->choose(call_of(CollectiveKind::AllGather, 1 << 20))
                                 .channels);
    for (const std::uint64_t bytes : {1U << 21, 1U << 24}) {
      const Call call = call_of(CollectiveKind::AllReduce, bytes);
      CHECK(tuner->choose(call) == nccl->choose(call));
    }
    const auto note = [&](std::uint64_t bytes, CollectiveKind collective) {
      return tuner->note(call_of(collective, bytes));
    };
    const std::string skipped = file.path() +
                                ":2: regBuff is '1'; expected -1, because only its own rank knows "
                                "whether a buffer is registered; the line is skipped";
    CHECK(note(1024, CollectiveKind::AllReduce) == skipped);
    CHECK(note(1 << 24, CollectiveKind::AllReduce)
              .find("no line matches, so that NCCL 2.30.7 "
                    "chooses for allreduce of 16MiB") != std::string::npos);
    CHECK(note(1 << 21, CollectiveKind::AllReduce)
              .find("has pat with Simple, which NCCL does not offer here") != std::string::npos);
    CHECK(note(1 << 24, CollectiveKind::AllToAll).find("NCCL asks no tuner") != std::string::npos);
  }
  const TemporaryFile wrong("allreduce,0,1024,rings,ll,2,-1,-1\n", "t.csv");
  CHECK(thrown([&] {
          return make_tuner("dispatch:" + wrong.path(), site("ndv4"));
        }).starts_with(wrong.path() + ":1: unknown algorithm 'rings'"));
  const TemporaryFile csv(rows, "t.csv");
  CHECK(thrown([&] {
          return load_dispatch_table(csv.path());
        }).starts_with(csv.path() + ": is a CSV for NCCL's tuner"));
}

TEST_CASE("tile and slots of the protocol come from the site's cost model",
          "[sim][dispatch-table]") {
  const TableFile file(
      kHead + range("..", "algorithm: ring, protocol: LL, tile: protocol, slots: protocol"));
  const auto tuner = make_tuner("dispatch:" + file.path(), site("ndv4"));
  const CostModel model = shipped_cost_model("a100");
  const ProtocolCost& ll = model.protocols[static_cast<std::size_t>(Protocol::LL)];
  const Config config = tuner->choose(call_of(CollectiveKind::AllReduce, 4));
  CHECK(config.tile_bytes == ll.slot_bytes);
  CHECK(config.tile_bytes > 0);
  CHECK(config.slots == ll.slots);
}

TEST_CASE("tables are per fabric and collective; missing ones use the fallback",
          "[sim][dispatch-table]") {
  const std::string blocks = kHead + range("1KiB..64KiB") + range("128KiB..", "algorithm: tree") +
                             "  - fabric: ring gpus=16 bandwidth=50GB/s\n"
                             "    collective: all_gather\n"
                             "    ranges: [{sizes: .., algorithm: all-pairs}]\n";
  {
    const TableFile file("fallback: {algorithm: hierarchical, channels: 2}\n" + blocks);
    const auto tuner = make_tuner("dispatch:" + file.path(), site("ndv4"));
    CHECK(algorithm_for(*tuner, 1024) == "ring");
    CHECK(algorithm_for(*tuner, 1020) == "hierarchical");
    CHECK(algorithm_for(*tuner, 65536) == "hierarchical");
    CHECK(algorithm_for(*tuner, 1 << 17) == "tree");
    CHECK(tuner->choose(call_of(CollectiveKind::AllReduce, 4)).channels == 2);
    // The fallback has no allgather.
    CHECK_FALSE(tuner->chooses_for(CollectiveKind::AllGather));
    const auto elsewhere =
        make_tuner("dispatch:" + file.path(), site("ring", "ring gpus=16 bandwidth=50 GB/s"));
    CHECK(algorithm_for(*elsewhere, 4, CollectiveKind::AllGather) == "all-pairs");
    CHECK(algorithm_for(*elsewhere, 4) == "hierarchical");
  }
  const TableFile file("fallback: nccl-default:2.8.4\n" + blocks);
  const auto tuner = make_tuner("dispatch:" + file.path(), site("ndv4"));
  const auto nccl = make_tuner("nccl-default:2.8.4", site("ndv4"));
  for (const std::uint64_t bytes : {4U, 65536U}) {
    const Call call = call_of(CollectiveKind::AllReduce, bytes);
    CHECK(tuner->choose(call) == nccl->choose(call));
  }
}

TEST_CASE("a table names a fabric by any name of its options", "[sim][dispatch-table]") {
  for (const std::string label :
       {"ndv4 nodes=2 gpus_per_node=4", "ndv4 servers=2 gpus_per_server=4",
        "ndv4 nodes=2  gpus_per_node=4"}) {
    const TableFile file("tables: [{fabric: " + label +
                         ", collective: allreduce, ranges: [{sizes: .., algorithm: tree}]}]\n");
    const auto tuner =
        make_tuner("dispatch:" + file.path(), site("ndv4", "ndv4 nodes=2 gpus_per_node=4"));
    INFO(label);
    CHECK(algorithm_for(*tuner, 4) == "tree");
    // The table is written as it is.
    CHECK(to_yaml(load_dispatch_table(file.path())).find('"' + label + '"') != std::string::npos);
    CHECK_FALSE(make_tuner("dispatch:" + file.path(), site("ndv4", "ndv4 nodes=3"))
                    ->chooses_for(CollectiveKind::AllReduce));
  }
  const std::string range = "collective: allreduce, ranges: [{sizes: .., algorithm: tree}]";
  CHECK(refusal("tables:\n- {fabric: ndv4 nodes=2, " + range + "}\n- {fabric: ndv4 nodes=2, " +
                range + "}\n") ==
        "t.yaml:3:3: allreduce on fabric 'ndv4 nodes=2' already has a table, in line 2");
}

TEST_CASE("a call in no range is refused with the available ranges", "[sim][dispatch-table]") {
  const TableFile file(kHead + range("1KiB..64KiB"));
  const auto message = [&](const std::string& label, CollectiveKind collective,
                           std::uint64_t bytes) -> std::string {
    try {
      const auto tuner = make_tuner("dispatch:" + file.path(), site("ndv4", label));
      (void)tuner->choose(call_of(collective, bytes));
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(message("", CollectiveKind::AllReduce, 512) ==
        file.path() +
            ": no range for allreduce of 512B on 'ndv4'; the table there has sizes from 1KiB up to "
            "64KiB");
  CHECK(message("", CollectiveKind::AllGather, 1024) ==
        file.path() + ": no range for allgather of 1KiB on 'ndv4'; it has allreduce on 'ndv4'");
  CHECK(message("ndv4 nodes=2", CollectiveKind::AllReduce, 1024) ==
        file.path() +
            ": no range for allreduce of 1KiB on 'ndv4 nodes=2'; it has allreduce on 'ndv4'");
  const TunerSite at{.fabric = fabric("ndv4"), .where = {"e.yaml", 3, 4}};
  try {
    (void)make_tuner("dispatch:gone.yaml", at);
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) == "e.yaml:3:4: dispatch table 'gone.yaml' does not exist");
  }
  CHECK_THROWS_AS(make_tuner("dispatch", site("ndv4")), UserError);
  CHECK_THROWS_AS(make_tuner("ring", site("ndv4")), UserError);
  CHECK_FALSE(is_tuner("ring"));
}

TEST_CASE("wrong tables are refused with the location of the error", "[sim][dispatch-table]") {
  CHECK(refusal(kHead + range("..")) == "accepted");
  CHECK(refusal(kHead + range("1KiB..32KiB") + range("64KiB..1MiB")) ==
        "t.yaml:6:9: no range has the sizes from 32KiB up to 64KiB: a range includes its lower end "
        "but not its upper one; expected sizes from 32KiB on, or a fallback");
  CHECK(refusal("fallback: ring\n" + kHead + range("1KiB..32KiB") + range("64KiB..1MiB")) ==
        "accepted");
  CHECK(refusal(kHead + range("16KiB..1MiB") + range("1KiB..32KiB")) ==
        "t.yaml:5:9: the sizes 16KiB..1MiB overlap 1KiB..32KiB in line 6");
  CHECK(refusal(kHead + range("..") + range("..")) ==
        "t.yaml:6:9: the sizes .. overlap .. in line 5");
  CHECK(refusal(kHead + range("1MiB..1KiB")) ==
        "t.yaml:5:17: sizes is '1MiB..1KiB', an empty range: a range includes its lower end but "
        "not its upper one");
  CHECK(
      refusal(kHead + range("1KiB")) ==
      "t.yaml:5:17: sizes is '1KiB'; expected a range, e.g. '64KiB..1MiB', '..64KiB' or '1MiB..'");
  CHECK(refusal(kHead + range("1x..2")).starts_with("t.yaml:5:17: sizes has the unknown unit 'x'"));
  CHECK(refusal(kHead + range("..", "algorithm: rign"))
            .starts_with("t.yaml:5:32: unknown algorithm 'rign'; expected one of ring, "));
  CHECK(refusal(kHead + range("..", "algorithm: naive")) ==
        "t.yaml:5:32: algorithm 'naive' has no allreduce");
  CHECK(refusal(kHead + range("..", "algorithm: ring, channels: 65")) ==
        "t.yaml:5:48: channels is '65'; expected >= 1, <= 64");
  CHECK(refusal(kHead + range("..", "algorithm: ring, instances: 0")) ==
        "t.yaml:5:49: instances is '0'; expected >= 1, <= 64");
  CHECK(refusal(kHead + range("..", "algorithm: ring, tile: 7x"))
            .starts_with("t.yaml:5:44: tile has the unknown unit 'x'"));
  CHECK(refusal(kHead + range("..", "algorithm: ring, chanels: 2"))
            .find("unknown key of range 'chanels'") != std::string::npos);
  CHECK(refusal(kHead + range("..", "protocol: LL")).find("range has no 'algorithm'") !=
        std::string::npos);
  CHECK(refusal(kHead + range("..", "algorithm: ring, channels: ")) ==
        "t.yaml:5:38: channels has no value");
  CHECK(refusal(kHead + range("..") + kHead.substr(8) + range("..")) ==
        "t.yaml:6:5: allreduce on fabric 'ndv4' already has a table, in line 2");
  CHECK(refusal("fallback: dispatch:u.yaml\n" + kHead + range("..")) ==
        "t.yaml:1:11: fallback is another table; expected an algorithm, nccl-default:VERSION or a "
        "mapping");
  CHECK(refusal("fallback: rng\n" + kHead + range("..")).find("did you mean 'ring'?") !=
        std::string::npos);
  CHECK(refusal("fallback:\n" + kHead + range("..")) == "t.yaml:1:1: fallback has no value");
  CHECK(refusal("tables: []\n").starts_with("t.yaml:1:9: tables is an empty list"));
  CHECK(refusal("").starts_with("t.yaml"));
}

TEST_CASE("a written table reads back the same", "[sim][dispatch-table]") {
  Random random(5);
  const auto draw = [&random](int most) {
    return static_cast<std::size_t>(random.uniform() * (most + 0.999));
  };
  for (int trial = 0; trial < 50; ++trial) {
    DispatchTable table;
    table.description = trial % 2 == 0 ? "" : "with: \"quotes\" # and ü\\";
    if (trial % 3 == 0) table.fallback = DispatchFallback{.tuner = "nccl-default:2.8.4"};
    if (trial % 3 == 1) {
      table.fallback = DispatchFallback{};
      table.fallback->choice.tile_bytes = std::nullopt;
    }
    for (const std::string label : {"ndv4", "ring gpus=16 bandwidth=50 GB/s", "a: b, [c"}) {
      DispatchBlock block{.fabric = label};
      std::uint64_t from = draw(1) == 0 ? 0 : 1000;
      for (std::size_t i = 0; i <= draw(5); ++i) {
        DispatchRange next{.from_bytes = from};
        next.choice.config = {.algorithm = draw(1) == 0 ? "ring" : "tree",
                              .protocol = all_protocols()[draw(2)],
                              .channels = 1 + static_cast<int>(draw(63)),
                              .instances = 1 + static_cast<int>(draw(63)),
                              .threads = 32 * (1 + static_cast<int>(draw(31)))};
        next.choice.tile_bytes = draw(1) == 0 ? TileBytes() : TileBytes(draw(1) * 4096);
        next.choice.slots = draw(1) == 0 ? Slots() : Slots(static_cast<int>(draw(8)));
        next.tiles_by_nccl = draw(1) == 0;
        from += 1 + (std::uint64_t{1} << draw(30));
        next.to_bytes = from;
        block.ranges.push_back(next);
      }
      if (draw(1) == 0) block.ranges.back().to_bytes = DispatchRange::kNoEnd;
      table.blocks.push_back(block);
    }
    const std::string text = to_yaml(table, "first line\nsecond: line\n");
    INFO(text);
    CHECK(text.starts_with("# first line\n# second: line\n"));
    const DispatchTable read = parse_dispatch_table(text, "t.yaml");
    CHECK(to_yaml(read) == to_yaml(table));
    CHECK(read.description == table.description);
    REQUIRE(read.blocks.size() == table.blocks.size());
    for (std::size_t b = 0; b < read.blocks.size(); ++b) {
      CHECK(read.blocks[b].fabric == table.blocks[b].fabric);
      REQUIRE(read.blocks[b].ranges.size() == table.blocks[b].ranges.size());
      for (std::size_t i = 0; i < read.blocks[b].ranges.size(); ++i) {
        const DispatchRange& a = read.blocks[b].ranges[i];
        const DispatchRange& z = table.blocks[b].ranges[i];
        CHECK(a.from_bytes == z.from_bytes);
        CHECK(a.to_bytes == z.to_bytes);
        CHECK(a.choice.config == z.choice.config);
        CHECK(a.choice.tile_bytes == z.choice.tile_bytes);
        CHECK(a.choice.slots == z.choice.slots);
        CHECK(a.tiles_by_nccl == z.tiles_by_nccl);
      }
    }
  }
}

TEST_CASE("ranges and the fallback may spell a collective over levels", "[sim][dispatch-table]") {
  const std::string spelled = "hierarchical:2x4:ring+recursive:subcomms=1:nic=round-robin";
  for (const std::string fallback : {"fallback: hierarchical:nodes:ring\n",
                                     "fallback: {algorithm: hierarchical:nodes:ring}\n"}) {
    const DispatchTable table = parse_dispatch_table(
        fallback + kHead + range("..1MiB", "algorithm: \"" + spelled + "\", channels: 2"),
        "t.yaml");
    CHECK(table.blocks.at(0).ranges.at(0).choice.config.algorithm == spelled);
    CHECK(table.fallback->choice.config.algorithm == "hierarchical:nodes:ring");
    CHECK(table.algorithms.at(spelled).traits.nic == NicUse::RoundRobin);
    // It is written and read again.
    const DispatchTable again = parse_dispatch_table(to_yaml(table), "t.yaml");
    CHECK(again.blocks.at(0).ranges.at(0).choice.config ==
          table.blocks.at(0).ranges.at(0).choice.config);
    CHECK(again.fallback->choice.config.algorithm == "hierarchical:nodes:ring");
  }
  CHECK(refusal(kHead + range("..1MiB", "algorithm: hierarchical:2x4:rings")) ==
        "t.yaml:5:36: algorithm 'hierarchical:2x4:rings': unknown algorithm of a level 'rings'; "
        "expected one of ring, recursive, bruck, broadcast-reduce, all-pairs (did you mean "
        "'ring'?)");
  CHECK(refusal("fallback: hierarchical:nodes:ring:nic=none\n" + kHead + range("..1MiB")) ==
        "t.yaml:1:11: algorithm 'hierarchical:nodes:ring:nic=none': unknown NIC binding 'none'; "
        "expected one of fabric, round-robin, topology-aware, single-nic");
}
