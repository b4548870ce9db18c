#include "env/gym/space.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "env/gym/env_error.hpp"

namespace cclgym {

namespace {

std::size_t count_of(const std::vector<std::size_t>& shape) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  return count;
}

std::vector<Discrete> dimensions_of(const std::vector<std::int32_t>& nvec,
                                    const std::vector<std::int32_t>& start) {
  if (nvec.size() != start.size()) {
    throw std::invalid_argument(
        fmt::format("MultiDiscrete: {} sizes, but {} starts", nvec.size(), start.size()));
  }
  std::vector<Discrete> dimensions(nvec.size());
  for (std::size_t i = 0; i < nvec.size(); ++i) dimensions[i] = {nvec[i], start[i]};
  return dimensions;
}

float sample_real(Random& random, float low, float high) {
  const bool below = std::isfinite(low);
  const bool above = std::isfinite(high);
  double value = 0;
  if (below && above) {
    value = random.uniform(low, high);
  } else if (below) {
    value = low + random.exponential(1);
  } else if (above) {
    value = high - random.exponential(1);
  } else {
    value = random.normal(0, 1);
  }
  // Rounding to float can leave the bounds.
  return std::clamp(static_cast<float>(value), low, high);
}

}  // namespace

Box::Box(std::vector<float> low, std::vector<float> high, std::vector<std::size_t> shape)
    : low_(std::move(low)), high_(std::move(high)), shape_(std::move(shape)) {
  if (low_.size() != high_.size() || low_.size() != count_of(shape_)) {
    throw std::invalid_argument(fmt::format("Box: {} lower and {} upper bounds for a shape of {}",
                                            low_.size(), high_.size(), count_of(shape_)));
  }
  for (std::size_t i = 0; i < low_.size(); ++i) {
    if (!(low_[i] <= high_[i])) {
      throw std::invalid_argument(
          fmt::format("Box: element {} has the empty range [{}, {}]", i, low_[i], high_[i]));
    }
  }
}

Box::Box(float low, float high, std::vector<std::size_t> shape)
    : Box(std::vector<float>(count_of(shape), low), std::vector<float>(count_of(shape), high),
          shape) {}

Box::Box(std::vector<float> low, std::vector<float> high)
    : Box(low, high, std::vector<std::size_t>{low.size()}) {}

MultiDiscrete::MultiDiscrete(const std::vector<std::int32_t>& nvec)
    : MultiDiscrete(nvec, std::vector<std::int32_t>(nvec.size(), 0)) {}

MultiDiscrete::MultiDiscrete(const std::vector<std::int32_t>& nvec,
                             const std::vector<std::int32_t>& start)
    : dimensions(dimensions_of(nvec, start)) {}

bool operator==(const Dict& a, const Dict& b) { return a.entries == b.entries; }

Space::Space(Box box) : kind_(std::move(box)) { flatten(kind_); }
Space::Space(Discrete discrete) : kind_(discrete) { flatten(kind_); }
Space::Space(MultiDiscrete multidiscrete) : kind_(std::move(multidiscrete)) { flatten(kind_); }
Space::Space(Dict dict) : kind_(std::move(dict)) { flatten(kind_); }

void Space::add_dimension(const Discrete& discrete) {
  const std::int64_t last = std::int64_t{discrete.start} + discrete.n - 1;
  if (discrete.n < 1 || last > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument(fmt::format("Discrete: {} integers from {} on is not a valid range",
                                            discrete.n, discrete.start));
  }
  elements_.push_back(
      {.first = discrete.start, .last = static_cast<std::int32_t>(last), .integer = true});
  dimensions_.push_back(discrete);
  mask_offsets_.push_back(mask_size_);
  mask_size_ += static_cast<std::size_t>(discrete.n);
}

