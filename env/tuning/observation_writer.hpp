// Writer of the observation's features, and constants of its parts; internal to this room.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "env/tuning/size_class.hpp"
#include "env/tuning/tuning_observation.hpp"

namespace cclgym {

// SCCL: Cai et al. 2021; MSCCLang: Cowan et al. 2023; GC3: Cowan et al. 2022; PCCL: Singh et al.
// 2025; TE-CCL: Liu et al. 2024.
inline constexpr const char* kSccl = "SCCL";
inline constexpr const char* kGc3 = "GC3";
inline constexpr const char* kMsccl = "MSCCLang";
inline constexpr const char* kPccl = "PCCL";
inline constexpr const char* kTeccl = "TE-CCL";

inline constexpr double kMostLogRatio = 4;

// Gives the same bits on every platform, unlike the logarithm of the C library.
[[nodiscard]] inline double log2_or_0(double value) { return value > 0 ? portable_log2(value) : 0; }

// The lists of features are templates: one list serves to describe the features (Describer) and to
// write their values (Writer), for which names cost nothing.

/// Describes features.
class TuningObservation::Describer {
 public:
  explicit Describer(std::vector<TuningFeature>& features) : features_(features) {}

  /// Sets the group of the features that follow.
  void group(FeatureGroup group) { group_ = group; }
  void put(const char* name, const char* unit, double low, double high, const char* source,
           double /*value*/) {
    features_.push_back({prefix_ + name, unit, low, high, source, group_});
  }
  void flag(const char* name, const char* source, bool value) {
    put(name, "0 or 1", 0, 1, source, value ? 1 : 0);
  }
  /// Sets the prefix of the names that follow.
  void prefix(const char* text, std::size_t number) {
    prefix_ = text + std::to_string(number) + "_";
  }
  void prefix(const SynthActions& item, std::size_t number) {
    prefix_ = with_underscores(item.level_prefix()) + "_" + std::to_string(number) + "_";
  }
  /// `text` and `of` joined by an underscore.
  void prefix(std::string_view text, std::string_view of) {
    prefix_ = with_underscores(std::string(text) + "_" + std::string(of)) + "_";
  }
  void no_prefix() { prefix_.clear(); }

 private:
  static std::string with_underscores(std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
  }

  std::vector<TuningFeature>& features_;
  std::string prefix_;
  FeatureGroup group_ = FeatureGroup::Size;
};

/// Writes values. Those of groups that are switched off are 0.
class TuningObservation::Writer {
 public:
  Writer(std::span<float> out, const FeatureGroups& groups) : out_(out), groups_(groups) {}

  void group(FeatureGroup group) { on_ = groups_[static_cast<std::size_t>(group)]; }
  void put(const char* /*name*/, const char* /*unit*/, double low, double high,
           const char* /*source*/, double value) {
    out_[next_++] = on_ ? static_cast<float>(std::clamp(value, low, high)) : 0.0F;
  }
  void flag(const char* /*name*/, const char* /*source*/, bool value) {
    out_[next_++] = on_ && value ? 1.0F : 0.0F;
  }
  /// Copies values that a Writer has written.
  void copy(std::span<const float> written) {
    const auto to = out_.subspan(next_, written.size());
    if (on_) {
      std::ranges::copy(written, to.begin());
    } else {
      std::ranges::fill(to, 0.0F);
    }
    next_ += written.size();
  }
  template <class... Parts>
  void prefix(const Parts&... /*parts*/) {}
  void no_prefix() {}

 private:
  std::span<float> out_;
  FeatureGroups groups_;
  std::size_t next_ = 0;
  bool on_ = true;
};

}  // namespace cclgym
