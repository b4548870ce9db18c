#include "collectives/algorithms/algorithms.hpp"
#include "collectives/library/algorithm_library.hpp"

namespace cclgym {

const AlgorithmLibrary& AlgorithmLibrary::shipped() {
  static const AlgorithmLibrary library = [] {
    using namespace algorithms;
    AlgorithmLibrary all;
    for (const auto& entry : {ring_entry,
                              recursive_doubling_entry,
                              recursive_halving_entry,
                              halving_doubling_entry,
                              tree_entry,
                              all_pairs_entry,
                              naive_entry,
                              spread_ring_entry,
                              hierarchical_entry,
                              hierarchical_composed_entry,
                              two_step_entry,
                              two_step_composed_entry,
                              all_to_next_entry,
                              one_step_entry,
                              hierarchical_all_pairs_entry,
                              chain_entry,
                              three_step_entry,
                              pat_entry,
                              nvls_entry,
                              nvls_tree_entry,
                              collnet_chain_entry,
                              collnet_direct_entry,
                              symmetric_ll_entry,
                              symmetric_llmc_entry,
                              symmetric_ldst_entry,
                              symmetric_ldstmc_entry,
                              linear_entry,
                              pipeline_entry,
                              four_chains_entry,
                              binary_tree_entry,
                              binomial_tree_entry,
                              knomial_tree_entry,
                              scatter_allgather_entry,
                              scatter_allgather_ring_entry,
                              rabenseifner_entry,
                              butterfly_entry,
                              bruck_entry,
                              neighbor_exchange_entry,
                              pairwise_entry,
                              pccl_ring_entry,
                              pccl_rec_entry}) {
      all.add(entry());
    }
    return all;
  }();
  return library;
}

}  // namespace cclgym
