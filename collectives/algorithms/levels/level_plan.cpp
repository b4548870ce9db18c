#include "collectives/algorithms/levels/level_plan.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "collectives/algorithms/algorithms.hpp"
#include "core/error.hpp"
#include "core/split.hpp"

namespace cclgym::algorithms {

namespace {

constexpr int kMaxRanks = 1 << 20;

constexpr std::pair<std::string_view, LevelAlgorithm> kLevelAlgorithms[] = {
    {"ring", LevelAlgorithm::Ring},
    {"recursive", LevelAlgorithm::Recursive},
    {"bruck", LevelAlgorithm::Bruck},
    {"broadcast-reduce", LevelAlgorithm::BroadcastReduce},
    {"all-pairs", LevelAlgorithm::AllPairs}};

constexpr std::pair<std::string_view, ShuffleOption> kShuffleOptions[] = {
    {"after", ShuffleOption::After},
    {"before", ShuffleOption::Before},
    {"avoided", ShuffleOption::Avoided},
    {"overlapped", ShuffleOption::Overlapped}};

constexpr std::pair<std::string_view, Reducer> kReducers[] = {{"gpu", Reducer::Gpu},
                                                              {"host", Reducer::Host}};

constexpr std::pair<std::string_view, NicUse> kNicUses[] = {
    {"fabric", NicUse::Fabric},
    {"round-robin", NicUse::RoundRobin},
    {"topology-aware", NicUse::TopologyAware},
    {"single-nic", NicUse::SingleNic}};

constexpr std::pair<std::string_view, Transport> kTransports[] = {{"mpi", Transport::Mpi},
                                                                  {"library", Transport::Library}};

// Options after the algorithms.
constexpr std::string_view kShuffle = "shuffle";
constexpr std::string_view kSubcomms = "subcomms=";
constexpr std::string_view kReduce = "reduce=";
constexpr std::string_view kNic = "nic=";
constexpr std::string_view kTransport = "transport=";

template <class Value, std::size_t Count>
Value named(const std::pair<std::string_view, Value> (&values)[Count], std::string_view what,
            std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [text, value] : values) {
    if (text == name) return value;
    names.emplace_back(text);
  }
  throw UserError(unknown_name_message(what, name, names));
}

template <class Value, std::size_t Count>
std::string names_in(const std::pair<std::string_view, Value> (&values)[Count],
                     std::string_view separator) {
  std::string names;
  for (const auto& [text, value] : values) {
    names += names.empty() ? "" : separator;
    names += text;
  }
  return names;
}

int factor_of(std::string_view text) {
  int factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc{} || end != text.data() + text.size() || factor < 1 ||
      factor > kMaxRanks) {
    throw UserError(fmt::format(
        "factor {}; expected numbers of ranks from 1 to {}, innermost level first, e.g. 8x256",
        quoted(text), kMaxRanks));
  }
  return factor;
}

std::vector<int> factors_of(std::string_view text) {
  std::vector<int> factors;
  std::int64_t ranks = 1;
  for (const std::string_view part : split(text, 'x')) {
    factors.push_back(factor_of(part));
    ranks *= factors.back();
    if (ranks > kMaxRanks) {
      throw UserError(fmt::format("factors {} have a product above {}", quoted(text), kMaxRanks));
    }
  }
  if (ranks < 2) throw UserError("factors with product 1; expected at least 2 ranks");
  return factors;
}

int subcomms_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= 1 &&
      number <= kMaxRanks) {
    return number;
  }
  throw UserError(fmt::format(
      "subcomms {}; expected the number of groups across nodes that run at once on a node, e.g. "
      "subcomms=4",
      quoted(text)));
}

[[noreturn]] void refuse_option(std::string_view found) {
  std::vector<std::string> names;
  for (const auto& [text, value] : kShuffleOptions) names.emplace_back(text);
  for (const std::string_view name : {kSubcomms, kReduce, kNic, kTransport}) {
    names.emplace_back(name);
  }
  throw UserError(unknown_name_message("option", found, names));
}

