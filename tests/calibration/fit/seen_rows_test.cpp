// Tests of the cells that a fit saw, according to its set, and of the `fitted_to` that a fit
// writes.
#include "calibration/fit/seen_rows.hpp"

#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

MeasuredCell cell_of(const std::string& system, int ranks, CollectiveKind collective,
                     std::uint64_t bytes, std::set<std::string> configs = {""}) {
  MeasuredCell cell;
  cell.system = system;
  cell.ranks = ranks;
  cell.collective = collective;
  cell.bytes = bytes;
  cell.configs = std::move(configs);
  return cell;
}

TEST_CASE("a cell counts as fitted if a fit may have seen any of its rows",
          "[calibration][seen-rows]") {
  ParameterSet set;
  CHECK(seen_by(set, cell_of("A", 8, CollectiveKind::AllReduce, 64)) == Seen::NotSaid);
  set.fitted_to.emplace();
  CHECK(seen_by(set, cell_of("A", 8, CollectiveKind::AllReduce, 64)) == Seen::HeldOut);
  set.fitted_to->push_back({.system = "A",
                            .ranks = {4, 8},
                            .collectives = {"allreduce"},
                            .sizes = {64, 128},
                            .configs = {"x", "y"}});
  const auto seen = [&](const MeasuredCell& cell) { return seen_by(set, cell); };
  CHECK(seen(cell_of("A", 8, CollectiveKind::AllReduce, 64, {"x"})) == Seen::Fitted);
  CHECK(seen(cell_of("A", 8, CollectiveKind::AllReduce, 64, {"w", "x"})) == Seen::Fitted);
  CHECK(seen(cell_of("A", 8, CollectiveKind::AllReduce, 64, {"w"})) == Seen::HeldOut);
  CHECK(seen(cell_of("A", 8, CollectiveKind::AllReduce, 64)) == Seen::Fitted);
  CHECK(seen(cell_of("A", 8, CollectiveKind::AllReduce, 64, {})) == Seen::Fitted);
  CHECK(seen(cell_of("A", 8, CollectiveKind::AllReduce, 256, {"x"})) == Seen::HeldOut);
  CHECK(seen(cell_of("A", 8, CollectiveKind::AllGather, 64, {"x"})) == Seen::HeldOut);
  CHECK(seen(cell_of("A", 2, CollectiveKind::AllReduce, 64, {"x"})) == Seen::HeldOut);
  CHECK(seen(cell_of("B", 8, CollectiveKind::AllReduce, 64, {"x"})) == Seen::HeldOut);
  set.fitted_to->front().collectives = {"all_reduce"};
  set.fitted_to->front().where = {"m.yaml", 3, 5};
  CHECK(thrown([&] {
          return seen(cell_of("A", 8, CollectiveKind::AllReduce, 64));
        }).starts_with("m.yaml:3:5: unknown collective 'all_reduce'; expected one of "));
}

TEST_CASE("the rows of a fit are those of its cells, and those of its start",
          "[calibration][seen-rows]") {
  std::vector<MeasuredCell> cells;
  std::vector<MeasuredCell> others;
  for (const int ranks : {2, 4, 8}) {
    for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather}) {
      for (std::uint64_t bytes = 64; bytes <= 4096; bytes *= 2) {
        // `cells` lacks AllGather on 8 ranks, and its config on 2 ranks differs from the others.
        const bool inside = ranks < 8 || kind == CollectiveKind::AllReduce;
        (inside ? cells : others)
            .push_back(cell_of("A", ranks, kind, bytes, {ranks == 2 ? "one" : "two"}));
      }
      others.push_back(cell_of("A", ranks, kind, 100, {ranks == 2 ? "one" : "two"}));
      others.push_back(cell_of("A", ranks, kind, 64, {ranks == 2 ? "two" : "one"}));
      others.push_back(cell_of("B", ranks, kind, 64, {"one"}));
    }
  }
  std::vector<const MeasuredCell*> places;
  for (const MeasuredCell& cell : cells) places.push_back(&cell);
  const std::vector<FittedRows> start{{.system = "C", .ranks = {16}}};
  ParameterSet set;
  set.fitted_to = fitted_rows_of(places, start);
  CHECK(set.fitted_to->size() == 4);  // A on 2, A on 4, A's AllReduce on 8, and C
  for (const MeasuredCell& cell : cells) CHECK(seen_by(set, cell) == Seen::Fitted);
  for (const MeasuredCell& cell : others) CHECK(seen_by(set, cell) == Seen::HeldOut);
  CHECK(seen_by(set, cell_of("C", 16, CollectiveKind::AllToAll, 5)) == Seen::Fitted);
  // Fitting again from that set adds no row twice.
  CHECK(fitted_rows_of(places, *set.fitted_to).size() == set.fitted_to->size());
  // Rows written as lines of a set are read back.
  const std::vector<FittedRows> again =
      read_fitted_rows(*parse_yaml(fitted_rows_yaml(*set.fitted_to), "m.yaml").find("fitted_to"));
  REQUIRE(again.size() == set.fitted_to->size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    CHECK(again[i].same_rows(set.fitted_to->at(i)));
  }
}

TEST_CASE("shipped sets saw the rows that their docs state", "[calibration][seen-rows]") {
  const auto seen = [](const char* set, const MeasuredCell& cell) {
    return seen_by(shipped_parameter_set(set), cell);
  };
  using enum CollectiveKind;
  // Rows of cluster00 in H100-cluster: h100-cluster00 was fitted on 2 and 8 ranks and holds out 16;
  // h100 holds out all of them.
  const std::uint64_t size = 1ULL << 30;
  for (const int ranks : {2, 8, 16}) {
    const MeasuredCell cell =
        cell_of("H100-cluster", ranks, AllToAll, size, {"cluster00|pairwise"});
    CHECK(seen("h100-cluster00", cell) == (ranks == 16 ? Seen::HeldOut : Seen::Fitted));
    CHECK(seen("h100", cell) == Seen::HeldOut);
  }
  CHECK(seen("h100", cell_of("H100-cluster", 8, AllReduce, size, {"cluster01"})) == Seen::Fitted);
  CHECK(seen("h100", cell_of("H100-cluster", 40, AllReduce, size, {"cluster01"})) == Seen::HeldOut);
  CHECK(seen("h100", cell_of("H100-cluster", 8, AllToAll, size, {"cluster01"})) == Seen::HeldOut);
  // The start of ABCI's set saw rows of ABCI, too; it saw no other systems.
  CHECK(seen("a100", cell_of("ABCI-A100", 16, AllReduce, 1 << 18)) == Seen::Fitted);
  CHECK(seen("a100", cell_of("ABCI-A100", 16, AllReduce, 1 << 19)) == Seen::HeldOut);
  CHECK(seen("a100-abci", cell_of("ABCI-A100", 64, AllReduce, 1 << 19)) == Seen::Fitted);
  CHECK(seen("a100-abci", cell_of("ABCI-A100", 64, Broadcast, 1 << 19)) == Seen::HeldOut);
  CHECK(seen("gh200", cell_of("Alps-GH200", 1024, AllReduce, 1 << 19, {"c"})) == Seen::HeldOut);
  CHECK(seen("gh200", cell_of("Alps-GH200", 32, AllReduce, 1 << 19, {"c"})) == Seen::Fitted);
}

}  // namespace
}  // namespace cclgym::test
