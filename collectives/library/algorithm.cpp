#include "collectives/library/algorithm.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <stdexcept>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/outlines.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"

namespace cclgym {

namespace {

/// How many ranks an algorithm runs on; never fewer than 2.
enum class Ranks : std::uint8_t { Any, Even, PowerOfTwo };

struct Entry {
  AlgorithmInfo info;
  Ranks ranks;
  Program (*trace)(const AlgorithmRequest&);
};

const std::vector<Entry>& entries() {
  using Kind = CollectiveKind;
  static const std::string any = "any number of ranks >= 2";
  static const std::string even = "an even number >= 2";
  static const std::string power = "a power of two >= 2";
  static const std::vector<Entry> table = {
      {{"ring",
        "every chunk travels once round the ring of its channel; optimal bandwidth",
        {Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter, Kind::Broadcast},
        any,
        Runtime::Nccl},
       Ranks::Any,
       algorithms::ring},
      {{"recursive-doubling",
        "partners at distance 1, 2, 4, … exchange all they have; log2(ranks) steps",
        {Kind::AllReduce, Kind::AllGather},
        power},
       Ranks::PowerOfTwo,
       algorithms::recursive_doubling},
      {{"recursive-halving",
        "partners at distance ranks/2, …, 2, 1 exchange halves and add; log2(ranks) steps",
        {Kind::ReduceScatter},
        power},
       Ranks::PowerOfTwo,
       algorithms::recursive_halving},
      {{"halving-doubling",
        "Rabenseifner's: recursive-halving ReduceScatter, then recursive-doubling AllGather",
        {Kind::AllReduce},
        power},
       Ranks::PowerOfTwo,
       algorithms::halving_doubling},
      {{"tree",
        "NCCL's double binary tree over servers, half of the channels on each tree; chains inside",
        {Kind::AllReduce, Kind::Broadcast, Kind::Reduce},
        any,
        Runtime::Nccl},
       Ranks::Any,
       algorithms::tree},
      {{"all-pairs",
        "every rank exchanges with every other directly; one or two steps, for small sizes",
        {Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter},
        any,
        Runtime::Interpreter,
        true},
       Ranks::Any,
       algorithms::all_pairs},
      {{"naive",
        "each chunk goes straight to where it must be",
        {Kind::AllToAll, Kind::Broadcast, Kind::Reduce, Kind::Gather, Kind::Scatter,
         Kind::AllToNext},
        any,
        Runtime::Nccl},
       Ranks::Any,
       algorithms::naive},
      {{"spread-ring",
        "one logical ring whose chunks take the channels in turn",
        {Kind::AllReduce},
        any},
       Ranks::Any,
       algorithms::spread_ring},
      {{"hierarchical",
        "ReduceScatter in each server, AllReduce across servers, AllGather in each server",
        {Kind::AllReduce},
        any},
       Ranks::Any,
       algorithms::hierarchical},
      {{"hierarchical-composed",
        "hierarchical, composed of NCCL's collectives: three kernels, one after another",
        {Kind::AllReduce},
        any,
        Runtime::Nccl},
       Ranks::Any,
       algorithms::hierarchical_composed},
      {{"two-step",
        "chunks for a rank of another server cross the network together, as one message",
        {Kind::AllToAll},
        any},
       Ranks::Any,
       algorithms::two_step},
      {{"two-step-composed",
        "two-step by hand: NCCL sends, a copy kernel, NCCL sends, one after another",
        {Kind::AllToAll},
        any,
        Runtime::Nccl},
       Ranks::Any,
       algorithms::two_step_composed},
      {{"all-to-next",
        "all ranks of a server help its last one to reach the next server",
        {Kind::AllToNext},
        any},
       Ranks::Any,
       algorithms::all_to_next},
      {{"one-step",
        "every rank sends all it has to every other; for the smallest sizes",
        {Kind::AllReduce},
        any},
       Ranks::Any,
       algorithms::one_step},
      {{"hierarchical-all-pairs",
        "all-pairs in each server and across servers, three steps; for small sizes",
        {Kind::AllReduce},
        any},
       Ranks::Any,
       algorithms::hierarchical_all_pairs},
      {{"chain",
        "up and down a chain of the ranks, a chain a channel; needs links between neighbours only",
        {Kind::AllReduce},
        any},
       Ranks::Any,
       algorithms::chain},
      {{"three-step",
        "all that a server has for another crosses the network together, through one rank each",
        {Kind::AllToAll},
        any},
       Ranks::Any,
       algorithms::three_step},
      {{"pat",
        "NCCL's Parallel Aggregated Trees; log2(ranks) steps, large messages to near ranks",
        {Kind::AllGather, Kind::ReduceScatter},
        any,
        Runtime::Nccl},
       Ranks::Any,
       algorithms::pat},
      {{"nvls",
        "NVSwitches add up and hand out (NVLink SHARP); a GPU sends and receives its data once",
        {Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter},
        any,
        Runtime::Nccl,
        false,
        SwitchUse::Everywhere},
       Ranks::Any,
       algorithms::nvls},
      {{"nvls-tree",
        "nvls in each server, NCCL's double binary trees between the servers",
        {Kind::AllReduce},
        any,
        Runtime::Nccl,
        false,
        SwitchUse::InServers},
       Ranks::Any,
       algorithms::nvls_tree},
      {{"linear",
        "all goes straight to rank 0, and from there straight to where it must be",
        {Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter},
        any},
       Ranks::Any,
       algorithms::linear},
      {{"pipeline",
        "a chain of the ranks from the root on; tiles follow each other",
        {Kind::Broadcast, Kind::Reduce},
        any},
       Ranks::Any,
       algorithms::pipeline},
      {{"four-chains",
        "four chains of the ranks, which meet at the root",
        {Kind::Broadcast, Kind::Reduce},
        any},
       Ranks::Any,
       algorithms::four_chains},
      {{"binary-tree",
        "a complete binary tree of the ranks, as OpenMPI numbers it",
        {Kind::Broadcast, Kind::Reduce},
        any},
       Ranks::Any,
       algorithms::binary_tree},
      {{"binomial-tree",
        "a binomial tree of the ranks; log2(ranks) steps",
        {Kind::Broadcast, Kind::Reduce},
        any},
       Ranks::Any,
       algorithms::binomial_tree},
      {{"knomial-tree", "a k-nomial tree of the ranks of radix 4", {Kind::Broadcast}, any},
       Ranks::Any,
       algorithms::knomial_tree},
      {{"scatter-allgather",
        "Scatter along a binomial tree, then recursive-doubling AllGather",
        {Kind::Broadcast},
        power},
       Ranks::PowerOfTwo,
       algorithms::scatter_allgather},
      {{"scatter-allgather-ring",
        "Scatter along a binomial tree, then AllGather round a ring",
        {Kind::Broadcast},
        any},
       Ranks::Any,
       algorithms::scatter_allgather_ring},
      {{"rabenseifner",
        "halving-doubling the other way round: the largest messages go to the nearest ranks",
        {Kind::AllReduce, Kind::Reduce},
        power},
       Ranks::PowerOfTwo,
       algorithms::rabenseifner},
      {{"butterfly",
        "halves to partners at distance 1, 2, 4, …, then each slice to its owner",
        {Kind::ReduceScatter},
        power},
       Ranks::PowerOfTwo,
       algorithms::butterfly},
      {{"bruck",
        "Bruck's: messages at distance 1, 2, 4, …, between local copies; log2(ranks) steps",
        {Kind::AllGather, Kind::AllToAll},
        any},
       Ranks::Any,
       algorithms::bruck},
      {{"neighbor-exchange",
        "two slices at a time, in turn with one neighbour and the other; ranks/2 steps",
        {Kind::AllGather},
        even},
       Ranks::Even,
       algorithms::neighbor_exchange},
      {{"pairwise",
        "one partner after the other: to the k-th rank on, from the k-th before; ranks - 1 steps",
        {Kind::AllToAll},
        any},
       Ranks::Any,
       algorithms::pairwise},
  };
  return table;
}

const Entry& entry(std::string_view name) {
  for (const Entry& candidate : entries()) {
    if (candidate.info.name == name) return candidate;
  }
  std::vector<std::string> names;
  for (const Entry& candidate : entries()) names.push_back(candidate.info.name);
  throw UserError(unknown_name_message("algorithm", name, names));
}

void require_rings(const AlgorithmRequest& request) {
  for (const auto& ring : request.rings) {
    std::vector<int> sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    bool valid = std::ssize(sorted) == request.ranks;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      valid = valid && sorted[i] == static_cast<int>(i);
    }
    if (!valid) {
      throw UserError(fmt::format("ring {}; expected each of the ranks 0 to {} once",
                                  fmt::join(ring, "-"), request.ranks - 1));
    }
  }
}

}  // namespace

