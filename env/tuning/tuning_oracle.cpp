#include "env/tuning/tuning_oracle.hpp"

#include <limits>
#include <stdexcept>
#include <string>

#include "core/hash.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kBestEntries = std::size_t{1} << 14;

std::uint64_t rest_of(const Call& call, std::size_t condition, std::uint16_t moment) {
  return static_cast<std::uint64_t>(call.collective) | static_cast<std::uint64_t>(condition) << 8U |
         static_cast<std::uint64_t>(moment) << 16U |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 32U;
}

}  // namespace

std::uint64_t ChoiceKeyHash::operator()(const ChoiceKey& key) const {
  std::uint64_t hash = 0x2545f4914f6cdd1dU;
  for (const std::uint64_t part : {key.bytes, key.rest, key.who}) hash = mix_hash(hash, part);
  return hash;
}

TuningOracle::TuningOracle(std::shared_ptr<const TuningActions> actions, CallTimer& timer,
                           std::shared_ptr<OracleTable> table)
    : actions_(std::move(actions)),
      timer_(timer),
      table_(std::move(table)),
      own_(table_ && &table_->actions() == actions_.get()
               ? nullptr
               : std::make_unique<ChoiceCache>(kCachedChoices)),
      chosen_(own_ ? *own_ : table_->choices()) {}

PlainConfig TuningOracle::chosen(const Call& call, std::uint64_t who) {
  const ChoiceKey key{call.bytes, rest_of(call, 0, 0), who};
  PlainConfig config;
  if (chosen_.find(key, config)) return config;
  config = who == 0         ? actions_->reference(call)
           : who == kEngine ? actions_->engine_choice(call)
                            : actions_->choose(static_cast<std::size_t>(who) - 1, call);
  chosen_.insert(key, config);
  return config;
}

PlainConfig TuningOracle::reference(const Call& call) { return chosen(call, 0); }

std::optional<PlainConfig> TuningOracle::choice(const Call& call, std::size_t tuner) {
  if (!actions_->chooses(tuner, call.collective)) return std::nullopt;
  return chosen(call, tuner + 1);
}

PlainConfig TuningOracle::config(const Call& call, std::span<const std::int32_t> action) {
  if (const auto tuner = actions_->tuner_of(action)) return chosen(call, *tuner + 1);
  const PlainConfig own = actions_->config(call.collective, action);
  const bool engine = actions_->profile() == ActionProfile::Pccl;
  return engine ? with_program(chosen(call, kEngine), own.program) : own;
}

TimedCall TuningOracle::time(const Call& call, std::span<const std::int32_t> action,
                             std::size_t condition, std::uint16_t moment) {
  return timer_.time(call, config(call, action), condition, moment);
}

void TuningOracle::all_times(const Call& call, std::span<double> time_s, std::size_t condition,
                             std::uint16_t moment) {
  const std::span<const std::int32_t> all = actions_->legal_actions(call.collective);
  const std::size_t n = actions_->knobs().size();
  const bool sized = actions_->large(call);
  for (std::size_t i = 0; i * n < all.size(); ++i) {
    const auto action = all.subspan(i * n, n);
    time_s[i] = sized && !actions_->legal(call, action)
                    ? std::numeric_limits<double>::infinity()
                    : time(call, action, condition, moment).time_s;
  }
}

BestAction TuningOracle::best(const Call& call, std::size_t condition, std::uint16_t moment) {
  const ChoiceKey key{call.bytes, rest_of(call, condition, moment), 0};
  BestAction best;
  if (!best_) best_ = std::make_unique<BestCache>(kBestEntries);
  if (best_->find(key, best)) return best;
  if (table_ && table_->find(call, condition, moment, best)) {
    best_->insert(key, best);
    return best;
  }
  const std::span<const std::int32_t> all = actions_->legal_actions(call.collective);
  const std::size_t n = actions_->knobs().size();
  if (all.empty()) {
    throw std::logic_error("no legal action for " + std::string(to_string(call.collective)));
  }
  best.time_s = std::numeric_limits<double>::infinity();
  const bool sized = actions_->large(call);
  for (std::size_t i = 0; i * n < all.size(); ++i) {
    if (sized && !actions_->legal(call, all.subspan(i * n, n))) continue;
    const double time_s = time(call, all.subspan(i * n, n), condition, moment).time_s;
    if (time_s < best.time_s) best = {static_cast<std::uint32_t>(i), time_s};
  }
  best_->insert(key, best);
  if (table_) table_->keep(call, condition, moment, best);
  return best;
}

}  // namespace cclgym
