// Fixtures for the tests of the engines.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/graph/transfer_graph.hpp"

namespace cclgym::test {

inline std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const EngineInfo& info : engine_infos()) {
    names.push_back(info.name);
  }
  return names;
}

inline std::int32_t add_route(TransferGraph& graph, std::initializer_list<std::int32_t> links) {
  const std::vector<std::int32_t> list(links);
  return graph.add_route(list);
}

inline std::shared_ptr<const TransferGraph> finished(TransferGraph graph) {
  graph.finish();
  return std::make_shared<const TransferGraph>(std::move(graph));
}

/// A copy of a result, because the next run overwrites the engine's spans.
struct Times {
  double makespan_s = 0;
  std::vector<double> start_s;
  std::vector<double> end_s;
  bool operator==(const Times&) const = default;
};

inline Times copy_of(const EngineResult& result) {
  return {result.makespan_s,
          {result.start_s.begin(), result.start_s.end()},
          {result.end_s.begin(), result.end_s.end()}};
}

inline Times run_once(const std::string& engine_name, std::shared_ptr<const TransferGraph> graph) {
  const auto engine = make_engine(engine_name);
  engine->load(std::move(graph));
  return copy_of(engine->run());
}

/// Every firing, in the order in which the engine reported them.
class FiringLog : public FiringObserver {
 public:
  struct Firing {
    TransferId node;
    std::int32_t iteration;
    double start_s;
    double end_s;
    bool operator==(const Firing&) const = default;
  };
  void on_firing(TransferId node, std::int32_t iteration, double start_s, double end_s) override {
    firings.push_back({node, iteration, start_s, end_s});
  }
  std::vector<Firing> firings;
};

}  // namespace cclgym::test
