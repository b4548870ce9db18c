// Noise profiles in YAML: the option records and the reader.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <stdexcept>

#include "core/error.hpp"
#include "core/magnitudes.hpp"
#include "core/units.hpp"
#include "sim/noise/noise_profile.hpp"

namespace cclgym {

namespace {

constexpr std::array<LinkKind, 4> kLinkKinds{LinkKind::NvLink, LinkKind::Pcie, LinkKind::Network,
                                             LinkKind::Generic};

// Less would make times that are no times any more: a call of 1 ms would take 12 days.
constexpr double kLeastShareLeft = 1e-9;

OptionSpec probability(const std::string& name, const std::string& description) {
  return {.name = name,
          .kind = OptionKind::Real,
          .description = description,
          .min = 0,
          .max = 1,
          .default_text = "0"};
}

OptionSpec share_left(const std::string& name, const std::string& description) {
  return {.name = name,
          .kind = OptionKind::Real,
          .description = description,
          .min = kLeastShareLeft,
          .max = 1,
          .required = true};
}

// One option per link kind, described as `what`.
std::vector<OptionSpec> by_link_kind(const std::string& what) {
  std::vector<OptionSpec> specs;
  for (const LinkKind kind : kLinkKinds) {
    specs.push_back({.name = std::string(to_string(kind)),
                     .kind = OptionKind::Mapping,
                     .description = fmt::format("{} of links of this kind", what)});
  }
  return specs;
}

// A mapping whose keys have been checked; its values may be written as "{value: …, source: …}".
class Reader {
 public:
  Reader(const YamlValue& mapping, const std::vector<OptionSpec>& specs, std::string_view what)
      : mapping_(mapping), specs_(specs) {
    check_keys(mapping, specs, what);
  }

  [[nodiscard]] YamlValue value(std::string_view key) const {
    static const std::vector<OptionSpec> wrapped{
        {.name = "value", .description = "value of the parameter", .required = true},
        {.name = "source", .description = "source of the value"}};
    YamlValue found = option_value(mapping_, spec(key));
    if (!found.is_mapping() || spec(key).kind == OptionKind::Mapping) return found;
    check_keys(found, wrapped, key);
    return *found.find("value");
  }
  [[nodiscard]] double real(std::string_view key) const { return read_real(value(key), spec(key)); }
  [[nodiscard]] double time_s(std::string_view key) const {
    return read_time_s(value(key), spec(key));
  }
  [[nodiscard]] int integer(std::string_view key) const {
    return static_cast<int>(read_integer(value(key), spec(key)));
  }
  [[nodiscard]] bool has(std::string_view key) const { return !value(key).is_null(); }

  [[nodiscard]] const OptionSpec& spec(std::string_view key) const {
    return find_option(specs_, key);
  }

