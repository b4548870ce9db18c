#include "calibration/fit/cell_simulator.hpp"

#include "calibration/measure/repeated_calls.hpp"
#include "core/error.hpp"
#include "sim/call/tiles.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"

namespace cclgym {

namespace {

// The error of extrapolating from so few tiles is below the scatter of measurements: at most 2.1 %,
// where the paths of a tree collide (Alps, 256 ranks, 2 GiB), for a sixth of the time.
constexpr TileBudget kTileBudget{.whole = 24, .first = 12, .firings = 300'000};

}  // namespace

CellSimulator::CellSimulator(const PredictionSite& site, const CostModel& choosing)
    : site_(site), choosing_(choosing), simulator_(site.fabric, choosing, "flow") {
  simulator_.set_tile_budget(kTileBudget);
}

void CellSimulator::use(const CostModel& model) {
  simulator_.set_cost_model(model);
  times_s_.clear();
}

Prediction CellSimulator::predict(std::size_t index, const MeasuredCell& cell) {
  Prediction prediction;
  try {
    auto config = configs_.find(index);
    if (config == configs_.end()) config = configs_.emplace(index, config_of(cell)).first;
    prediction.config = config->second;
    prediction.cost_model = simulator_.cost_model().label();
    prediction.time_s = time_s({cell.collective, cell.bytes, 0}, prediction.config);
  } catch (const UserError& error) {
    prediction.refusal = error.what();
  } catch (const SimulationStalled& error) {
    prediction.refusal = error.what();
  }
  return prediction;
}

Config CellSimulator::config_of(const MeasuredCell& cell) {
  if (cell.named) {
    return cell.named->tile_bytes > 0
               ? *cell.named
               : with_protocol_tiles(choosing_, cell.collective, *cell.named);
  }
  auto& tuner = tuners_[cell.tuner + cell.nccl_version];
  if (!tuner) {
    const TunerSite where{
        .fabric = site_.fabric, .fabric_label = fabric_label(cell.fabric), .cost_model = choosing_};
    tuner = cell.tuner.empty() ? make_nccl_default_tuner(cell.nccl_version, where)
                               : make_tuner(cell.tuner, where);
  }
  return tuner->choose({cell.collective, cell.bytes, 0});
}

double CellSimulator::time_s(const Call& call, const Config& config) {
  const TimeKey key{call.collective, call.bytes,        config.algorithm,
                    config.protocol, config.channels,   config.instances,
                    config.threads,  config.tile_bytes, config.slots};
  if (const auto known = times_s_.find(key); known != times_s_.end()) return known->second;
  return times_s_.emplace(key, simulated_s(call, config)).first->second;
}

// Time as measured by nccl-tests, which issues calls back to back. If no rank can finish before all
// have begun, that is the time of one call; the first rank of a chain, the root of a broadcast or
// the rank behind the root of a reduction, does not wait.
double CellSimulator::simulated_s(const Call& call, const Config& config) {
  const bool rooted =
      call.collective == CollectiveKind::Broadcast || call.collective == CollectiveKind::Reduce;
  if (!rooted || config.algorithm != "ring") {
    return simulator_.simulate(call, config).time_s;
  }
  auto& chain = chains_[{call.collective, config.channels}];
  if (!chain) chain = rooted_chain(*site_.fabric, call.collective, config.channels, call.root);
  return time_between_calls_s(simulator_.record_program(chain, call, config));
}

}  // namespace cclgym
