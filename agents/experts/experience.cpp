#include "agents/experts/experience.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "env/tuning/size_class.hpp"

namespace cclgym {

namespace {

std::uint32_t class_number(const Call& call) {
  return static_cast<std::uint32_t>(size_class(call));
}

template <class Number>
void put_number(std::string& bytes, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
  }
}

std::optional<std::uint64_t> take_number(std::string_view& bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  bytes.remove_prefix(sizeof value);
  return value;
}

// Draws one of the ones of a mask; there is at least one.
std::int32_t draw_legal(std::span<const std::uint8_t> legal, Random& random) {
  const auto count = std::ranges::count(legal, std::uint8_t{1});
  std::int64_t left = random.integer(0, count - 1);
  std::int32_t level = 0;
  while (legal[static_cast<std::size_t>(level)] == 0 || left-- > 0) ++level;
  return level;
}

}  // namespace

void Experience::Notes::start() { trials_.clear(); }

void Experience::Notes::add(const Trial& trial) { trials_.push_back(trial); }

int Experience::Notes::explored(std::uint32_t call_class) const {
  return static_cast<int>(std::ranges::count_if(trials_, [&](const Trial& trial) {
    return trial.call_class == call_class && trial.explored;
  }));
}

Experience::Experience(std::vector<std::size_t> levels, const ExplorationBudget& budget,
                       PriorKnowledge prior)
    : sizes_(std::move(levels)), budget_(budget), prior_(std::move(prior)) {}

std::uint64_t Experience::code(std::span<const std::int32_t> levels) const {
  std::uint64_t code = 0;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    code = code * sizes_[d] + static_cast<std::uint64_t>(levels[d]);
  }
  return code;
}

void Experience::decode(std::uint64_t action, std::span<std::int32_t> levels) const {
  for (std::size_t d = sizes_.size(); d-- > 0;) {
    levels[d] = static_cast<std::int32_t>(action % sizes_[d]);
    action /= sizes_[d];
  }
}

std::int32_t Experience::first_level(std::uint64_t action) const {
  for (std::size_t d = sizes_.size(); d-- > 1;) action /= sizes_[d];
  return static_cast<std::int32_t>(action);
}

const Experience::Class* Experience::class_of(std::uint32_t call_class) const {
  const auto found = classes_.find(call_class);
  return found == classes_.end() ? nullptr : &found->second;
}

// Standard deviation of the rewards of an action, pooled over the actions of a class; 0 if none was
// tried twice, or if rewards have no noise.
double Experience::deviation(const Class& one) {
  double squares = 0;
  double freedom = 0;
  for (const auto& [action, tried] : one.tried) {
    squares += tried.squares;
    freedom += static_cast<double>(tried.count - 1);
  }
  return freedom > 0 ? std::sqrt(squares / freedom) : 0;
}

std::map<std::int32_t, Experience::Best> Experience::best_of(const Class& one) const {
  const double noise = deviation(one);
  std::map<std::int32_t, Best> best;
  for (const auto& [action, tried] : one.tried) {
    const double score = tried.mean - noise / std::sqrt(static_cast<double>(tried.count));
    const auto [entry, fresh] = best.try_emplace(first_level(action), Best{action, score});
    if (!fresh && score > entry->second.score) entry->second = {action, score};
  }
  return best;
}

std::optional<Experience::Best> Experience::best_of_all(const Class& one) const {
  std::optional<Best> most;
  for (const auto& [level, best] : best_of(one)) {
    if (!most || best.score > most->score) most = best;
  }
  return most;
}

std::optional<std::vector<std::int32_t>> Experience::best(const Call& call) const {
  const Class* own = class_of(class_number(call));
  if (own == nullptr) return std::nullopt;
  const std::optional<Best> found = best_of_all(*own);
  if (!found) return std::nullopt;
  std::vector<std::int32_t> levels(sizes_.size());
  decode(found->action, levels);
  return levels;
}

int Experience::samples(const Call& call, std::int32_t level) const {
  const Class* own = class_of(class_number(call));
  if (own == nullptr) return 0;
  const auto found = own->samples.find(level);
  return found == own->samples.end() ? 0 : static_cast<int>(found->second);
}

int Experience::explored(const Call& call) const {
  const Class* own = class_of(class_number(call));
  return own == nullptr ? 0 : static_cast<int>(own->explored);
}