 private:
  const YamlValue& mapping_;
  const std::vector<OptionSpec>& specs_;
};

LinkLoad read_load(const YamlValue& mapping) {
  const Reader reader(mapping, noise_load_options(), "load");
  LinkLoad load;
  load.scope = static_cast<LoadScope>(read_choice(reader.value("scope"), reader.spec("scope")));
  load.correlation_s = reader.time_s("correlation_time");
  const YamlValue states = reader.value("states");
  if (load.correlation_s <= 0) {
    throw UserError(reader.value("correlation_time").location(), "correlation_time must be > 0 s");
  }
  double sum = 0;
  for (const YamlValue& item : read_items(states, reader.spec("states"))) {
    const Reader state(item, noise_state_options(), "state");
    load.states.push_back({.capacity = state.real("capacity"), .share = state.real("share")});
    sum += load.states.back().share;
  }
  if (std::abs(sum - 1) > 1e-9) {
    throw UserError(states.location(), fmt::format("the shares of the states sum to {}; "
                                                   "expected 1",
                                                   format_double(sum)));
  }
  return load;
}

MessageJitter read_jitter(const YamlValue& mapping) {
  const Reader reader(mapping, noise_jitter_options(), "jitter");
  return {.median_s = reader.time_s("median"),
          .sigma = reader.real("sigma"),
          .tail_probability = reader.real("tail_probability"),
          .tail_least_s = reader.time_s("tail_least"),
          .tail_shape = reader.real("tail_shape")};
}

DegradedLinks read_degraded(const YamlValue& mapping) {
  const Reader reader(mapping, noise_degraded_options(), "degraded_links");
  return {.probability = reader.real("probability"), .capacity = reader.real("capacity")};
}

// Reads one item for each link kind in the mapping.
template <class Item, class Read>
void read_by_kind(std::array<Item, 4>& items, const YamlValue& mapping, const std::string& what,
                  Read read) {
  if (mapping.is_null()) return;
  const std::vector<OptionSpec> specs = by_link_kind(what);
  check_keys(mapping, specs, what);
  for (const YamlEntry& entry : mapping.entries()) {
    for (const LinkKind kind : kLinkKinds) {
      if (entry.key != to_string(kind)) continue;
      items[static_cast<std::size_t>(kind)] = read(entry.value);
    }
  }
}

std::vector<int> read_numbers(const Reader& reader, std::string_view key) {
  std::vector<int> numbers;
  if (!reader.has(key)) return numbers;
  for (const std::int64_t one : read_integers(reader.value(key), reader.spec(key))) {
    numbers.push_back(static_cast<int>(one));
  }
  return numbers;
}

SlowGpus read_slow_gpus(const YamlValue& mapping) {
  const Reader reader(mapping, noise_slow_gpu_options(), "slow_gpus");
  SlowGpus slow;
  slow.probability = reader.real("probability");
  slow.rate = reader.real("rate");
  if (reader.has("ranks")) {
    slow.where = reader.value("ranks").location();
    slow.ranks = read_numbers(reader, "ranks");
  }
  return slow;
}

SlowNics read_slow_nics(const YamlValue& mapping) {
  const Reader reader(mapping, noise_slow_nic_options(), "slow_nics");
  return {.nics = read_numbers(reader, "nics"),
          .nodes = read_numbers(reader, "nodes"),
          .capacity = reader.real("capacity"),
          .where = mapping.location()};
}

BackgroundJobs read_background(const YamlValue& mapping) {
  const Reader reader(mapping, noise_background_options(), "background");
  return {.jobs = reader.integer("jobs"),
          .servers = reader.integer("nodes"),
          .bytes = read_bytes(reader.value("bytes"), reader.spec("bytes")),
          .pause_s = reader.time_s("pause")};
}

}  // namespace

const std::vector<OptionSpec>& noise_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "name",
       .description = "name of the profile, in tables and results",
       .required = true},
      {.name = "description", .description = "description of the profile"},
      {.name = "load",
       .kind = OptionKind::Mapping,
       .description = "slow load by other tenants, by link kind (nvlink, pcie, network, generic)"},
      {.name = "jitter",
       .kind = OptionKind::Mapping,
       .description =
           "extra latency of each message, by the slowest link kind on its route: network "
           "before pcie before nvlink before generic"},
      {.name = "degraded_links",
       .kind = OptionKind::Mapping,
       .description = "partly broken links, by link kind"},
      {.name = "slow_gpus", .kind = OptionKind::Mapping, .description = "GPUs that are slow"},
      {.name = "slow_nics",
       .kind = OptionKind::Mapping,
       .description = "NICs that have a fraction of their bandwidth"},
      {.name = "background",
       .kind = OptionKind::Mapping,
       .description = "other jobs on the fabric"},
      {.name = "start_skew",
       .kind = OptionKind::Time,
       .description =
           "mean of the exponential delay by which each rank starts late; not given: the "
           "value of the cost model",
       .max = kMostLatency_s},
  };
  return specs;
}

const std::vector<OptionSpec>& noise_load_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "scope",
       .kind = OptionKind::Choice,
       .description = "links that change together: each directed link by itself, or all links of "
                      "the kind at a node (between switches: each pair of links)",
       .default_text = "server",
       .choices = {"link", "server"}},
      {.name = "correlation_time",
       .kind = OptionKind::Time,
       .description =
           "correlation time of the load: a state lasts correlation_time / (1 - share) on average",
       .max = kMostPause_s,
       .required = true},
      {.name = "states",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "states of the load, whose shares sum to 1",
       .required = true},
  };
  return specs;
}

const std::vector<OptionSpec>& noise_state_options() {
  static const std::vector<OptionSpec> specs{
      share_left("capacity", "share of a link's capacity that the load leaves"),
      share_left("share", "share of all time that is spent in the state"),
  };
  return specs;
}

