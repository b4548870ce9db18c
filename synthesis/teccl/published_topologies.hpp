// Fabrics of TE-CCL's evaluation (section 6.1, Table 2) as instances.
#pragma once

#include <cstdint>
#include <vector>

#include "synthesis/instance.hpp"
#include "synthesis/symmetry/automorphisms.hpp"
#include "synthesis/timed_schedule.hpp"

namespace cclgym::synthesis {

/// Model of a switch (TE-CCL, section 5.3).
enum class SwitchModel : std::uint8_t {
  /// A hop from GPU to GPU through the switch occupies the ports of both GPUs at once; the switch
  /// adds its latencies only.
  HyperEdge,
  /// The switch is a rank that holds nothing (SHARP): a chunk enters once, and leaves at the tick
  /// of its arrival by any number of ports. It arrives as a whole before it leaves.
  Copying
};

struct SwitchedInstance {
  Instance instance{};
  int gpus = 0;                  ///< ranks 0 .. gpus - 1
  std::vector<char> switches{};  ///< by rank (TimedInstance::switches); empty without switches

  /// Ranks of the GPUs: the group of a demand.
  [[nodiscard]] std::vector<int> gpu_ranks() const;
};

/// Largest group of automorphisms that leaves no GPU in place and takes switches to switches; empty
/// if only the identity does.
[[nodiscard]] InstanceGroup largest_gpu_group(const SwitchedInstance& fabric);

/// Eight GPUs of a DGX-1 in a hybrid cube mesh; a unit is an NVLink of 25 GB/s.
[[nodiscard]] Instance teccl_dgx1(double latency_s = 0.7e-6);

/// `chassis` times eight GPUs as in a DGX-1, NVLink 0.7 us, links of 12.5 GB/s and 1.3 us between
/// chassis. Two chassis have two links, from GPU 0 of one to GPU 1 of the other. More share a
/// switch, with a link from GPU 0 and a link to GPU 1 of each chassis. A unit is 12.5 GB/s. Throws
/// UserError for chassis < 1.
[[nodiscard]] SwitchedInstance teccl_ndv2(int chassis, SwitchModel model = SwitchModel::HyperEdge);

/// Two chassis of 16 GPUs on a switch each, 125 GB/s and 0.35 us per GPU and direction; eight links
/// of 12.5 GB/s and 2.6 us each way from odd GPUs of one chassis to even GPUs of the other. A unit
/// is 12.5 GB/s.
[[nodiscard]] SwitchedInstance teccl_dgx2(SwitchModel model = SwitchModel::HyperEdge);

/// `chassis` times 16 dies of MI250X, joined by 1, 2 or 4 links of 50 GB/s as in Table 2 (56
/// directed edges per chassis); two dies share a NIC of 25 GB/s to one network switch. A unit is
/// 25 GB/s. The graph within a chassis is the one of the fabric amd-mi250x. Throws UserError for
/// chassis < 1.
[[nodiscard]] SwitchedInstance teccl_amd(int chassis, double latency_s = 0.7e-6,
                                         double network_latency_s = 1.3e-6);

/// Stand-in for Internal 1, which is not published: `chassis` times four GPUs in a ring of 50 GB/s
/// and 0.6 us both ways (8 directed edges per chassis), and 12.5 GB/s with 0.75 us from each GPU to
/// one switch. A unit is 12.5 GB/s.
[[nodiscard]] SwitchedInstance teccl_internal1(int chassis,
                                               SwitchModel model = SwitchModel::HyperEdge);

/// Stand-in for Internal 2, which is not published: `chassis` times two GPUs, joined by 50 GB/s and
/// 0.6 us (2 directed edges per chassis), with 12.5 GB/s and 0.75 us to one switch per GPU.
[[nodiscard]] SwitchedInstance teccl_internal2(int chassis,
                                               SwitchModel model = SwitchModel::HyperEdge);

}  // namespace cclgym::synthesis
