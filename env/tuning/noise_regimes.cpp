#include "env/tuning/noise_regimes.hpp"

#include <algorithm>
#include <string_view>

#include "core/error.hpp"
#include "sim/noise/noise_random.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view regimes_cloud_faults;
extern const std::string_view regimes_cloud_ib;
extern const std::string_view regimes_jitter;
extern const std::string_view regimes_slingshot;
extern const std::string_view regimes_stragglers;
}  // namespace embedded

namespace {

double real_of(const YamlValue& mapping, const std::vector<OptionSpec>& specs,
               std::string_view key) {
  const OptionSpec& spec = find_option(specs, key);
  return read_real(option_value(mapping, spec), spec);
}

MeasurementNoise read_measurement(const YamlValue& mapping) {
  MeasurementNoise noise;
  if (mapping.is_null()) return noise;
  check_keys(mapping, measurement_options(), "measurement");
  noise.sigma = real_of(mapping, measurement_options(), "sigma");
  noise.tail_probability = real_of(mapping, measurement_options(), "tail_probability");
  noise.tail_least = real_of(mapping, measurement_options(), "tail_least");
  noise.tail_shape = real_of(mapping, measurement_options(), "tail_shape");
  return noise;
}

NoiseRegime read_regime(const YamlValue& mapping) {
  check_keys(mapping, regime_options(), "regime");
  NoiseRegime regime;
  const YamlValue noise = option_value(mapping, find_option(regime_options(), "noise"));
  regime.profile = noise.is_mapping()
                       ? read_noise_profile(noise)
                       : noise_profile_for(read_text(noise, find_option(regime_options(), "noise")),
                                           noise.location());
  regime.weight = real_of(mapping, regime_options(), "weight");
  regime.mean_calls = real_of(mapping, regime_options(), "mean_calls");
  const OptionSpec& moments = find_option(regime_options(), "moments");
  regime.moments = static_cast<int>(read_integer(option_value(mapping, moments), moments));
  if (!regime.profile.random()) regime.moments = 1;
  return regime;
}

NoiseRegimes read_mapping(const YamlValue& mapping) {
  check_keys(mapping, regimes_options(), "noise regimes");
  NoiseRegimes all;
  const auto text = [&](std::string_view key) {
    const YamlValue value = option_value(mapping, find_option(regimes_options(), key));
    return value.is_null() ? std::string() : read_text(value, find_option(regimes_options(), key));
  };
  all.name = text("name");
  all.description = text("description");
  all.measurement =
      read_measurement(option_value(mapping, find_option(regimes_options(), "measurement")));
  const YamlValue regimes = option_value(mapping, find_option(regimes_options(), "regimes"));
  all.regimes.clear();
  for (const YamlValue& item : read_items(regimes, find_option(regimes_options(), "regimes"))) {
    all.regimes.push_back(read_regime(item));
  }
  if (all.regimes.size() > 200) {
    throw UserError(regimes.location(), "more than 200 regimes");
  }
  return all;
}

}  // namespace

double MeasurementNoise::draw(Random& random) const {
  if (!any()) return 1;
  const double factor = portable_exp(sigma * random.normal(0, 1));
  const double late = pareto(random, tail_least, tail_shape);
  return random.uniform() < tail_probability ? factor * (1 + late) : factor;
}

const std::vector<OptionSpec>& regimes_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "name", .description = "name of the regimes in results", .required = true},
      {.name = "description", .description = "description of the regimes"},
      {.name = "measurement",
       .kind = OptionKind::Mapping,
       .description = "variation of a call's time within a regime"},
      {.name = "regimes",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "conditions of the machine",
       .required = true}};
  return specs;
}

const std::vector<OptionSpec>& regime_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "noise",
       .kind = OptionKind::Text,
       .description = "noise profile (docs/noise.md): its name, its file, or the mapping itself",
       .required = true},
      {.name = "weight",
       .kind = OptionKind::Real,
       .description = "probability of being the next regime, relative to the others",
       .min = 0,
       .exclusive_min = true,
       .default_text = "1"},
      {.name = "mean_calls",
       .kind = OptionKind::Real,
       .description = "mean duration in calls; 0: unlimited",
       .min = 0,
       .default_text = "0"},
      {.name = "moments",
       .kind = OptionKind::Integer,
       .description = "number of moments that are simulated, for a random profile",
       .min = 1,
       .max = 65535,
       .default_text = "64"}};
  return specs;
}

