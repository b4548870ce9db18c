// The resets and actions of an environment since its state was last determined by seeds: enough to
// make another environment with the same state.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cclgym::bindings {

using Seeds = std::vector<std::optional<std::uint64_t>>;

/// The resets and actions of one environment or of a vector. Seeds determine everything that
/// follows, so a snapshot needs no state of the environment: a copy repeats the history. The
/// history begins anew at every reset with seeds for all environments. It takes 4 bytes per integer
/// of an action.
class History {
 public:
  /// `forgets`: true if a reset with seeds determines all that follows. False if statistics are
  /// kept over episodes (EnvironmentSpec::keeps_statistics): nothing is then left out.
  History(std::size_t environments, bool forgets) : seeded_(environments, 0), forgets_(forgets) {}

  /// A reset of all environments, or of those in `mask`, in the form that replay() hands on.
  struct Reset {
    Seeds seeds;
    std::optional<std::vector<bool>> mask;
    std::optional<std::string> options;
  };

  /// Gives seeds of the operating system to the environments that never had one, so that the reset
  /// can be repeated.
  void complete(Reset& reset) {
    for (std::size_t i = 0; i < seeded_.size(); ++i) {
      if (reset.mask && !(*reset.mask)[i]) continue;
      if (!reset.seeds[i] && seeded_[i] == 0) {
        std::random_device device;
        reset.seeds[i] = (std::uint64_t{device()} << 32) ^ device();
      }
    }
  }
  /// Adds a reset that complete() has completed.
  void add(const Reset& reset) {
    bool all = !reset.mask;
    for (std::size_t i = 0; i < seeded_.size(); ++i) {
      if (reset.mask && !(*reset.mask)[i]) continue;
      all = all && reset.seeds[i].has_value();
      seeded_[i] = 1;
    }
    if (all && forgets_) {
      resets_.clear();
      actions_.clear();
    }
    resets_.emplace_back(actions_.size(), reset);
  }
  void add(std::span<const std::int32_t> actions) {
    actions_.insert(actions_.end(), actions.begin(), actions.end());
  }

  /// Calls reset(Reset) and step(actions), `width` integers at a time, in the order of the history.
  template <class OnReset, class OnStep>
  void replay(std::size_t width, const OnReset& reset, const OnStep& step) const {
    std::size_t at = 0;
    const auto steps_until = [&](std::size_t end) {
      for (; at < end; at += width) step(std::span(actions_).subspan(at, width));
    };
    for (const auto& [begin, one] : resets_) {
      steps_until(begin);
      reset(one);
    }
    steps_until(actions_.size());
  }

  /// The history as Python objects that can be pickled.
  [[nodiscard]] pybind11::tuple state() const {
    pybind11::list resets;
    for (const auto& [begin, one] : resets_) {
      resets.append(pybind11::make_tuple(begin, one.seeds, one.mask, one.options));
    }
    const pybind11::bytes actions(reinterpret_cast<const char*>(actions_.data()),
                                  actions_.size() * sizeof(std::int32_t));
    return pybind11::make_tuple(resets, actions);
  }
  /// The history of state(). Throws std::invalid_argument if it is not one of this many
  /// environments with actions of `width` integers together.
  void set_state(const pybind11::tuple& state, std::size_t width) {
    const auto bytes = state[1].cast<std::string>();
    std::vector<std::int32_t> actions(bytes.size() / sizeof(std::int32_t));
    if (bytes.size() != actions.size() * sizeof(std::int32_t) || actions.size() % width != 0) {
      throw std::invalid_argument("the snapshot is not one of this environment");
    }
    std::memcpy(actions.data(), bytes.data(), bytes.size());
    using Row = std::tuple<std::size_t, Seeds, std::optional<std::vector<bool>>,
                           std::optional<std::string>>;
    std::vector<std::pair<std::size_t, Reset>> resets;
    for (const pybind11::handle item : state[0]) {
      auto [begin, seeds, mask, options] = item.cast<Row>();
      if (begin > actions.size() || begin % width != 0 || seeds.size() != seeded_.size() ||
          (mask && mask->size() != seeded_.size())) {
        throw std::invalid_argument("the snapshot is not one of this environment");
      }
      for (std::size_t i = 0; i < seeded_.size(); ++i) {
        if (!mask || (*mask)[i]) seeded_[i] = 1;
      }
      resets.emplace_back(begin, Reset{std::move(seeds), std::move(mask), std::move(options)});
    }
    actions_ = std::move(actions);
    resets_ = std::move(resets);
  }

 private:
  std::vector<std::uint8_t> seeded_;
  bool forgets_;
  std::vector<std::int32_t> actions_;
  std::vector<std::pair<std::size_t, Reset>> resets_;  ///< with the number of integers before
};

}  // namespace cclgym::bindings
