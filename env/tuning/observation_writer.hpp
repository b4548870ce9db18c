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

// Describes features or writes their values; one list serves both.
class TuningObservation::Writer {
 public:
  explicit Writer(std::vector<TuningFeature>& features) : features_(&features) {}
  Writer(std::span<float> out, const FeatureGroups& groups) : out_(out), groups_(groups) {}

  /// Sets the group of the features that follow.
  void group(FeatureGroup group) {
    group_ = group;
    on_ = groups_[static_cast<std::size_t>(group)];
  }

  void put(const char* name, const char* unit, double low, double high, const char* source,
           double value) {
    if (features_ != nullptr) {
      features_->push_back({prefix_ + name, unit, low, high, source, group_});
    } else {
      out_[next_++] = on_ ? static_cast<float>(std::clamp(value, low, high)) : 0.0F;
    }
  }
  void flag(const char* name, const char* source, bool value) {
    put(name, "0 or 1", 0, 1, source, value ? 1 : 0);
  }
  /// Sets the prefix of the names that follow; costs nothing while values are written.
  void prefix(const char* text, std::size_t number) {
    if (features_ != nullptr) prefix_ = text + std::to_string(number) + "_";
  }
  void prefix(const SynthActions& item, std::size_t number) {
    if (features_ == nullptr) return;
    std::string name = item.level_prefix();
    std::ranges::replace(name, '-', '_');
    prefix_ = name + "_" + std::to_string(number) + "_";
  }
  /// `text` and `of` joined by an underscore.
  void prefix(std::string_view text, std::string_view of) {
    if (features_ == nullptr) return;
    std::string name = std::string(text) + "_" + std::string(of);
    std::ranges::replace(name, '-', '_');
    prefix_ = name + "_";
  }
  void no_prefix() { prefix_.clear(); }

 private:
  std::vector<TuningFeature>* features_ = nullptr;
  std::span<float> out_;
  std::size_t next_ = 0;
  std::string prefix_;
  FeatureGroups groups_ = kAllFeatures;
  FeatureGroup group_ = FeatureGroup::Size;
  bool on_ = true;
};

}  // namespace cclgym