const std::vector<OptionSpec>& measurement_options() {
  const auto real = [](const std::string& name, const std::string& description,
                       const std::string& default_text) {
    return OptionSpec{.name = name,
                      .kind = OptionKind::Real,
                      .description = description,
                      .min = 0,
                      .max = 100,
                      .default_text = default_text};
  };
  static const std::vector<OptionSpec> specs = [&] {
    std::vector<OptionSpec> list{
        real("sigma", "standard deviation of the logarithm of a call's time", "0"),
        real("tail_probability", "probability of an additional Pareto-distributed delay", "0"),
        real("tail_least", "minimum of that delay, as a fraction of the time", "0"),
        real("tail_shape", "exponent a of that delay, P(delay > x) = (tail_least / x)^a", "2")};
    list[1].max = 1;
    list[3].exclusive_min = true;
    return list;
  }();
  return specs;
}

const std::vector<std::string>& noise_regimes_names() {
  static const std::vector<std::string> names{"none",       "jitter",    "cloud-ib",
                                              "stragglers", "slingshot", "cloud-faults"};
  return names;
}

NoiseRegimes read_noise_regimes(const YamlValue& value) {
  if (value.is_null()) return {};
  if (value.is_mapping()) return read_mapping(value);
  const std::string& name = value.as_text();
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    return read_mapping(load_yaml_file(name));
  }
  if (name == "none") return {};
  if (name == "jitter") return read_mapping(parse_yaml(embedded::regimes_jitter, name));
  if (name == "cloud-ib") return read_mapping(parse_yaml(embedded::regimes_cloud_ib, name));
  if (name == "stragglers") return read_mapping(parse_yaml(embedded::regimes_stragglers, name));
  if (name == "slingshot") return read_mapping(parse_yaml(embedded::regimes_slingshot, name));
  if (name == "cloud-faults") {
    return read_mapping(parse_yaml(embedded::regimes_cloud_faults, name));
  }
  throw UserError(value.location(),
                  unknown_name_message("noise regime", name, noise_regimes_names()));
}

void RegimeChain::start(Random& random) {
  begin(random);
  regime_ = draw(random, false);
  draw_call(random);
}

void RegimeChain::hold(std::size_t regime, Random& random) {
  begin(random);
  regime_ = regime;
  draw_call(random);
}

// Starts the stream of the other call, from a copy of the episode's stream, which stays as it is.
void RegimeChain::begin(Random& random) {
  constexpr std::uint64_t kOther = 1;
  Random copy = random;
  other_ = Random::stream(copy(), {kOther});
}

void RegimeChain::advance(Random& random) {
  const double mean_calls = regimes_->regimes[regime_].mean_calls;
  const double leave = random.uniform();
  if (mean_calls > 0 && leave * mean_calls < 1) regime_ = draw(random, true);
  draw_call(random);
}

std::size_t RegimeChain::draw(Random& random, bool other) const {
  const auto& regimes = regimes_->regimes;
  double sum = 0;
  for (std::size_t i = 0; i < regimes.size(); ++i) {
    if (!other || i != regime_) sum += regimes[i].weight;
  }
  double drawn = random.uniform() * sum;
  std::size_t chosen = regime_;
  for (std::size_t i = 0; i < regimes.size(); ++i) {
    if (other && i == regime_) continue;
    chosen = i;
    drawn -= regimes[i].weight;
    if (drawn < 0) break;
  }
  return chosen;
}

void RegimeChain::draw_call(Random& random) {
  const int moments = regimes_->regimes[regime_].moments;
  const auto moment_in = [moments](Random& stream) {
    return static_cast<std::uint16_t>(moments > 1 ? stream.integer(0, moments - 1) : 0);
  };
  moment_ = moment_in(random);
  factor_ = regimes_->measurement.draw(random);
  other_moment_ = moment_in(other_);
  other_factor_ = regimes_->measurement.draw(other_);
}

}  // namespace cclgym
