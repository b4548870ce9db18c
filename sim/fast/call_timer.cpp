#include "sim/fast/call_timer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace cclgym {

namespace {

template <class Narrow, class Wide>
Narrow narrowed(Wide value, const char* what) {
  if (value < 0 || static_cast<std::uint64_t>(value) > std::numeric_limits<Narrow>::max()) {
    throw std::logic_error(std::string("plain_config: ") + what + " = " + std::to_string(value) +
                           " does not fit");
  }
  return static_cast<Narrow>(value);
}

TimeKey key_of(const Call& call, const PlainConfig& config, std::size_t condition,
               std::uint16_t moment) {
  return {.bytes = call.bytes,
          .config = config,
          .root = call.root,
          .moment = moment,
          .condition = static_cast<std::uint8_t>(condition),
          .collective = call.collective};
}

}  // namespace

// Fields overlap here if their values are unusually large: different keys may share a hash.
std::uint64_t TimeKeyHash::operator()(const TimeKey& key) const {
  const auto part = [](std::uint64_t value, unsigned shift) { return value << shift; };
  const PlainConfig& config = key.config;
  const std::uint64_t call = part(static_cast<std::uint64_t>(key.collective), 0) |
                             part(key.condition, 8) | part(key.moment, 16) |
                             part(static_cast<std::uint32_t>(key.root), 32);
  const std::uint64_t rest = part(config.program, 0) | part(config.binding, 8) |
                             part(static_cast<std::uint64_t>(config.protocol), 12) |
                             part(config.slots, 14) | part(config.channels, 18) |
                             part(config.instances, 34) | part(config.threads, 48);
  return mix_hash(
      mix_hash(mix_hash(mix_hash(0x2545f4914f6cdd1dU, key.bytes), config.tile_bytes), call), rest);
}

PlainConfig plain_config(const AlgorithmLibrary& library, const Config& config,
                         std::size_t binding) {
  return {.program = narrowed<std::uint16_t>(library.index_of(config.algorithm), "algorithm"),
          .binding = narrowed<std::uint8_t>(binding, "binding"),
          .protocol = config.protocol,
          .slots = narrowed<std::uint8_t>(config.slots, "slots"),
          .channels = narrowed<std::uint16_t>(config.channels, "channels"),
          .instances = narrowed<std::uint16_t>(config.instances, "instances"),
          .threads = narrowed<std::uint16_t>(config.threads, "threads"),
          .tile_bytes = config.tile_bytes};
}

Config full_config(const AlgorithmLibrary& library, const PlainConfig& config) {
  return {.algorithm = library.entries()[config.program].name,
          .protocol = config.protocol,
          .channels = config.channels,
          .instances = config.instances,
          .threads = config.threads,
          .tile_bytes = config.tile_bytes,
          .slots = config.slots};
}

CallTimer::CallTimer(std::shared_ptr<const CallSite> site, std::size_t cache_entries, Timing timing)
    : CallTimer(std::move(site), std::make_shared<TimeCache>(cache_entries), timing) {}

CallTimer::CallTimer(std::shared_ptr<const CallSite> site, std::shared_ptr<TimeCache> cache,
                     Timing timing)
    : site_(std::move(site)),
      cache_(std::move(cache)),
      bound_(site_->fabrics.size()),
      timing_(timing),
      engine_(make_engine("flow")) {
  if (site_->fabrics.empty() || site_->conditions.empty() || site_->conditions.size() > 256 ||
      site_->fabrics.size() > 16) {
    throw std::logic_error("CallTimer: a site has 1 to 16 fabrics and 1 to 256 conditions");
  }
}

CallTimer::CallTimer(std::shared_ptr<const CallSite> site, std::shared_ptr<TimeCache> cache,
                     std::shared_ptr<CallTimerPool> pool)
    : CallTimer(std::move(site), std::move(cache)) {
  pool_ = std::move(pool);
}

std::unique_ptr<CallTimer> CallTimerPool::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    ++made_;
    return std::make_unique<CallTimer>(site_, cache_);
  }
  std::unique_ptr<CallTimer> timer = std::move(idle_.back());
  idle_.pop_back();
  return timer;
}

void CallTimerPool::give_back(std::unique_ptr<CallTimer> timer) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(timer));
}

// A timer whose simulation throws is not given back.
TimedCall CallTimer::simulate_pooled(const Call& call, const PlainConfig& config,
                                     std::size_t condition, std::uint16_t moment) {
  std::unique_ptr<CallTimer> timer = pool_->take();
  const std::uint64_t quotients = timer->quotients_;
  const std::uint64_t interpolations = timer->interpolations_;
  const TimedCall timed = timer->simulate(call, config, condition, moment);
  ++simulations_;
  quotients_ += timer->quotients_ - quotients;
  interpolations_ += timer->interpolations_ - interpolations;
  pool_->give_back(std::move(timer));
  return timed;
}

TimedCall CallTimer::time(const Call& call, const PlainConfig& config, std::size_t condition,
                          std::uint16_t moment) {
  const TimeKey key = key_of(call, config, condition, moment);
  TimedCall timed;
  if (cache_->find(key, timed)) {
    ++hits_;
    return timed;
  }
  timed = pool_ ? simulate_pooled(call, config, condition, moment)
                : simulate(call, config, condition, moment);
  cache_->insert(key, timed);
  return timed;
}

