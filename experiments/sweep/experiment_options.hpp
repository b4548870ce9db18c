// The keys of an experiment file, one record each.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options/option.hpp"

namespace cclgym {

/// Keys of an experiment. The loader, the command line help and docs/experiments.md use these.
[[nodiscard]] const std::vector<OptionSpec>& experiment_options();
/// The record of one of these keys.
[[nodiscard]] const OptionSpec& experiment_option(std::string_view key);
/// Keys of `baseline`: the configuration that speedups refer to.
[[nodiscard]] const std::vector<OptionSpec>& baseline_options();
/// Keys of an item of `timeline`, which selects cells.
[[nodiscard]] const std::vector<OptionSpec>& timeline_options();
/// Keys of `cost_model` in its mapping form: `base` and every value that can be overridden.
[[nodiscard]] const std::vector<OptionSpec>& cost_model_choice_options();

/// Data types of an experiment with the bytes of an element; their names are NCCL's.
[[nodiscard]] const std::vector<std::pair<std::string, int>>& data_types();

}  // namespace cclgym
