// Tests of the table of parameters, and of parameter sets that are written and read again.
#include "cost_models/parameters/cost_parameters.hpp"

#include <set>

#include "core/yaml/yaml.hpp"
#include "cost_models/parameters/parameter_file.hpp"
#include "cost_models/parameters/parameter_writer.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

TEST_CASE("every parameter can be set, is read back, and changes the model's identity",
          "[calibration][cost-parameters]") {
  std::set<std::string> names;
  for (const CostParameter& parameter : cost_parameters()) {
    INFO(parameter.name);
    CHECK(names.insert(parameter.name).second);
    CostModel model = shipped_cost_model("a100");
    const std::string before = model.canonical_text();
    const double value = parameter.fit
                             ? 0.77 * std::min(parameter.fit->max, 2 * parameter.fit->start)
                             : parameter.get(model).value_or(0) + 3;
    parameter.set(model, value);
    CHECK(*parameter.get(model) == value);
    CHECK(model.canonical_text() != before);
    if (!parameter.fit) continue;
    CHECK(parameter.fit->min > 0);
    CHECK(parameter.fit->min < parameter.fit->start);
    CHECK(parameter.fit->start <= parameter.fit->max);
  }
}

TEST_CASE("the table has every number of a model: its identity is that of the parameters",
          "[calibration][cost-parameters]") {
  const CostModel a100 = shipped_cost_model("a100");
  CostModel copy = shipped_cost_model("v100");
  copy.alpha_s = a100.alpha_s;  // the table cannot remove an alpha
  for (const CostParameter& parameter : cost_parameters()) {
    const auto value = parameter.get(a100);
    const bool section =
        parameter.name.starts_with("mpi.") || parameter.name.starts_with("matching.");
    if (!value && section) continue;  // neither set has the section
    parameter.set(copy, value.value_or(ProtocolCost::kUnlimited));
    if (!value && parameter.name.starts_with("alpha.")) copy.alpha_s = a100.alpha_s;
  }
  CHECK(copy.canonical_text() == a100.canonical_text());
}

TEST_CASE("a written parameter set reads back as the same model",
          "[calibration][cost-parameters]") {
  for (const char* name : {"a100", "v100"}) {
    CostModel model = shipped_cost_model(name);
    for (const CostParameter& parameter : cost_parameters()) {
      const auto value = parameter.get(model);
      if (value) parameter.set(model, rounded_parameter(parameter, *value));
    }
    const std::string text =
        to_yaml({.model = model, .sources = {{"kernel_launch", "measured: \"here\""}}},
                "first line\nsecond line\n");
    CHECK(text.starts_with("# first line\n# second line\nname: "));
    CHECK(text.find("source: \"measured: \\\"here\\\"\"") != std::string::npos);
    const CostModel again = read_cost_model(parse_yaml(text, "set.yaml"));
    CHECK(again.name == model.name);
    CHECK(again.canonical_text() == model.canonical_text());
  }
}

TEST_CASE("parameters are written as people write them", "[calibration][cost-parameters]") {
  CHECK(parameter_text(cost_parameter("kernel_launch"), 6.6e-6) == "6.6us");
  CHECK(parameter_text(cost_parameter("kernel_launch"), 1.23456e-9) == "0.001235us");
  CHECK(parameter_text(cost_parameter("protocols.LL.reduce_rate"), 2.95e9) == "2.95 GB/s");
  CHECK(parameter_text(cost_parameter("protocols.LL.slot_data"), 32768) == "32KiB");
  CHECK(parameter_text(cost_parameter("link_efficiency.network"), 0.95) == "0.95");
  CHECK(thrown([] {
          return cost_parameter("kernel_lunch");
        }).find("did you mean 'kernel_launch'?") != std::string::npos);
}

}  // namespace
}  // namespace cclgym::test
