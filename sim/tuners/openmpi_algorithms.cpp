#include "sim/tuners/openmpi_algorithms.hpp"

#include <algorithm>

namespace cclgym {

namespace {

using Kind = CollectiveKind;
constexpr OpenMpiSegments kNone = OpenMpiSegments::None;
constexpr OpenMpiSegments kOptional = OpenMpiSegments::Optional;

constexpr OpenMpiCollective kCollectives[] = {
    {Kind::AllReduce, "MPI_Allreduce", "allreduce"},
    {Kind::AllGather, "MPI_Allgather", "allgather"},
    {Kind::ReduceScatter, "MPI_Reduce_scatter", "reduce_scatter"},
    {Kind::Broadcast, "MPI_Bcast", "bcast"},
    {Kind::Reduce, "MPI_Reduce", "reduce"},
    {Kind::AllToAll, "MPI_Alltoall", "alltoall"},
};

// Table of ompi/mca/coll/tuned/coll_tuned_*_decision.c of OpenMPI 4.1.4 and 5.0.7.
constexpr OpenMpiAlgorithm kAlgorithms[] = {
    {Kind::AllReduce, 1, "basic_linear", "linear", kNone},
    {Kind::AllReduce, 3, "recursive_doubling", "recursive-doubling", kNone},
    {Kind::AllReduce, 4, "ring", "ring", kNone},
    {Kind::AllReduce, 5, "segmented_ring", "ring", OpenMpiSegments::Required},
    {Kind::AllReduce, 6, "rabenseifner", "rabenseifner", kNone},
    {Kind::AllGather, 1, "linear", "linear", kNone},
    {Kind::AllGather, 2, "bruck", "bruck", kNone},
    {Kind::AllGather, 3, "recursive_doubling", "recursive-doubling", kNone},
    {Kind::AllGather, 4, "ring", "ring", kNone},
    {Kind::AllGather, 5, "neighbor", "neighbor-exchange", kNone},
    {Kind::ReduceScatter, 1, "non-overlapping", "linear", kNone},
    {Kind::ReduceScatter, 2, "recursive_halving", "recursive-halving", kNone},
    {Kind::ReduceScatter, 3, "ring", "ring", kNone},
    {Kind::ReduceScatter, 4, "butterfly", "butterfly", kNone},
    {Kind::Broadcast, 1, "basic_linear", "naive", kNone},
    {Kind::Broadcast, 2, "chain", "four-chains", kOptional},
    {Kind::Broadcast, 3, "pipeline", "pipeline", kOptional},
    {Kind::Broadcast, 5, "binary_tree", "binary-tree", kOptional},
    {Kind::Broadcast, 6, "binomial", "binomial-tree", kOptional},
    {Kind::Broadcast, 7, "knomial", "knomial-tree", kOptional},
    {Kind::Broadcast, 8, "scatter_allgather", "scatter-allgather", kNone},
    {Kind::Broadcast, 9, "scatter_allgather_ring", "scatter-allgather-ring", kNone},
    {Kind::Reduce, 1, "linear", "naive", kNone},
    {Kind::Reduce, 2, "chain", "four-chains", kOptional},
    {Kind::Reduce, 3, "pipeline", "pipeline", kOptional},
    {Kind::Reduce, 4, "binary", "binary-tree", kOptional},
    {Kind::Reduce, 5, "binomial", "binomial-tree", kOptional},
    {Kind::Reduce, 7, "rabenseifner", "rabenseifner", kNone},
    {Kind::AllToAll, 1, "linear", "naive", kNone},
    {Kind::AllToAll, 2, "pairwise", "pairwise", kNone},
    {Kind::AllToAll, 3, "modified_bruck", "bruck", kNone},
    {Kind::AllToAll, 4, "linear_sync", "naive", kNone},
};

template <class Table, class Matches>
auto find_in(const Table& table, const Matches& matches) -> decltype(std::begin(table)) {
  const auto found = std::ranges::find_if(table, matches);
  return found == std::end(table) ? nullptr : found;
}

}  // namespace

std::span<const OpenMpiCollective> openmpi_collectives() { return kCollectives; }

const OpenMpiCollective* find_openmpi_collective(CollectiveKind collective) {
  return find_in(kCollectives,
                 [&](const OpenMpiCollective& row) { return row.collective == collective; });
}

std::span<const OpenMpiAlgorithm> openmpi_algorithms() { return kAlgorithms; }

const OpenMpiAlgorithm* find_openmpi_algorithm(CollectiveKind collective, int number) {
  return find_in(kAlgorithms, [&](const OpenMpiAlgorithm& row) {
    return row.collective == collective && row.number == number;
  });
}

const OpenMpiAlgorithm* find_openmpi_algorithm(CollectiveKind collective,
                                               std::string_view algorithm,
                                               std::uint64_t segment_bytes) {
  return find_in(kAlgorithms, [&](const OpenMpiAlgorithm& row) {
    return row.collective == collective && row.algorithm == algorithm &&
           row.takes_segments(segment_bytes);
  });
}

}  // namespace cclgym