// Sets the option, and returns its name.
std::string_view read_level_option(LevelPlan& plan, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    for (const auto& [name, shuffle] : kShuffleOptions) {
      if (name != text) continue;
      plan.shuffle = shuffle;
      return kShuffle;
    }
    refuse_option(text);
  }
  const std::string_view key = text.substr(0, equals + 1);
  const std::string_view value = text.substr(equals + 1);
  if (key == kSubcomms) {
    plan.subcomms = subcomms_of(value);
  } else if (key == kReduce) {
    plan.traits.reducer = named(kReducers, "reducer", value);
  } else if (key == kNic) {
    plan.traits.nic = named(kNicUses, "NIC binding", value);
  } else if (key == kTransport) {
    plan.traits.transport = named(kTransports, "transport", value);
  } else {
    refuse_option(key);
  }
  return key;
}

void read_level_options(LevelPlan& plan, std::span<const std::string_view> texts) {
  std::vector<std::string_view> given;
  for (const std::string_view text : texts) {
    const std::string_view name = read_level_option(plan, text);
    if (std::ranges::find(given, name) != given.end()) {
      throw UserError(fmt::format("a second {} in {}; expected each option at most once",
                                  name.substr(0, name.find('=')), quoted(text)));
    }
    given.push_back(name);
  }
}

std::vector<int> known_factors(const LevelPlan& plan, const AlgorithmRequest& request) {
  if (!plan.factors.empty()) return plan.factors;
  return {request.ranks_per_server, request.ranks / request.ranks_per_server};
}

// Reason why so many groups cannot run at once.
std::optional<std::string> check_subcomms(int subcomms, const AlgorithmRequest& request) {
  const int groups = request.ranks_per_server;
  if (subcomms == 0 || (subcomms <= groups && groups < request.ranks)) return std::nullopt;
  if (groups == request.ranks) {
    return fmt::format("subcomms={}, but all ranks are on one node; it has no groups across nodes",
                       subcomms);
  }
  return fmt::format(
      "subcomms={}, but a node of {} ranks has {} groups across nodes; expected 1 to {}", subcomms,
      groups, groups, groups);
}

using Rings = std::vector<std::vector<int>>;

// The parts of rings over all ranks inside the first node, whose ranks are those of a group.
Rings rings_in_node(const Rings& rings, int factor) {
  Rings orders;
  for (const std::vector<int>& ring : rings) {
    std::vector<int>& order = orders.emplace_back();
    std::ranges::copy_if(ring, std::back_inserter(order), [=](int rank) { return rank < factor; });
    std::rotate(order.begin(), std::ranges::find(order, 0), order.end());
  }
  // Rings that differ only in where they cross nodes are one ring in a node.
  if (std::ranges::all_of(orders, [&](const auto& order) { return order == orders.front(); })) {
    orders.resize(std::min<std::size_t>(1, orders.size()));
  }
  return orders;
}

// `rings`: those of the request if the groups of the level are the nodes; otherwise none.
Rings orders_of(const Level& level, const Rings& rings) {
  if (level.algorithm == LevelAlgorithm::Ring && !rings.empty()) {
    return rings_in_node(rings, level.factor);
  }
  std::vector<int> order(static_cast<std::size_t>(level.factor));
  std::iota(order.begin(), order.end(), 0);
  return {order};
}

}  // namespace

std::string levels_options() {
  return fmt::format(
      "algorithms: {}; options: {}; subcomms=K (of the groups across nodes, K at once on each "
      "node), reduce={}, nic={}, transport={}",
      names_in(kLevelAlgorithms, ", "), names_in(kShuffleOptions, "|"), names_in(kReducers, "|"),
      names_in(kNicUses, "|"), names_in(kTransports, "|"));
}