void Space::flatten(const Kind& kind) {
  if (const auto* box = std::get_if<Box>(&kind)) {
    for (std::size_t i = 0; i < box->low().size(); ++i) {
      elements_.push_back({.low = box->low()[i], .high = box->high()[i]});
    }
  } else if (const auto* discrete = std::get_if<Discrete>(&kind)) {
    add_dimension(*discrete);
  } else if (const auto* multidiscrete = std::get_if<MultiDiscrete>(&kind)) {
    if (multidiscrete->dimensions.empty()) {
      throw std::invalid_argument("MultiDiscrete: expected at least one dimension");
    }
    for (const Discrete& dimension : multidiscrete->dimensions) add_dimension(dimension);
  } else {
    const auto& entries = std::get<Dict>(kind).entries;
    if (entries.empty()) throw std::invalid_argument("Dict: expected at least one sub-space");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (entries[i].first == entries[j].first) {
          throw std::invalid_argument(
              fmt::format("Dict: two sub-spaces are named '{}'", entries[i].first));
        }
      }
      flatten(entries[i].second.kind());
    }
  }
}

bool Space::contains(std::span<const float> value) const {
  if (value.size() != elements_.size()) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Element& element = elements_[i];
    const float x = value[i];
    if (element.integer) {
      if (!(x >= static_cast<float>(element.first) && x <= static_cast<float>(element.last)) ||
          x != std::floor(x)) {
        return false;
      }
    } else if (!(x >= element.low && x <= element.high)) {
      return false;
    }
  }
  return true;
}

bool Space::contains(std::span<const std::int32_t> value) const {
  if (value.size() != elements_.size()) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Element& element = elements_[i];
    if (element.integer) {
      if (value[i] < element.first || value[i] > element.last) return false;
    } else if (!(static_cast<float>(value[i]) >= element.low &&
                 static_cast<float>(value[i]) <= element.high)) {
      return false;
    }
  }
  return true;
}

bool Space::allows(std::span<const std::uint8_t> mask, std::span<const std::int32_t> value) const {
  if (mask.size() != mask_size_ || !is_discrete() || !contains(value)) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto index = static_cast<std::size_t>(value[i] - dimensions_[i].start);
    if (mask[mask_offsets_[i] + index] == 0) return false;
  }
  return true;
}

void Space::check_mask(std::span<const std::uint8_t> mask) const {
  if (mask.size() != mask_size_) {
    throw InvalidMask(fmt::format("the mask of {} must have {} bytes, found {}", text(), mask_size_,
                                  mask.size()));
  }
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const auto segment = mask.subspan(mask_offsets_[i], static_cast<std::size_t>(dimensions_[i].n));
    if (std::any_of(segment.begin(), segment.end(), [](std::uint8_t byte) { return byte > 1; })) {
      throw InvalidMask(
          fmt::format("the mask of dimension {} of {} has bytes other than 0 and 1", i, text()));
    }
    if (std::find(segment.begin(), segment.end(), 1) == segment.end()) {
      throw InvalidMask(
          fmt::format("the mask of dimension {} of {} leaves no choice: all zeros", i, text()));
    }
  }
}

void Space::sample(Random& random, std::span<float> out) const {
  if (out.size() != size()) throw std::logic_error("Space::sample: a value of the wrong size");
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Element& element = elements_[i];
    out[i] = element.integer ? static_cast<float>(random.integer(element.first, element.last))
                             : sample_real(random, element.low, element.high);
  }
}

void Space::sample(Random& random, std::span<std::int32_t> out,
                   std::span<const std::uint8_t> mask) const {
  if (out.size() != size()) throw std::logic_error("Space::sample: a value of the wrong size");
  if (!is_discrete()) throw std::logic_error("Space::sample: cannot draw integers from " + text());
  if (mask.empty()) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::int32_t>(random.integer(elements_[i].first, elements_[i].last));
    }
    return;
  }
  check_mask(mask);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto segment = mask.subspan(mask_offsets_[i], static_cast<std::size_t>(dimensions_[i].n));
    out[i] = dimensions_[i].start + static_cast<std::int32_t>(sample_index(random, segment));
  }
}

std::size_t sample_index(Random& random, std::span<const std::uint8_t> mask) {
  const auto legal = std::count(mask.begin(), mask.end(), std::uint8_t{1});
  if (legal == 0) throw InvalidMask("a mask leaves no choice: all zeros");
  auto left = random.integer(0, legal - 1);
  std::size_t index = 0;
  for (;; ++index) {
    if (mask[index] == 1 && left-- == 0) return index;
  }
}

}  // namespace cclgym
