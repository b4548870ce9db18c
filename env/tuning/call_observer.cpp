#include "env/tuning/call_observer.hpp"

#include <algorithm>

#include "env/tuning/collective_tuning.hpp"

namespace cclgym {

CallObserver::CallObserver(const TuningSetup& setup, CallTimer& timer, TuningOracle& oracle)
    : setup_(setup),
      timer_(timer),
      oracle_(oracle),
      observation_(*setup.site, setup.fabric, setup.actions,
                   {.window = static_cast<std::size_t>(setup.window),
                    .action_features = setup.action_features,
                    .counters = setup.nic_counters != nullptr,
                    .groups = setup.feature_groups}) {}

TimedCall CallObserver::begin(const Call& call, std::span<const std::int32_t> action, bool legal) {
  done_.call = call;
  done_.backend = 0;
  if (legal) {
    const TuningActions& actions = *setup_.actions;
    done_.set_knobs(actions, action);
    done_.backend = actions.tuner_of(action).value_or(actions.options().tuners.size());
    done_.config = oracle_.config(call, action);
  } else {
    done_.knobs.fill(0.0F);
    done_.config = oracle_.reference(call);
  }
  const TimedCall expected = timer_.time(call, done_.config);
  done_.expected_s = expected.time_s;
  if (setup_.nic_counters &&
      setup_.feature_groups[static_cast<std::size_t>(FeatureGroup::Counters)]) {
    done_.nics = &setup_.nic_counters->shares(call, done_.config);
  }
  return expected;
}

void CallObserver::finish(double time_s) {
  done_.time_s = time_s;
  observation_.observe(done_);
}

}  // namespace cclgym
