// Cray MPICH as PCCL found it, as a tuner: "cray-mpich".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "collectives/contract.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// Name of the algorithm for MPICH 4's choice for a call of `bytes` bytes on `ranks` ranks
/// (src/mpi/coll, the functions *_intra_auto and the defaults of their MPIR_CVAR limits; a
/// commutative operation): a collective over nodes and inside them, without a shuffle, with MPI's
/// messages, reductions on the host and a single NIC for each direction. MPICH runs one level over
/// all ranks. A ring over two levels moves the same bytes through the NIC in fewer steps; recursive
/// halving and Rabenseifner's algorithm have the same steps. Reduce-scatter by pairs is a ring, and
/// AllReduce of up to 2 KiB by recursive doubling is Rabenseifner's. `nics`: the fabric has a
/// choice of NICs.
[[nodiscard]] std::string cray_mpich_algorithm(CollectiveKind collective, int ranks,
                                               std::uint64_t bytes, bool nics = true);

/// Configures each call as Cray MPICH does in the measurements of PCCL (Singh et al., arXiv
/// 2504.18658, sections III and IV): all GPUs of a node send through one NIC and receive through
/// another, and the host adds. Cray MPICH itself is closed; its algorithms are assumed to be those
/// of MPICH, on which it is based. Undivided messages on one channel. Throws UserError at
/// site.where for an argument; choose() throws UserError for other collectives than AllGather,
/// ReduceScatter and AllReduce.
[[nodiscard]] std::unique_ptr<const Tuner> make_cray_mpich_tuner(std::string_view argument,
                                                                 const TunerSite& site);

}  // namespace cclgym
