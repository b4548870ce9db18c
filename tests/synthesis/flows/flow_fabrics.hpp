// Flow graphs of published machines, and random ones.
#pragma once

#include <cstdint>

#include "synthesis/flow_graph.hpp"

namespace cclgym::test {

/// DGX-1 with V100: 8 GPUs, links of 1 or 2 units of 25 GB/s.
[[nodiscard]] synthesis::FlowGraph dgx1_graph();
/// A ring with links of 1 unit.
[[nodiscard]] synthesis::FlowGraph ring_graph(int ranks);
/// TE-CCL's NDv2: units of 0.5 GB/s; each node sends from GPU 0 and receives at GPU 1 at 12.5 GB/s,
/// between two nodes directly, otherwise through a switch.
[[nodiscard]] synthesis::FlowGraph ndv2_graph(int servers);
/// TE-CCL's DGX-2: units of 0.5 GB/s; 16 GPUs at a switch, odd GPUs send to even GPUs of the other
/// nodes.
[[nodiscard]] synthesis::FlowGraph dgx2_graph(int servers);
/// Nodes of 8 A100: units of 1 GB/s, 300 GB/s to the node's switch, 25 GB/s per GPU to one of two
/// network switches.
[[nodiscard]] synthesis::FlowGraph a100_graph(int servers);
/// Chassis of 4 GPUs: units of 12.5 GB/s, a ring of 4 units in the chassis and 1 unit per GPU to
/// one switch of all chassis. A stand-in for TE-CCL's Internal 1, which is not public.
[[nodiscard]] synthesis::FlowGraph chassis_graph(int chassis);
/// The graph without the edges between two nodes.
[[nodiscard]] synthesis::FlowGraph without_edges(synthesis::FlowGraph graph, int one, int other);
/// A strongly connected graph of GPUs, perhaps with a switch whose capacities are balanced.
[[nodiscard]] synthesis::FlowGraph random_flow_graph(std::uint64_t seed, int ranks,
                                                     bool with_switch);

}  // namespace cclgym::test