LevelPlan parse_level_plan(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() < 2) {
    throw UserError(fmt::format(
        "found {}; expected FACTORS:ALGORITHMS or FACTORS:ALGORITHMS:OPTION:OPTION..., innermost "
        "level first, e.g. 8x256:ring+recursive or nodes:ring+bruck:avoided:subcomms=2",
        quoted(text)));
  }
  LevelPlan plan;
  const bool by_nodes = parts[0] == "nodes";
  if (!by_nodes) plan.factors = factors_of(parts[0]);
  for (const std::string_view name : split(parts[1], '+')) {
    plan.algorithms.push_back(named(kLevelAlgorithms, "algorithm of a level", name));
  }
  const std::size_t levels = by_nodes ? 2 : plan.factors.size();
  if (plan.algorithms.size() != 1 && plan.algorithms.size() != levels) {
    throw UserError(
        fmt::format("{} algorithms for {} level{}; expected one for each, or one for all",
                    plan.algorithms.size(), levels, levels == 1 ? "" : "s"));
  }
  read_level_options(plan, std::span(parts).subspan(2));
  return plan;
}

std::optional<std::string> check_levels(const LevelPlan& plan, const AlgorithmRequest& request) {
  const std::vector<int> factors = known_factors(plan, request);
  const int node = request.ranks_per_server;
  int inner = 1;
  for (std::size_t level = 0; level < factors.size(); ++level) {
    const int factor = factors[level];
    if (inner < node && inner * factor > node) {
      return fmt::format(
          "level {} of {} ranks is partly inside nodes of {}; expected that the product of the "
          "first factors is {}",
          level + 1, factor, node, node);
    }
    inner *= factor;
    const LevelAlgorithm algorithm = plan.algorithms[plan.algorithms.size() == 1 ? 0 : level];
    if (algorithm == LevelAlgorithm::Recursive &&
        !std::has_single_bit(static_cast<unsigned>(factor))) {
      return fmt::format("recursive on level {} needs a power of two of ranks, found {}", level + 1,
                         factor);
    }
  }
  return check_subcomms(plan.subcomms, request);
}

LevelLayout::LevelLayout(const LevelPlan& plan, const AlgorithmRequest& request)
    : ranks_(request.ranks),
      node_(request.ranks_per_server),
      subcomms_(plan.subcomms),
      mpi_(plan.traits.transport == Transport::Mpi) {
  int inner = 1;
  const std::vector<int> factors = known_factors(plan, request);
  for (std::size_t level = 0; level < factors.size(); ++level) {
    const int factor = factors[level];
    if (factor == 1) continue;
    levels_.push_back({.factor = factor,
                       .algorithm = plan.algorithms[plan.algorithms.size() == 1 ? 0 : level],
                       .stride = inner,
                       .outer = ranks_ / inner / factor});
    const bool nodes = inner == 1 && factor == request.ranks_per_server;
    orders_.push_back(orders_of(levels_.back(), nodes ? request.rings : Rings{}));
    inner *= factor;
  }
}

int LevelLayout::different_channels() const {
  std::size_t different = 1;
  for (const Rings& rings : orders_) different = std::lcm(different, rings.size());
  return static_cast<int>(different);
}

int LevelLayout::packed(int rank) const {
  int position = 0;
  for (int level = 0; level <= last(); ++level) position += place(rank, level) * at(level).outer;
  return position;
}

int LevelLayout::slice_at(int position) const {
  int slice = 0;
  for (const Level& level : levels_) slice += position / level.outer % level.factor * level.stride;
  return slice;
}

std::vector<RankGroup> LevelLayout::groups(int level) const {
  const auto& [factor, algorithm, stride, outer] = at(level);
  std::vector<RankGroup> result;
  for (int high = 0; high < outer; ++high) {
    for (int low = 0; low < stride; ++low) {
      result.push_back({low + high * stride * factor, factor, stride});
    }
  }
  return result;
}

Runs LevelLayout::packed_runs(const RankGroup& group, int level, Buffer buffer) const {
  const int outer = at(level).outer;
  return {buffer, packed(group.first % at(level).stride), outer, outer};
}

std::vector<Runs> LevelLayout::final_runs(const RankGroup& group, int level, Buffer buffer) const {
  const auto& [factor, algorithm, stride, outer] = at(level);
  std::vector<Runs> result;
  for (int high = 0; high < outer; ++high) {
    result.push_back({buffer, group.first % stride + high * stride * factor, stride, 1, false});
  }
  return result;
}

}  // namespace cclgym::algorithms