const std::vector<AlgorithmInfo>& algorithm_infos() {
  static const std::vector<AlgorithmInfo> infos = [] {
    std::vector<AlgorithmInfo> list;
    for (const Entry& each : entries()) list.push_back(each.info);
    return list;
  }();
  return infos;
}

const AlgorithmInfo& algorithm_info(std::string_view name) { return entry(name).info; }

bool supports(const AlgorithmInfo& algorithm, CollectiveKind collective) {
  return std::ranges::find(algorithm.collectives, collective) != algorithm.collectives.end();
}

CompileOptions deployed_compile_options(std::string_view algorithm) {
  return {.share_blocks = algorithm_info(algorithm).shares_blocks, .join_forwarding = false};
}

std::optional<std::string> rank_misfit(std::string_view algorithm, int ranks) {
  const Entry& chosen = entry(algorithm);
  const bool fits =
      ranks >= 2 && (chosen.ranks != Ranks::Even || ranks % 2 == 0) &&
      (chosen.ranks != Ranks::PowerOfTwo || std::has_single_bit(static_cast<unsigned>(ranks)));
  if (fits) return std::nullopt;
  return fmt::format("{} does not run on {} rank{}: it needs {}", chosen.info.name, ranks,
                     ranks == 1 ? "" : "s", chosen.info.rank_rule);
}

