// Checks the arrows of timelines for every shipped algorithm: each message starts in the slice of
// the step that sends it and ends in the slice of the step that receives it.
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/sim_fixtures.hpp"
#include "sim/timeline.hpp"
#include "support/catch.hpp"
#include "support/shipped_algorithms.hpp"
#include "support/thorough.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

using Track = std::pair<int, int>;  // rank and number of the track

struct ArrowEnd {
  Track track;
  std::int64_t at_ns = 0;
};

// The arrows of a trace, with dates in integer nanoseconds.
struct Arrows {
  std::map<std::size_t, std::vector<ArrowEnd>> starts;    // by id
  std::map<std::size_t, std::vector<ArrowEnd>> finishes;  // by id
  std::map<Track, std::map<std::int64_t, std::pair<std::int64_t, std::string>>> slices;

  // Name of the track's slice that contains the date; empty if there is no such slice.
  [[nodiscard]] std::string slice_around(const ArrowEnd& end) const {
    const auto track = slices.find(end.track);
    if (track == slices.end()) return {};
    auto after = track->second.upper_bound(end.at_ns);
    if (after == track->second.begin()) return {};
    --after;
    return end.at_ns < after->second.first ? after->second.second : std::string();
  }
};

std::int64_t whole_ns(const nlohmann::json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

Arrows arrows_of(const SimulationRecord& record, const Fabric& fabric) {
  std::ostringstream text;
  write_timeline(text, record, fabric);
  const nlohmann::json trace = nlohmann::json::parse(text.str());
  Arrows arrows;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    const std::string phase = event["ph"];
    if (phase == "M" || phase == "i" || event["pid"] >= fabric.ranks()) continue;
    const Track track{event["pid"].get<int>(), event["tid"].get<int>()};
    const std::int64_t at_ns = whole_ns(event["ts"]);
    if (phase == "X") {
      arrows.slices[track][at_ns] = {at_ns + whole_ns(event["dur"]), event["name"]};
    } else if (phase == "s") {
      arrows.starts[event["id"]].push_back({track, at_ns});
    } else if (phase == "f") {
      CHECK(event["bp"] == "e");  // the slice around the date, not the next slice
      arrows.finishes[event["id"]].push_back({track, at_ns});
    }
  }
  return arrows;
}

// The peer that a step's name sends to or receives from; -1 if it has no peer.
int peer_of(const std::string& name, const std::string& word) {
  const std::size_t place = name.find(word);
  return place == std::string::npos ? -1 : std::stoi(name.substr(place + word.size()));
}

// Number of messages that a program sends per tile, counted from its steps.
std::size_t messages_of(const ThreadBlockProgram& program) {
  std::size_t messages = 0;
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) messages += sends(step.opcode) ? 1U : 0U;
    }
  }
  return messages;
}

void check_arrows(const SimulationRecord& record, const Fabric& fabric, bool groups) {
  const Arrows arrows = arrows_of(record, fabric);
  if (!groups) {  // a group moves the messages of several steps at once
    CHECK(arrows.starts.size() == messages_of(*record.lowered.program) *
                                      static_cast<std::size_t>(record.result.simulated_tiles));
  }
  CHECK_FALSE(arrows.starts.empty());
  CHECK(arrows.starts.size() == arrows.finishes.size());
  int unlike = 0;
  for (const auto& [id, starts] : arrows.starts) {
    const auto found = arrows.finishes.find(id);
    if (starts.size() != 1 || found == arrows.finishes.end() || found->second.size() != 1) {
      ++unlike;
      continue;
    }
    const ArrowEnd& start = starts.front();
    const ArrowEnd& finish = found->second.front();
    const std::string from = arrows.slice_around(start);
    const std::string to = arrows.slice_around(finish);
    const bool joins =
        peer_of(from, " to ") == finish.track.first && peer_of(to, " from ") == start.track.first;
    if (!joins || finish.at_ns < start.at_ns) {
      INFO("arrow " << id << " from '" << from << "' at " << start.at_ns << " ns to '" << to
                    << "' at " << finish.at_ns << " ns");
      CHECK(joins);
      CHECK(finish.at_ns >= start.at_ns);
      ++unlike;
    }
  }
  CHECK(unlike == 0);
}

std::shared_ptr<const Fabric> spec_fabric(const FabricSpec& spec) { return make_fabric(spec); }

}  // namespace

TEST_CASE("every message of every shipped algorithm is an arrow with both ends",
          "[sim][timeline-arrows][thorough]") {
  const std::vector<std::shared_ptr<const Fabric>> fabrics{
      fabric("ring", 4), fabric("dgx1"), spec_fabric({.name = "ndv4", .servers = 2}),
      spec_fabric({.name = "hgx-h100", .servers = 2, .sharp = true}), fabric("hgx-h100")};
  std::set<std::string> drawn;
  Sample sample(16);
  for (const auto& f : fabrics) {
    for (const AlgorithmEntry& info : shipped_algorithms()) {
      if (check_ranks(info.name, f->ranks()) || !check_switches(info, *f).empty()) continue;
      for (const CollectiveKind collective : info.collectives) {
        for (const char* model : {"hockney", "a100"}) {
          Simulator simulator(f, shipped_cost_model(model), "flow");
          const Call call = call_of(collective, 3 * 7 * (1 << 18));
          if (!check_size(collective, call.bytes, f->ranks()).empty()) continue;
          Config config = config_of(info.name, 2);
          if (!check_resident(AlgorithmLibrary::shipped(), call, config, *f, simulator.cost_model())
                   .empty())
            continue;
          if (drawn.contains(info.name) && sample.skips()) continue;
          CAPTURE(f->name(), info.name, to_string(collective), model);
          check_arrows(simulator.record(call, config), *f, info.switches != SwitchUse::None);
          drawn.insert(info.name);
        }
      }
    }
  }
  for (const AlgorithmEntry& info : shipped_algorithms()) {
    CAPTURE(info.name);
    CHECK(drawn.count(info.name) == 1);
  }
}

TEST_CASE("arrows of the simulated tiles", "[sim][timeline-arrows]") {
  const auto f = fabric("ndv4");
  for (const std::uint64_t tile_bytes : {4096U, 128U}) {
    Simulator simulator(f, shipped_cost_model("a100"), "flow");
    Config config = config_of("ring", 2);
    config.tile_bytes = tile_bytes;
    config.slots = 2;
    const SimulationRecord record =
        simulator.record(call_of(CollectiveKind::AllReduce, 1 << 20), config);
    CAPTURE(tile_bytes, record.result.tiles, record.result.simulated_tiles);
    check_arrows(record, *f, false);
  }
}