const std::vector<OptionSpec>& noise_jitter_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "median",
       .kind = OptionKind::Time,
       .description = "median of the lognormal part",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "sigma",
       .kind = OptionKind::Real,
       .description = "standard deviation of the logarithm of the lognormal part",
       .min = 0,
       .max = 10,
       .default_text = "0"},
      probability("tail_probability", "probability that a Pareto part delays a message as well"),
      {.name = "tail_least",
       .kind = OptionKind::Time,
       .description = "minimum of the Pareto part",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "tail_shape",
       .kind = OptionKind::Real,
       .description = "exponent a of the tail, P(part > t) = (tail_least / t)^a",
       .min = 0,
       .max = 100,
       .exclusive_min = true,
       .default_text = "2"},
  };
  return specs;
}

const std::vector<OptionSpec>& noise_degraded_options() {
  static const std::vector<OptionSpec> specs{
      probability("probability", "probability per link, both its directions"),
      share_left("capacity", "remaining share of its capacity"),
  };
  return specs;
}

const std::vector<OptionSpec>& noise_slow_gpu_options() {
  static const std::vector<OptionSpec> specs{
      probability("probability", "probability per GPU"),
      {.name = "ranks",
       .kind = OptionKind::Integer,
       .shape = OptionShape::OneOrList,
       .description = "ranks whose GPUs are always slow",
       .min = 0,
       .max = std::numeric_limits<int>::max()},
      share_left("rate", "remaining share of their thread blocks' rates"),
  };
  return specs;
}

const std::vector<OptionSpec>& noise_slow_nic_options() {
  const auto numbers = [](const std::string& name, const std::string& description) {
    return OptionSpec{.name = name,
                      .kind = OptionKind::Integer,
                      .shape = OptionShape::OneOrList,
                      .description = description,
                      .min = 0,
                      .max = std::numeric_limits<int>::max()};
  };
  static const std::vector<OptionSpec> specs = [&] {
    std::vector<OptionSpec> list{
        numbers("nics", "slow NICs of a node, by number from 0"),
        numbers("nodes", "nodes with slow NICs; all if not given"),
        share_left("capacity", "remaining share of their bandwidth, in both directions"),
    };
    list.front().required = true;
    return list;
  }();
  return specs;
}

const std::vector<OptionSpec>& noise_background_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "jobs",
       .kind = OptionKind::Integer,
       .description = "number of other jobs",
       .min = 0,
       .max = 10'000,
       .required = true},
      {.name = "nodes",
       .kind = OptionKind::Integer,
       .description = "number of nodes per job, which sends around a ring of them; at most all "
                      "nodes of the fabric",
       .min = 2,
       .max = 100'000,
       .default_text = "2",
       .aliases = {"servers"}},
      {.name = "bytes",
       .kind = OptionKind::Bytes,
       .description = "bytes that each node of a job sends per round",
       .min = 1,
       .required = true},
      {.name = "pause",
       .kind = OptionKind::Time,
       .description =
           "mean time from the end of one round to the start of the next, drawn once per "
           "job",
       .max = kMostPause_s,
       .default_text = "1ms"},
  };
  return specs;
}

NoiseProfile read_noise_profile(const YamlValue& document) {
  const Reader reader(document, noise_options(), "noise profile");
  NoiseProfile profile;
  const YamlValue name = reader.value("name");
  profile.name = read_text(name, reader.spec("name"));
  if (reader.has("description")) {
    profile.description = read_text(reader.value("description"), reader.spec("description"));
  }
  read_by_kind(profile.load, reader.value("load"), "load", read_load);
  read_by_kind(profile.jitter, reader.value("jitter"), "jitter", read_jitter);
  read_by_kind(profile.degraded, reader.value("degraded_links"), "degraded_links", read_degraded);
  if (reader.has("slow_gpus")) profile.slow_gpus = read_slow_gpus(reader.value("slow_gpus"));
  if (reader.has("slow_nics")) profile.slow_nics = read_slow_nics(reader.value("slow_nics"));
  if (reader.has("background")) profile.background = read_background(reader.value("background"));
  if (reader.has("start_skew")) profile.start_skew_s = reader.time_s("start_skew");
  if (profile.name == "none" && !profile.none()) {
    throw UserError(name.location(), "a profile cannot be called 'none'; expected another name");
  }
  return profile;
}

}  // namespace cclgym