// Draws the dimensions from `from` on uniformly from their legal levels, given the earlier ones.
void Experience::complete(std::size_t from, const ConditionalMasks& masks, Random& random,
                          std::span<std::int32_t> levels) const {
  std::vector<std::uint8_t> legal;
  for (std::size_t d = from; d < levels.size(); ++d) {
    legal.resize(sizes_[d]);
    masks.mask(levels.first(d), legal);
    levels[d] = draw_legal(legal, random);
  }
}

// Changes one dimension of an action, or two, and later ones that are then illegal.
void Experience::mutate(std::uint64_t parent, const ConditionalMasks& masks, Random& random,
                        std::span<std::int32_t> levels) const {
  std::vector<std::int32_t> old(sizes_.size());
  decode(parent, old);
  const auto last = static_cast<std::int64_t>(sizes_.size()) - 1;
  const auto one = static_cast<std::size_t>(random.integer(std::min<std::int64_t>(1, last), last));
  const auto other =
      random.uniform() < 0.5
          ? one
          : static_cast<std::size_t>(random.integer(std::min<std::int64_t>(1, last), last));
  std::vector<std::uint8_t> legal;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    legal.resize(sizes_[d]);
    masks.mask(levels.first(d), legal);
    const auto kept = static_cast<std::size_t>(old[d]);
    const bool keeps = d != one && d != other && kept < legal.size() && legal[kept] != 0;
    levels[d] = keeps ? old[d] : draw_legal(legal, random);
  }
}

// Explores near the best actions: those of the algorithms that are nearly the best here, and that
// of a class of neighbouring size.
void Experience::narrow(const Class& own, std::uint32_t call_class, const ConditionalMasks& masks,
                        Random& random, std::span<std::int32_t> levels) const {
  std::vector<std::uint64_t> parents;
  const std::map<std::int32_t, Best> bests = best_of(own);
  double most = -std::numeric_limits<double>::infinity();
  for (const auto& [level, best] : bests) most = std::max(most, best.score);
  for (const auto& [level, best] : bests) {
    if (best.score >= most - budget_.contenders) parents.push_back(best.action);
  }
  for (const std::uint32_t next : {call_class - 1, call_class + 1}) {
    const Class* other = class_of(next);
    if (other == nullptr || next / kSizeClasses != call_class / kSizeClasses) continue;
    if (const auto found = best_of_all(*other)) parents.push_back(found->action);
  }
  if (parents.empty()) {
    complete(0, masks, random, levels);
    return;
  }
  const auto chosen = random.integer(0, static_cast<std::int64_t>(parents.size()) - 1);
  mutate(parents[static_cast<std::size_t>(chosen)], masks, random, levels);
}

namespace {

// Each environment takes at most an equal part of what is left, so that all together do not exceed
// a limit.
bool within(std::uint64_t done, std::int64_t noted, std::size_t slots, double limit) {
  const auto own = static_cast<double>(noted + 1) * static_cast<double>(slots);
  return static_cast<double>(done) + own <= limit;
}

}  // namespace

std::vector<std::int32_t> Experience::open_levels(const Call& call, const Class& own,
                                                  std::span<const std::uint8_t> legal,
                                                  const Notes& notes, std::size_t slots,
                                                  double weight) const {
  std::vector<std::int64_t> noted(legal.size());
  for (const Trial& trial : notes.trials()) {
    if (trial.call_class != class_number(call) || !trial.explored) continue;
    ++noted[static_cast<std::size_t>(first_level(trial.action))];
  }
  std::vector<std::int32_t> open;
  for (std::size_t i = 0; i < legal.size(); ++i) {
    if (legal[i] == 0) continue;
    const auto level = static_cast<std::int32_t>(i);
    double samples = weight * budget_.samples;
    if (prior_.level && budget_.prior > 0) {
      constexpr double kLeastShare = 0.2;
      samples *= std::max(kLeastShare, portable_exp(prior_.level(call, level) / budget_.prior));
    }
    const auto done = own.samples.find(level);
    const std::uint64_t count = done == own.samples.end() ? 0 : done->second;
    if (within(count, noted[i], slots, samples)) open.push_back(level);
  }
  return open;
}

