// Rows of SCCL: Tables 4 and 5, AllToAll (24, 8, 8), and the front of AllGather.
#include <fmt/format.h>

#include "bench/synthesis/bars.hpp"
#include "bench/synthesis/rows.hpp"
#include "core/index.hpp"
#include "synthesis/proofs/rup_checker.hpp"
#include "synthesis/published_instances.hpp"
#include "synthesis/sccl/bounds.hpp"
#include "synthesis/sccl/collective_steps.hpp"
#include "synthesis/sccl/inversion.hpp"
#include "synthesis/sccl/pareto.hpp"

namespace cclgym::bench {

namespace {

using namespace synthesis;
using test::dgx1_instance;
using test::ring_instance;
using enum CollectiveKind;

enum class Claim : std::uint8_t { None, Latency, Bandwidth, Both };

// A row of the paper's tables, in its notation.
struct Published {
  CollectiveKind collective;
  int chunks;
  int steps;
  int rounds;
  Claim claim;
};

const std::vector<Published>& table4() {
  static const std::vector<Published> rows{
      {AllGather, 1, 2, 2, Claim::Latency},      {AllGather, 6, 7, 7, Claim::Bandwidth},
      {AllGather, 6, 3, 7, Claim::Bandwidth},    {AllGather, 2, 2, 3, Claim::Latency},
      {AllReduce, 8, 4, 4, Claim::Latency},      {AllReduce, 32, 10, 10, Claim::None},
      {AllReduce, 48, 14, 14, Claim::Bandwidth}, {AllReduce, 48, 6, 14, Claim::Bandwidth},
      {AllReduce, 16, 4, 6, Claim::Latency},     {Broadcast, 2, 2, 2, Claim::Latency},
      {Broadcast, 18, 5, 5, Claim::None},        {Gather, 6, 7, 7, Claim::Bandwidth},
      {Gather, 6, 3, 7, Claim::Bandwidth},       {AllToAll, 8, 3, 3, Claim::None},
      {AllToAll, 8, 2, 3, Claim::Latency},       {AllToAll, 24, 8, 8, Claim::Bandwidth},
      {AllToAll, 24, 2, 8, Claim::Both}};
  return rows;
}

const std::vector<Published>& table5() {
  static const std::vector<Published> rows{
      {AllGather, 1, 4, 4, Claim::Latency}, {AllGather, 2, 7, 7, Claim::Bandwidth},
      {AllReduce, 8, 8, 8, Claim::Latency}, {AllReduce, 16, 14, 14, Claim::Bandwidth},
      {AllReduce, 16, 8, 14, Claim::Both},  {Broadcast, 2, 4, 4, Claim::Latency},
      {Broadcast, 4, 5, 5, Claim::None},    {Broadcast, 6, 6, 6, Claim::None},
      {Broadcast, 8, 7, 7, Claim::None},    {Broadcast, 10, 8, 8, Claim::None},
      {Gather, 1, 4, 4, Claim::Latency},    {Gather, 2, 4, 7, Claim::Both},
      {AllToAll, 8, 4, 8, Claim::Both}};
  return rows;
}

// Reasons why a schedule cannot have fewer steps or rounds.
struct StepProofs {
  bool fewest_steps = false;
  bool fewest_rounds_per_chunk = false;
  std::string text{};
};

// `row` is one half of an AllReduce: both halves have the same bounds, as all links are duplex.
StepProofs prove(const Instance& instance, CollectiveKind kind, int chunks, int steps, int rounds) {
  const Demand one = make_demand(kind, instance.ranks, 1);
  StepProofs proofs;
  const auto add = [&](const std::string& text) {
    proofs.text += (proofs.text.empty() ? "" : "; ") + text;
  };
  if (min_steps(instance, one) == steps) {
    proofs.fewest_steps = true;
    add(fmt::format("S: distance {}", steps));
  }
  const Rational cut = rounds_cut(instance, one).rounds;
  if (Rational(rounds, chunks) == cut) {
    proofs.fewest_rounds_per_chunk = true;
    add(fmt::format("R/C: cut {}", text_of(cut)));
    return proofs;
  }
  if (rounds == steps) {
    add("R: one round per step");
    return proofs;
  }
  if (rounds == rounded_up(cut * std::int64_t{chunks})) {
    add(fmt::format("R: cut {} rounded up", text_of(cut)));
    return proofs;
  }
  const std::optional<Rational> relaxed = relaxed_rounds(instance, one, steps);
  if (relaxed && rounds == rounded_up(*relaxed * std::int64_t{chunks})) {
    add(fmt::format("R: LP dual {}", text_of(*relaxed)));
    return proofs;
  }
  UnsatCertificate certificate;
  if (prove_infeasible(instance, make_demand(kind, instance.ranks, chunks), steps, rounds - 1,
                       certificate) == SatResult::Unsatisfiable &&
      check_rup(certificate.formula, certificate.proof).empty()) {
    add(fmt::format("R: DRAT of {}", rounds - 1));
  }
  return proofs;
}

bool is_proven(const StepProofs& proofs, Claim claim) {
  const bool steps = claim == Claim::Latency || claim == Claim::Both;
  const bool rounds = claim == Claim::Bandwidth || claim == Claim::Both;
  return (!steps || proofs.fewest_steps) && (!rounds || proofs.fewest_rounds_per_chunk);
}

struct FoundRow {
  CollectiveSteps schedule{};
  StepProofs proofs{};
};

Bar table_bar(const Instance& instance, const Published& row, const std::string& table) {
  const int chunks = row.chunks / sccl_chunk_factor(row.collective, instance.ranks);
  Bar bar{.name = fmt::format("{} {} ({}, {}, {})", instance.name == "z52" ? "Z52" : "DGX-1",
                              to_string(row.collective), row.chunks, row.steps, row.rounds),
          .target = "as published",
          .limit_s = 1};
  const int halves = row.collective == AllReduce ? 2 : 1;
  const CollectiveKind copied = halves == 2 ? AllGather : row.collective;
  const FoundRow found = measured(bar, [&] {
    FoundRow result;
    result.schedule =
        solve_collective_steps(instance, row.collective, chunks, row.steps, row.rounds);
    result.proofs = prove(instance, copied, chunks, row.steps / halves, row.rounds / halves);
    return result;
  });
  const CollectiveSteps& schedule = found.schedule;
  const bool right =
      schedule.status == SatResult::Satisfiable &&
      check_schedule(instance, schedule.demand, schedule.copies).empty() &&
      (halves == 1 || check_reduction(instance, schedule.demand, schedule.reductions).empty());
  bar.value =
      right ? fmt::format("({}, {}, {})", row.chunks, schedule.steps(), schedule.total_rounds())
            : "none";
  bar.reached = right && schedule.steps() <= row.steps && schedule.total_rounds() <= row.rounds &&
                is_proven(found.proofs, row.claim) && !found.proofs.text.empty();
  bar.proof = (halves == 2 ? "per half: " : "") + found.proofs.text;
  bar.peer = tool_peer(table, instance.name == "z52" ? "ring8" : "dgx1",
                       std::string(to_string(row.collective)), std::to_string(row.chunks),
                       std::to_string(row.steps), std::to_string(row.rounds));
  return bar;
}

std::vector<Bar> print_table(const Instance& instance, const std::vector<Published>& rows,
                             const std::string& table) {
  std::vector<Bar> bars;
  for (const Published& row : rows) {
    bars.push_back(table_bar(instance, row, table));
    print_bar(bars.back());
  }
  return bars;
}

}  // namespace

void sccl_tables() {
  std::vector<Bar> bars = print_table(dgx1_instance(), table4(), "SCCL Table 4");
  const std::vector<Bar> second = print_table(ring_instance(8, "z52"), table5(), "SCCL Table 5");
  bars.insert(bars.end(), second.begin(), second.end());
  print_bar(sum_of(bars, "all 30 rows", 10));
}

void dgx1_alltoall() {
  const Published row{AllToAll, 24, 8, 8, Claim::Bandwidth};
  Bar bar = table_bar(dgx1_instance(), row, "SCCL Table 4");
  bar.target = "8/3 rounds per pair chunk";
  bar.value = bar.reached ? "8/3" : bar.value;
  print_bar(bar);
}

void dgx1_front() {
  const Instance dgx1 = dgx1_instance();
  Bar bar{.name = "DGX-1 AllGather, all of the front",
          .target = "{(2, 3/2), (3, 7/6)}",
          .limit_s = 0.5,
          .peer = tool_peer("whole Pareto front", "dgx1", "allgather")};
  const ParetoFront front = measured(bar, [&] { return pareto_front(dgx1, AllGather); });
  bar.reached = front.complete;
  for (const ParetoPoint& point : front.points) {
    const StepTriple& triple = point.triple;
    bar.value += fmt::format("{}({}, {})", bar.value.empty() ? "{" : ", ", triple.steps,
                             text_of(Rational(triple.rounds, triple.chunks)));
    bar.proof += fmt::format("{}{} steps: {}", bar.proof.empty() ? "" : "; ", triple.steps,
                             to_string(point.proof));
    bar.reached =
        bar.reached && point.proof != RoundsProof::None &&
        check_schedule(dgx1, make_demand(AllGather, 8, triple.chunks), point.schedule).empty();
  }
  bar.value += "}";
  bar.reached = bar.reached && bar.value == bar.target;
  print_bar(bar);
}

}  // namespace cclgym::bench
