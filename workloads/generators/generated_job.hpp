// Jobs from YAML mappings: "{kind: transformer, model: gpt3-175b, tp: 8, pp: 16, dp: 8, …}".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/options/option.hpp"
#include "core/yaml/yaml.hpp"
#include "workloads/generators/data_parallel_job.hpp"
#include "workloads/generators/dlrm_job.hpp"
#include "workloads/generators/inference_job.hpp"
#include "workloads/generators/transformer_job.hpp"
#include "workloads/graph/job_graph.hpp"

namespace cclgym {

/// A kind of generated job.
struct GeneratorInfo {
  std::string name;
  std::string description;  ///< one line
};
/// Kinds, in order: "transformer", "inference", "data-parallel", "dlrm".
[[nodiscard]] const std::vector<GeneratorInfo>& generator_infos();
/// Keys of a kind, with "kind" itself. Throws std::logic_error if there is no such kind.
[[nodiscard]] const std::vector<OptionSpec>& generator_options(std::string_view kind);
/// Names of the models of a kind. Throws std::logic_error if there is no such kind.
[[nodiscard]] std::vector<std::string> generator_models(std::string_view kind);
/// Publications that the sizes of a kind's models are from, in the order of generator_models.
[[nodiscard]] std::vector<std::string> generator_model_sources(std::string_view kind);

/// The job that a mapping describes; its settings are located in messages. Throws UserError at a
/// key that is unknown, or whose value is out of range or does not fit the others.
[[nodiscard]] JobGraph read_generated_job(const YamlValue& value);
/// The settings of a mapping of kind transformer or inference, without generating the job.
[[nodiscard]] TransformerJob read_transformer_job(const YamlValue& mapping);
[[nodiscard]] InferenceJob read_inference_job(const YamlValue& mapping);

}  // namespace cclgym
