#include "cost_models/parameters/parameter_file.hpp"

#include "core/error.hpp"
#include "cost_models/parameters/fitted_rows.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"
#include "support/doc_page.hpp"

using namespace cclgym;

namespace {

const std::string kSmall = R"(name: mine
kernel_launch: {value: 5us, source: measured}
local_copy_rate: 100 GB/s
alpha: {nvlink: 0.5us}
protocols:
  LL: {step_latency: 1us, efficiency: 0.5, thread_block_rate: 8 GB/s, reduce_rate: 4 GB/s}
  LL128: {step_latency: 2us, efficiency: 0.9375, thread_block_rate: 9 GB/s, reduce_rate: 5 GB/s}
  Simple: {step_latency: 3us, efficiency: 1, thread_block_rate: 10 GB/s, reduce_rate: 6 GB/s}
)";

std::string file_error(const std::string& text) {
  try {
    (void)read_cost_model(parse_yaml(text, "m.yaml"));
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("values are read plainly or with their source, others take defaults",
          "[cost_models][parameter-file]") {
  const CostModel model = read_cost_model(parse_yaml(kSmall, "m.yaml"));
  CHECK(model.name == "mine");
  CHECK(model.kernel_launch_s == 5e-6);
  CHECK(model.channel_overhead_s == 0);
  CHECK(model.full_threads == 512);
  CHECK(model.max_thread_blocks == 0);
  CHECK(
      read_cost_model(parse_yaml(kSmall + "max_thread_blocks: 12\n", "m.yaml")).max_thread_blocks ==
      12);
  CHECK(shipped_cost_model("a100").max_thread_blocks == 108);
  CHECK(shipped_cost_model("v100").max_thread_blocks == 80);
  CHECK(model.local_copy_rate_Bps == 100e9);
  CHECK(model.alpha_s[static_cast<std::size_t>(LinkKind::NvLink)] == 0.5e-6);
  CHECK_FALSE(model.alpha_s[static_cast<std::size_t>(LinkKind::Pcie)].has_value());
  CHECK(model.link_efficiency[static_cast<std::size_t>(LinkKind::NvLink)] == 1.0);
  CHECK(model.protocols[1].step_latency_s == 2e-6);
  CHECK(model.protocols[2].reduce_rate_Bps == 6e9);
}

TEST_CASE("errors name the place, what was found and what was expected",
          "[cost_models][parameter-file]") {
  const std::string unknown = file_error(replaced("kernel_launch", "kernel_lunch"));
  CHECK(unknown.rfind("m.yaml:2:1: ", 0) == 0);
  CHECK(unknown.find("'kernel_launch'") != std::string::npos);

  const std::string bare = file_error(replaced("100 GB/s", "100"));
  CHECK(bare.rfind("m.yaml:3:18: ", 0) == 0);
  CHECK(bare.find("unit") != std::string::npos);

  const std::string range = file_error(replaced("efficiency: 0.5", "efficiency: 1.5"));
  CHECK(range.rfind("m.yaml:6:39: ", 0) == 0);
  CHECK(range.find("1.5") != std::string::npos);

  const std::string protocol = file_error(replaced("LL128:", "LL64:"));
  CHECK(protocol.rfind("m.yaml:7:3: ", 0) == 0);
  CHECK(protocol.find("LL128") != std::string::npos);

  CHECK(file_error(kSmall + "max_thread_blocks: 1.5\n").rfind("m.yaml:9:20: ", 0) == 0);
  CHECK(file_error(replaced("name: mine\n", "")).find("name") != std::string::npos);
  CHECK(file_error(replaced("value: 5us", "valeu: 5us")).rfind("m.yaml:2:17: ", 0) == 0);
  CHECK(file_error(replaced(", reduce_rate: 6 GB/s", "")).find("reduce_rate") != std::string::npos);
}

TEST_CASE("docs/cost-models.md holds the tables of the option records",
          "[cost_models][parameter-file]") {
  test::DocPage page("cost-models.md");
  page.put("cost model", cost_model_options());
  page.put("alpha", alpha_options());
  page.put("link_efficiency", link_efficiency_options());
  page.put("mpi", mpi_options());
  page.put("matching", matching_options());
  page.put("protocol", protocol_options());
  page.put("fitted_to", fitted_rows_options());
  page.check();
}
