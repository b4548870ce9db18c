// docs/workloads-generators.md has the tables of models and keys.
#include <fmt/format.h>
#include <numeric>

#include "support/doc_page.hpp"
#include "workloads/generators/generated_job.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// 1234567 -> "1,234,567"
std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

std::string table_header(const std::vector<std::string>& columns) {
  std::string names = "|";
  std::string rule = "|";
  for (const std::string& column : columns) {
    names += " " + column + " |";
    rule += " --- |";
  }
  return names + "\n" + rule + "\n";
}

}  // namespace

TEST_CASE("docs/workloads-generators.md has the tables of the records",
          "[workloads][generators-docs]") {
  DocPage page("workloads-generators.md");
  for (const GeneratorInfo& info : generator_infos()) {
    page.put(info.name, generator_options(info.name));
  }
  std::string transformers =
      table_header({"model", "layers", "width", "heads", "key-value heads", "MLP", "experts",
                    "vocabulary", "sequence", "parameters", "source"});
  for (const TransformerModel& m : transformer_models()) {
    transformers += fmt::format(
        "| `{}` | {} | {} | {} | {} | {}{} | {} | {} | {} | {} | {} |\n", m.name, m.layers,
        grouped(m.hidden), m.heads, m.kv_heads, grouped(m.ffn), m.gated ? ", gated" : "",
        m.moe() ? fmt::format("{} of {}", m.experts_per_token, m.experts) : "",
        grouped(m.vocabulary), grouped(m.sequence), grouped(m.parameters()), m.source);
  }
  page.put("transformer-models", transformers);
  std::string shapes = table_header({"model", "parameters", "source"});
  const std::vector<std::string> sources = generator_model_sources("data-parallel");
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ModelShape& model = model_shapes()[i];
    shapes +=
        fmt::format("| `{}` | {} | {} |\n", model.name, grouped(model.parameters()), sources[i]);
  }
  page.put("data-parallel-models", shapes);
  std::string dlrms =
      table_header({"model", "tables", "width", "rows per lookup", "MLP parameters", "source"});
  for (const DlrmModel& m : dlrm_models()) {
    const std::vector<std::uint64_t> tensors = m.mlp_tensors();
    const std::uint64_t mlp = std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0});
    dlrms += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", m.name, grouped(m.tables), m.width,
                         m.pooling, grouped(mlp), m.source);
  }
  page.put("dlrm-models", dlrms);
  page.check();
}