namespace {

// The request with its servers known. Throws UserError if the algorithm cannot serve it.
AlgorithmRequest checked(const Entry& chosen, const AlgorithmRequest& request) {
  const std::string& name = chosen.info.name;
  if (!supports(chosen.info, request.collective)) {
    std::vector<std::string_view> names;
    for (const CollectiveKind kind : chosen.info.collectives) names.push_back(to_string(kind));
    throw UserError(fmt::format("{} has no {}; expected one of {}", name,
                                to_string(request.collective), fmt::join(names, ", ")));
  }
  if (const auto misfit = rank_misfit(name, request.ranks)) throw UserError(*misfit);
  if (request.channels < 1) {
    throw UserError(fmt::format("{} channels; expected at least 1", request.channels));
  }
  require_rings(request);
  AlgorithmRequest whole = request;
  // A tree over ranks of which no servers are known has ranks for nodes, not one long chain.
  if (whole.ranks_per_server == 0) {
    whole.ranks_per_server = chosen.trace == algorithms::tree ? 1 : request.ranks;
  }
  if (whole.ranks_per_server < 1 || request.ranks % whole.ranks_per_server != 0) {
    throw UserError(fmt::format("{} ranks on servers of {}; expected the same number on each",
                                request.ranks, whole.ranks_per_server));
  }
  return whole;
}

}  // namespace

Program trace_algorithm(std::string_view name, const AlgorithmRequest& request) {
  const Entry& chosen = entry(name);
  return chosen.trace(checked(chosen, request));
}

std::optional<ProgramOutline> outline_algorithm(std::string_view name,
                                                const AlgorithmRequest& request) {
  const Entry& chosen = entry(name);
  const AlgorithmRequest whole = checked(chosen, request);
  if (chosen.trace == algorithms::ring) return algorithms::ring_outline(whole);
  if (chosen.trace == algorithms::hierarchical) return algorithms::hierarchical_outline(whole);
  return std::nullopt;
}

std::shared_ptr<const ThreadBlockProgram> build_algorithm(std::string_view name,
                                                          const AlgorithmRequest& request) {
  auto program = std::make_shared<ThreadBlockProgram>(
      compile(trace_algorithm(name, request), request.compile));
  program->runtime = algorithm_info(name).runtime;
  const VerifyReport report = verify(*program);
  if (!report.ok) {
    throw std::logic_error(fmt::format("the shipped program {} {} for {} ranks is wrong:\n{}", name,
                                       to_string(request.collective), request.ranks,
                                       report.to_string()));
  }
  return program;
}

}  // namespace cclgym
