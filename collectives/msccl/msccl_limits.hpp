// Limits of the MSCCL executors' parsers: microsoft/msccl src/graph/topo.cc and
// Azure/msccl-executor-nccl src/misc/msccl/msccl_parser.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "collectives/ir.hpp"

namespace cclgym::msccl {

inline constexpr int kMostChannels = 32;
inline constexpr int kMostBlocksMicrosoft = 216;
inline constexpr int kMostBlocksAzure = 1024;
inline constexpr int kMostSteps = 256;           ///< per thread block
inline constexpr int kMostCount = 71;            ///< chunks per step
inline constexpr int kMostPeersPerChannel = 32;  ///< per GPU, for each direction
inline constexpr int kMostNodes = 4096;          ///< XML elements per GPU
inline constexpr int kMostChildren = 1024;       ///< per XML element
inline constexpr std::size_t kLongestName = 63;
inline constexpr int kWarp = 32;           ///< nthreads is a multiple of it
inline constexpr int kMostThreads = 1024;  ///< per thread block, CUDA's limit
inline constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

/// Larger programs are refused before they exhaust the memory.
inline constexpr int kMostChunks = 1 << 20;  ///< per buffer
inline constexpr int kMostRanks = 1024;      ///< kMostChildren GPUs in one algo

struct TypeName {
  std::string_view name;
  Opcode opcode;
};
inline constexpr TypeName kTypes[] = {{"s", Opcode::Send},
                                      {"r", Opcode::Recv},
                                      {"rcs", Opcode::RecvCopySend},
                                      {"rrs", Opcode::RecvReduceSend},
                                      {"rrc", Opcode::RecvReduceCopy},
                                      {"rrcs", Opcode::RecvReduceCopySend},
                                      {"cpy", Opcode::Copy},
                                      {"re", Opcode::Reduce},
                                      {"nop", Opcode::Nop}};

}  // namespace cclgym::msccl