Simulator& CallTimer::simulator(std::size_t binding, std::size_t condition) {
  Bound& bound = bound_.at(binding);
  if (!bound.simulator) {
    bound.simulator = std::make_unique<Simulator>(site_->fabrics[binding], site_->cost_model,
                                                  "flow", site_->algorithms);
    bound.simulator->set_noise(site_->conditions.front());
    bound.condition = 0;
  }
  if (bound.condition != condition) {
    bound.simulator->set_noise(site_->conditions.at(condition));
    bound.condition = condition;
  }
  return *bound.simulator;
}

const QuotientProgram* CallTimer::quotient(const ProgramCut& cut, const Call& call,
                                           const PlainConfig& plain, const Config& config,
                                           std::size_t condition) {
  const GraphShape shape = graph_shape(cut, site_->cost_model, call, config);
  const ProgramKey program{plain.program,  plain.binding,   call.collective, call.root,
                           plain.channels, plain.instances, plain.slots == 1};
  const auto [entry, fresh] =
      quotients_of_.try_emplace(QuotientKey{program, condition, shape}, nullptr);
  if (!fresh) return entry->second.get();
  Call lowered = call;
  Config cut_so = config;
  if (shape.tiled) {
    // Uses tiles of the call's size, and enough of them for all waits for slots to occur.
    const std::int32_t tiles = tiles_of_call(cut, call, config);
    cut_so.tile_bytes = static_cast<std::uint64_t>(std::ceil(
        static_cast<double>(call.bytes) / cut.chunks_per_call / tiles * cut.longest_message));
    lowered = call_of_tiles(cut, call, cut_so, 2 * kMostSlots, 1);
  }
  const LoweredProgram made =
      simulator(plain.binding, condition).lowered(lowered, cut_so, site_->machine_seed);
  entry->second =
      QuotientProgram::make(made, made.fabric, site_->cost_model, site_->conditions[condition]);
  return entry->second.get();
}

CallTimer::Known& CallTimer::known_of(const Call& call, const PlainConfig& plain,
                                      const Config& config, std::size_t condition) {
  TimeKey key = key_of(call, plain, condition, 0);
  key.bytes = 0;
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  Known known;
  const auto program = simulator(plain.binding, condition).compiled(call, config);
  known.steady = program != nullptr &&
                 QuotientProgram::possible(site_->cost_model, site_->conditions.at(condition));
  if (known.steady) known.cut = program_cut(*program);
  return known_.emplace(key, known).first->second;
}

TimedCall CallTimer::interpolate(Known& known, const Call& call, const PlainConfig& plain,
                                 const Config& config, std::size_t condition) {
  const ProgramCut& cut = known.cut;
  const std::int32_t tiles = tiles_of_call(cut, call, config);
  if (!known.curved) {
    const Call full = call_of_tiles(cut, call, config, 2 * kMostSlots, 1);
    known.of_tiles = quotient(cut, full, plain, config, condition);
    known.curve =
        TileCurve(known.of_tiles != nullptr ? static_cast<std::int64_t>(known.of_tiles->size())
                                            : TileCurve::kFirings);
    if (known.of_tiles != nullptr) known.steps = known.of_tiles->steps();
    known.curved = true;
  }
  const auto simulated_s = [&](std::int32_t some, double fill) {
    if (known.of_tiles != nullptr) {
      return known.of_tiles->time_of_tiles_s(*engine_, config, some, fill);
    }
    const Result result =
        simulator(plain.binding, condition)
            .simulate(call_of_tiles(cut, call, config, some, fill), config, site_->machine_seed);
    known.steps = result.steps;
    return result.time_s;
  };
  const double fill = static_cast<double>(call.bytes) / cut.chunks_per_call / tiles *
                      cut.longest_message / static_cast<double>(config.tile_bytes);
  const double time_s = known.curve.time_s(tiles, fill, simulated_s);
  ++interpolations_;
  return {time_s, known.steps};
}

// Simulates with an engine that lives no longer than the call, so that other timers of the site can
// have theirs.
TimedCall CallTimer::simulate_alone(const Call& call, const PlainConfig& config,
                                    std::size_t condition, std::uint16_t moment) {
  const std::lock_guard turn(*site_->engine_turn);
  Simulator simulator(site_->fabrics[config.binding], site_->cost_model, site_->engine,
                      site_->algorithms);
  simulator.set_noise(site_->conditions.at(condition));
  const Result result =
      simulator.simulate(call, full_config(site_->algorithms, config), site_->machine_seed, moment);
  return {result.time_s, result.steps};
}

TimedCall CallTimer::simulate(const Call& call, const PlainConfig& plain, std::size_t condition,
                              std::uint16_t moment) {
  ++simulations_;
  if (site_->engine != "flow") return simulate_alone(call, plain, condition, moment);
  const Config config = full_config(site_->algorithms, plain);
  if (timing_ != Timing::Exact && call.bytes > 0) {
    Known& known = known_of(call, plain, config, condition);
    if (known.steady && timing_ == Timing::Interpolated &&
        tiles_of_call(known.cut, call, config) > TileCurve::kWhole) {
      return interpolate(known, call, plain, config, condition);
    }
    const QuotientProgram* const one =
        known.steady ? quotient(known.cut, call, plain, config, condition) : nullptr;
    if (one != nullptr) {
      ++quotients_;
      return {one->time(*engine_, call, config).time_s, one->steps()};
    }
  }
  const Result result =
      simulator(plain.binding, condition).simulate(call, config, site_->machine_seed, moment);
  return {result.time_s, result.steps};
}

}  // namespace cclgym
