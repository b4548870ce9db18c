// The knobs of a tuner, and the sets of them that a system lets it turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// The dimensions of the action, in the order in which a policy should decide: whether a value is
/// legal depends on the earlier dimensions.
enum class Knob : std::uint8_t {
  Algorithm,  ///< the program, or the tuner that chooses it (NCCL's default, a size-dispatch table)
  Inter,      ///< exchange between nodes, for algorithms "hierarchical" and "pccl"
  Protocol,
  Channels,
  Instances,  ///< copies of the program: MSCCL's parallelisation factor r
  Threads,    ///< threads per thread block
  Chunk,      ///< amount of data that moves as one message
  Nic,        ///< binding of GPUs to NICs
  // Knobs of PCCL's engine (env/tuning/actions/pccl_plans.hpp).
  Hierarchy,  ///< levels into which the ranks are divided
  Reduce,     ///< processor that adds the data of messages between nodes
  Subcomms,   ///< groups across nodes that run at once
  Shuffle,    ///< place of the permutation that puts slices in order
};
inline constexpr std::size_t kKnobs = 12;
[[nodiscard]] std::string_view to_string(Knob knob);

/// Knobs that can be turned on the system that the policy will run on.
enum class ActionProfile : std::uint8_t {
  StockNccl,  ///< tuner plugin of NCCL: algorithm, protocol, channels
  Nccl230,    ///< tuner plugin of NCCL 2.30: StockNccl's knobs, and the chunk size
  Offline,    ///< everything: programs of an interpreter, instances, threads, NIC binding
  OpenMpi,    ///< OpenMPI's algorithms and segment sizes (sim/tuners/openmpi_algorithms.hpp)
  Pccl,       ///< backends, and the parameters of PCCL's engine over levels
};
[[nodiscard]] const std::vector<std::string>& action_profile_names();

}  // namespace cclgym
