#include "env/call_timer.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "collectives/algorithm.hpp"
#include "core/error.hpp"

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
  const auto part = [](std::uint64_t value, unsigned shift) { return value << shift; };
  return {.bytes = call.bytes,
          .tile_bytes = config.tile_bytes,
          .call = part(static_cast<std::uint64_t>(call.collective), 0) | part(condition, 8) |
                  part(moment, 16) | part(static_cast<std::uint32_t>(call.root), 32),
          .config = part(config.program, 0) | part(config.binding, 8) |
                    part(static_cast<std::uint64_t>(config.protocol), 12) | part(config.slots, 14) |
                    part(config.channels, 18) | part(config.instances, 34) |
                    part(config.threads, 48)};
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}

}  // namespace

std::uint64_t TimeKeyHash::operator()(const TimeKey& key) const {
  return mixed(mixed(mixed(mixed(0x2545f4914f6cdd1dU, key.bytes), key.tile_bytes), key.call),
               key.config);
}

PlainConfig plain_config(const Config& config, std::size_t binding) {
  const auto& all = algorithm_infos();
  const auto found = std::ranges::find(all, config.algorithm, &AlgorithmInfo::name);
  if (found == all.end()) (void)algorithm_info(config.algorithm);  // says what is wrong
  return {.program = narrowed<std::uint8_t>(found - all.begin(), "algorithm"),
          .binding = narrowed<std::uint8_t>(binding, "binding"),
          .protocol = config.protocol,
          .slots = narrowed<std::uint8_t>(config.slots, "slots"),
          .channels = narrowed<std::uint16_t>(config.channels, "channels"),
          .instances = narrowed<std::uint16_t>(config.instances, "instances"),
          .threads = narrowed<std::uint16_t>(config.threads, "threads"),
          .tile_bytes = config.tile_bytes};
}

Config full_config(const PlainConfig& config) {
  return {.algorithm = algorithm_infos()[config.program].name,
          .protocol = config.protocol,
          .channels = config.channels,
          .instances = config.instances,
          .threads = config.threads,
          .tile_bytes = config.tile_bytes,
          .slots = config.slots};
}

CallTimer::CallTimer(std::shared_ptr<const CallSite> site, std::size_t cache_entries,
                     Symmetry symmetry)
    : CallTimer(std::move(site), std::make_shared<TimeCache>(cache_entries), symmetry) {}

CallTimer::CallTimer(std::shared_ptr<const CallSite> site, std::shared_ptr<TimeCache> cache,
                     Symmetry symmetry)
    : site_(std::move(site)),
      cache_(std::move(cache)),
      bound_(site_->fabrics.size()),
      symmetry_(symmetry),
      engine_(make_engine("flow")) {
  if (site_->fabrics.empty() || site_->conditions.empty() || site_->conditions.size() > 256 ||
      site_->fabrics.size() > 16) {
    throw std::logic_error("CallTimer: a site has 1 to 16 fabrics and 1 to 256 conditions");
  }
}

TimedCall CallTimer::time(const Call& call, const PlainConfig& config, std::size_t condition,
                          std::uint16_t moment) {
  const TimeKey key = key_of(call, config, condition, moment);
  TimedCall timed;
  if (cache_->find(key, timed)) {
    ++hits_;
    return timed;
  }
  timed = simulate(call, config, condition, moment);
  cache_->insert(key, timed);
  return timed;
}

Simulator& CallTimer::simulator(std::size_t binding, std::size_t condition) {
  Bound& bound = bound_.at(binding);
  if (!bound.simulator) {
    bound.simulator =
        std::make_unique<Simulator>(site_->fabrics[binding], site_->cost_model, "flow");
    bound.simulator->set_noise(site_->conditions.front());
    bound.condition = 0;
  }
  if (bound.condition != condition) {
    bound.simulator->set_noise(site_->conditions.at(condition));
    bound.condition = condition;
  }
  return *bound.simulator;
}

QuotientProgram* CallTimer::quotient(const Call& call, const PlainConfig& plain,
                                     const Config& config, std::size_t condition) {
  if (site_->conditions.at(condition).random()) return nullptr;
  const ProgramKey program{plain.program,  plain.binding,   call.collective, call.root,
                           plain.channels, plain.instances, plain.slots == 1};
  std::optional<SimulationRecord> record;
  const auto make_record = [&] {
    record = simulator(plain.binding, condition).record(call, config, site_->machine_seed);
  };
  auto cut = cuts_.find(program);
  if (cut == cuts_.end()) {
    make_record();
    // Of very large programs only an outline is known.
    const ProgramCut known =
        record->lowered.program ? program_cut(*record->lowered.program) : ProgramCut{0, 0};
    cut = cuts_.emplace(program, known).first;
  }
  if (cut->second.chunks_per_call == 0) return nullptr;
  const QuotientKey key{program, condition,
                        graph_shape(cut->second, site_->cost_model, call, config)};
  const auto known = quotients_of_.find(key);
  if (known != quotients_of_.end()) return known->second.get();
  if (!record) make_record();
  auto made = QuotientProgram::make(*record, site_->fabrics[plain.binding], site_->cost_model,
                                    site_->conditions[condition]);
  return quotients_of_.emplace(key, std::move(made)).first->second.get();
}

TimedCall CallTimer::simulate(const Call& call, const PlainConfig& plain, std::size_t condition,
                              std::uint16_t moment) {
  ++simulations_;
  const Config config = full_config(plain);
  if (symmetry_ == Symmetry::On) {
    if (QuotientProgram* const one = quotient(call, plain, config, condition)) {
      ++quotients_;
      return {one->time(*engine_, call, config).time_s, one->steps()};
    }
  }
  const Result result =
      simulator(plain.binding, condition).simulate(call, config, site_->machine_seed, moment);
  return {result.time_s, result.steps};
}

}  // namespace cclgym
