// Names of NCCL's collectives, algorithms and protocols in cclgym's action spaces, in the CSV of
// NCCL's example tuner, and in NCCL itself.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "deploy/nccl_plugin/nccl_tuner_abi.h"

namespace cclgym {

/// The collectives that NCCL tunes, in the order of its numbers, by the names in cclgym and the
/// CSV.
inline constexpr std::array<std::string_view, 5> kNcclCollectiveNames{
    "broadcast", "reduce", "allgather", "reducescatter", "allreduce"};

/// Names of an algorithm.
struct NcclAlgorithmNames {
  std::string_view ours;  ///< level of the knob "algorithm"
  std::string_view csv;
};
inline constexpr std::array<NcclAlgorithmNames, CCLGYM_NCCL_ALGORITHMS> kNcclAlgorithmNames{
    {{"tree", "tree"},
     {"ring", "ring"},
     {"collnet-direct", "collnet_direct"},
     {"collnet-chain", "collnet_chain"},
     {"nvls", "nvls"},
     {"nvls-tree", "nvls_tree"},
     {"pat", "pat"}}};
/// Names of the protocols in the order of NCCL's numbers; the CSV has them in lower case.
inline constexpr std::array<std::string_view, CCLGYM_NCCL_PROTOCOLS> kNcclProtocolNames{
    "LL", "LL128", "Simple"};

[[nodiscard]] std::string lower_case(std::string_view text);
/// NCCL's number for a name in lower case; nullopt if there is no such name.
[[nodiscard]] std::optional<int> nccl_collective_of(std::string_view name);
[[nodiscard]] std::optional<int> nccl_algorithm_of_ours(std::string_view name);
[[nodiscard]] std::optional<int> nccl_algorithm_of_csv(std::string_view name);
/// NCCL's number for a protocol's name in any letter case.
[[nodiscard]] std::optional<int> nccl_protocol_of(std::string_view name);

}  // namespace cclgym