void Experience::draw(const Call& call, const Class& own, std::span<const std::int32_t> open,
                      const ConditionalMasks& masks, Random& random,
                      std::span<std::int32_t> levels) const {
  if (open.empty()) {
    narrow(own, class_number(call), masks, random, levels);
    return;
  }
  const auto chosen = random.integer(0, static_cast<std::int64_t>(open.size()) - 1);
  levels[0] = open[static_cast<std::size_t>(chosen)];
  const std::map<std::int32_t, Best> bests = best_of(own);
  const auto parent = bests.find(levels[0]);
  if (parent != bests.end() && random.uniform() < 0.5) {
    mutate(parent->second.action, masks, random, levels);
  } else {
    complete(1, masks, random, levels);
  }
}

bool Experience::propose(const Call& call, const ConditionalMasks& masks, const Notes& notes,
                         std::size_t slots, double weight, Random& random,
                         std::span<std::int32_t> levels) const {
  const std::uint32_t call_class = class_number(call);
  static const Class nothing;
  const Class* found = class_of(call_class);
  const Class& own = found != nullptr ? *found : nothing;
  const int noted = notes.explored(call_class);
  if (budget_.cap > 0 && !within(own.explored, noted, slots, budget_.cap)) return false;
  if (budget_.rule && prior_.rule && own.tried.empty() && noted == 0) {
    if (const auto rule = prior_.rule(call)) {
      std::ranges::copy(*rule, levels.begin());
      return true;
    }
  }
  if (budget_.samples == 0) {
    complete(0, masks, random, levels);
    return true;
  }
  std::vector<std::uint8_t> legal(sizes_.front());
  masks.mask({}, legal);
  const std::vector<std::int32_t> open = open_levels(call, own, legal, notes, slots, weight);
  // Without noise, an action need not be tried again.
  constexpr int kDraws = 4;
  for (int i = 0; i < kDraws; ++i) {
    draw(call, own, open, masks, random, levels);
    if (!own.tried.contains(code(levels)) || deviation(own) > 0) break;
  }
  return true;
}

void Experience::merge(std::span<const Notes> notes) {
  for (const Notes& one : notes) {
    for (const Trial& trial : one.trials()) {
      Class& own = classes_[trial.call_class];
      if (trial.explored) {
        ++own.explored;
        ++own.samples[first_level(trial.action)];
      }
      Tried& tried = own.tried[trial.action];
      ++tried.count;
      const double apart = trial.reward - tried.mean;
      tried.mean += apart / static_cast<double>(tried.count);
      tried.squares += apart * (trial.reward - tried.mean);
    }
  }
}

std::string Experience::bytes() const {
  std::string bytes;
  const auto put = [&](std::uint64_t value) { put_number(bytes, value); };
  put(classes_.size());
  for (const auto& [number, own] : classes_) {
    put(number);
    put(own.explored);
    put(own.samples.size());
    for (const auto& [level, count] : own.samples) {
      put(static_cast<std::uint64_t>(level));
      put(count);
    }
    put(own.tried.size());
    for (const auto& [action, tried] : own.tried) {
      put(action);
      put(tried.count);
      put(std::bit_cast<std::uint64_t>(tried.mean));
      put(std::bit_cast<std::uint64_t>(tried.squares));
    }
  }
  return bytes;
}

bool Experience::restore(std::string_view bytes) {
  std::uint64_t actions = 1;
  for (const std::size_t size : sizes_) actions *= size;
  bool fine = true;
  const auto take = [&] {
    const auto value = take_number(bytes);
    fine = fine && value.has_value();
    return value.value_or(0);
  };
  std::map<std::uint32_t, Class> read;
  const std::uint64_t classes = take();
  for (std::uint64_t i = 0; fine && i < classes; ++i) {
    const std::uint64_t number = take();
    fine = fine && number < kCallClasses;
    Class& own = read[static_cast<std::uint32_t>(number)];
    own.explored = take();
    const std::uint64_t levels = take();
    for (std::uint64_t j = 0; fine && j < levels; ++j) {
      const std::uint64_t level = take();
      fine = fine && level < sizes_.front();
      own.samples[static_cast<std::int32_t>(level)] = take();
    }
    const std::uint64_t tried = take();
    for (std::uint64_t j = 0; fine && j < tried; ++j) {
      const std::uint64_t action = take();
      Tried& one = own.tried[action];
      one.count = take();
      one.mean = std::bit_cast<double>(take());
      one.squares = std::bit_cast<double>(take());
      fine = fine && action < actions && one.count > 0;
    }
  }
  if (!fine || !bytes.empty()) return false;
  classes_ = std::move(read);
  return true;
}

}  // namespace cclgym
