// Jobs from Chakra execution traces (MLCommons), as ASTRA-sim reads them.
#pragma once

#include <string>
#include <vector>

#include "workloads/graph/job_graph.hpp"
#include "workloads/readers/traces/chakra_node.hpp"

namespace cclgym {

struct ChakraOptions {
  /// File of process groups in ASTRA-sim's format, {"1": [0, 1, 2, 3], …}; empty: none.
  std::string groups_file{};
  /// True for ASTRA-sim's rule that a rank runs one communication at a time (receives excepted).
  /// The order is then fixed, where ASTRA-sim takes whatever is ready.
  bool one_communication = false;
};

/// Files of a job: PREFIX.0.et, PREFIX.1.et, …, from the prefix or from the path of one of them. A
/// file without a rank in its name is the only one. Throws UserError that names the missing file if
/// a rank has none.
[[nodiscard]] std::vector<std::string> chakra_files(const std::string& prefix_or_file);

/// Reads one trace per rank; the rank is the position in `files`.
///
/// Dependencies: data dependencies, as in Chakra's own feeder; control dependencies name the caller
/// of an operation, which may be missing or wait for it. A dependency on a node that is not in the
/// trace counts as done, with a note.
///
/// Computation: a COMP_NODE on the GPU with num_ops is work (num_ops, tensor_size) for the roofline
/// model; all other computation takes the node's duration. Memory nodes are traffic of tensor_size.
/// Metadata nodes only pass dependencies on.
///
/// Communication: comm_size is the size of a rank's input in ASTRA-sim (system/…/Ring.cc: the
/// output of an AllGather is n times, that of a ReduceScatter 1/n of it) and in Chakra's converter
/// of PyTorch traces (the sizes of the input tensors). Call::bytes of AllGather and Gather is
/// therefore comm_size * n, and comm_size otherwise. A BARRIER is an AllReduce of 4 B, as in
/// PyTorch. A collective in a group of one rank takes the node's duration. Messages (comm_src,
/// comm_dst: ranks of the job) are in group "world". A node of communication on the host without
/// comm_type and peer is the host's time. Another one that cannot be a call keeps its duration
/// (JobOp::communicates) with a note; if it has none, it is an error.
///
/// Groups: pg_name, as a metadata node of PyTorch or the file of groups defines it; without a name,
/// or with the undefined name "0" as in ASTRA-sim, all ranks ("world"). involved_dim refers to
/// ASTRA-sim's topology and must be true for all dimensions, unless the node has a group.
///
/// Streams: "stream N" where the trace has stream numbers. Otherwise ASTRA-sim starts a node when
/// its dependencies are done, with at most one operation of the CPU, one kernel and one
/// communication at a time. Kernels are on stream "compute", operations of the CPU on "cpu" and
/// memory nodes on "memory", each in the order in which ASTRA-sim would issue them if all took
/// equal time: of the nodes that are ready, the one with the smallest id. The collectives of a
/// group are on a stream of their own (NCCL runs the calls of a communicator in order), and so are
/// the messages to or from a rank with a tag; ChakraOptions::one_communication has ASTRA-sim's
/// rule.
///
/// Throws UserError located in the file, with the byte or node. Ends with check_job() and
/// merge_equal_programs().
[[nodiscard]] JobGraph read_chakra(const std::vector<std::string>& files,
                                   const ChakraOptions& options = {});

/// The same from traces in memory, one per rank, which are consumed.
[[nodiscard]] JobGraph chakra_job(std::vector<ChakraTrace> traces,
                                  const ChakraOptions& options = {});

}  // namespace cclgym
