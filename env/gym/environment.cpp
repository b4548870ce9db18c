#include "env/gym/environment.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <stdexcept>

namespace cclgym {

void Environment::conditional_mask(std::span<const std::uint8_t> action_mask,
                                   std::span<const std::int32_t> prefix,
                                   std::span<std::uint8_t> out) const {
  const Space& space = spec().action_space;
  const std::size_t dimension = prefix.size();
  const auto n = static_cast<std::size_t>(space.dimensions()[dimension].n);
  const auto segment = action_mask.subspan(space.mask_offset(dimension), n);
  std::copy(segment.begin(), segment.end(), out.begin());
}

std::shared_ptr<const std::vector<std::int32_t>> Environment::possible_actions() const {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const auto dimensions = spec().action_space.dimensions();
  std::size_t count = 1;
  for (const Discrete& dimension : dimensions) {
    count *= static_cast<std::size_t>(dimension.n);
    if (count > kMost) {
      throw std::invalid_argument(fmt::format("{}: {} has more than {} actions, too many to list",
                                              spec().name, spec().action_space.text(), kMost));
    }
  }
  auto actions = std::make_shared<std::vector<std::int32_t>>();
  actions->reserve(count * dimensions.size());
  for (std::size_t i = 0; i < count; ++i) {
    // The last dimension varies fastest.
    std::size_t below = count;
    for (const Discrete& dimension : dimensions) {
      const auto n = static_cast<std::size_t>(dimension.n);
      below /= n;
      actions->push_back(dimension.start + static_cast<std::int32_t>(i / below % n));
    }
  }
  return actions;
}

std::string Environment::describe_action(std::span<const std::int32_t> action) const {
  return fmt::format("[{}]", fmt::join(action, " "));
}

OwnedBuffers::OwnedBuffers(const EnvironmentSpec& spec)
    : observation(spec.observation_space.size(), 0.0F),
      action_mask(spec.action_space.mask_size(), 1),
      info(spec.info_names.size(), kNoInfo) {}

std::size_t info_index(const EnvironmentSpec& spec, std::string_view name) {
  const auto found = std::find(spec.info_names.begin(), spec.info_names.end(), name);
  if (found == spec.info_names.end()) {
    throw std::logic_error(
        fmt::format("{}: {}", spec.name, unknown_name_message("info", name, spec.info_names)));
  }
  return static_cast<std::size_t>(found - spec.info_names.begin());
}

void throw_invalid_action(const EnvironmentSpec& spec, std::span<const std::int32_t> action,
                          std::string_view why) {
  std::string text;
  for (const std::int32_t value : action)
    text += fmt::format("{}{}", text.empty() ? "" : " ", value);
  throw InvalidAction(fmt::format("{}: action [{}] {}", spec.name, text, why));
}

void check_action(const EnvironmentSpec& spec, std::span<const std::int32_t> action) {
  if (!spec.action_space.contains(action)) {
    throw_invalid_action(spec, action, "is not in " + spec.action_space.text());
  }
}

void check_reset_options(const EnvironmentSpec& spec, const YamlValue& options) {
  if (!options.is_null()) check_keys(options, spec.reset_options, "options of reset");
}

void sample_legal_action(const Environment& environment, std::span<const std::uint8_t> action_mask,
                         Random& random, std::span<std::uint8_t> scratch,
                         std::span<std::int32_t> out) {
  const Space& space = environment.spec().action_space;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Discrete& dimension = space.dimensions()[i];
    const auto mask = scratch.first(static_cast<std::size_t>(dimension.n));
    environment.conditional_mask(action_mask, out.first(i), mask);
    out[i] = dimension.start + static_cast<std::int32_t>(sample_index(random, mask));
  }
}

void EpisodeRandom::reset(std::optional<std::uint64_t> seed) {
  if (!seed && !seeded_) {
    std::random_device device;
    seed = (std::uint64_t{device()} << 32) ^ device();
  }
  if (seed) random_ = Random(*seed);
  seeded_ = true;
}

}  // namespace cclgym
