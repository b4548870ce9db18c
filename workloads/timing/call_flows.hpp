// A call as one flow over all its links, with the time that it takes alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/fast/call_timer.hpp"
#include "workloads/timing/call_traffic.hpp"
#include "workloads/timing/group_views.hpp"

namespace cclgym {

/// Load of a call on a link: the link carries `load` times the call's rate.
struct CallLoad {
  std::int32_t link = -1;
  std::int32_t load = 1;
  friend auto operator<=>(const CallLoad&, const CallLoad&) = default;
};

/// Shape of a call, without the links of one communicator.
struct CallFlow {
  double time_s = 0;        ///< time of the call alone on an idle machine, s
  double latency_s = 0;     ///< part in which the busiest link waits, s
  double bytes = 0;         ///< wire bytes of one unit of load, B
  double rate_cap_Bps = 0;  ///< bytes / (time_s - latency_s)
  /// Bytes through a GPU's memory in units of load, averaged over the ranks and rounded up.
  std::int32_t memory_load = 0;
  NicUse nic = NicUse::Fabric;
  std::int32_t sms = 0;  ///< SMs that its thread blocks take on the busiest rank
  /// Messages between two ranks on one channel.
  struct Connection {
    CallTraffic::Connection ends{};
    double units = 0;  ///< their wire bytes in units of load
  };
  std::vector<Connection> connections;
  /// True if switches copy or add: the loads are those of one communicator only, `own_units`.
  bool switched = false;
  std::map<std::int32_t, double> own_units{};  ///< by link
};

/// SMs of a GPU that a program's thread blocks take at once; 0 if the cost model has no SMs.
[[nodiscard]] std::int32_t sms_of(const ProgramOutline& outline, const CostModel& model,
                                  const Config& config, int rank);

/// Loads in whole units; links with less than half a unit are left out.
[[nodiscard]] std::vector<CallLoad> rounded_loads(const std::map<std::int32_t, double>& units);

/// Makes call flows, each once.
class CallFlows {
 public:
  explicit CallFlows(GroupViews& views) : views_(views) {}
  /// Calls the function before each simulation from now on, unless it is empty.
  void tell(std::function<void(const ConfiguredCall&)> on_call) { on_call_ = std::move(on_call); }

  /// Flow of a call, which is simulated alone.
  [[nodiscard]] const CallFlow& of(const ConfiguredCall& planned) { return known(planned).flow; }
  /// Loads of the call on the links of its communicator, by link.
  [[nodiscard]] const std::vector<CallLoad>& loads(const ConfiguredCall& planned) {
    return known(planned).loads;
  }
  [[nodiscard]] std::int64_t simulations() const { return simulations_; }

 private:
  /// A program in the view of a communicator, for all sizes with the same shape of its graph.
  struct Shape {
    std::shared_ptr<const CallTraffic> traffic;
    std::int32_t sms = 0;
    NicUse nic = NicUse::Fabric;
  };
  using ShapeKey = std::tuple<const ThreadBlockProgram*, const GroupView*, Protocol, int,
                              std::uint64_t, int, GraphShape>;
  struct Known {
    CallFlow flow;
    std::vector<CallLoad> loads;
  };
  [[nodiscard]] const Known& known(const ConfiguredCall& planned);
  [[nodiscard]] Known make(const ConfiguredCall& planned);
  [[nodiscard]] static Shape shape_of_lowered(const ConfiguredCall& planned,
                                              const LoweredProgram& lowered);
  [[nodiscard]] Known with_loads(const ConfiguredCall& planned, const Shape& shape, double time_s,
                                 const CallBytes& bytes);
  [[nodiscard]] const ProgramCut& cut_of(std::shared_ptr<const ThreadBlockProgram> program);
  [[nodiscard]] double time_s(const ConfiguredCall& planned);
  [[nodiscard]] std::vector<CallLoad> loads_on(const ConfiguredCall& planned, const CallFlow& flow);
  GroupViews& views_;
  /// Timers, which simulate one node per class of equal nodes, for calls on many ranks.
  struct Timer {
    std::size_t algorithms = 0;  ///< in its library
    std::unique_ptr<CallTimer> timer;
  };
  std::map<const GroupView*, Timer> timers_;
  struct Cut {
    std::shared_ptr<const ThreadBlockProgram> program;  ///< kept alive: its address is the key
    ProgramCut cut;
  };
  std::map<const ThreadBlockProgram*, Cut> cuts_;
  std::map<ShapeKey, Shape> shapes_;
  std::map<const ConfiguredCall*, Known> known_;
  std::int64_t simulations_ = 0;
  std::function<void(const ConfiguredCall&)> on_call_;
};

}  // namespace cclgym
