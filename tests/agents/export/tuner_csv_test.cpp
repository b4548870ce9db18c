// Tests of the CSV for NCCL's stock tuner, written from a policy with hand-set heads.
#include "agents/export/tuner_csv.hpp"

#include <sstream>

#include "agents/baselines/baselines_testing.hpp"
#include "agents/export/hand_made_policy.hpp"
#include "agents/export/policy_export.hpp"
#include "core/error.hpp"
#include "support/catch.hpp"

namespace cclgym {
namespace {

using test::hand_made;

TEST_CASE("two size regimes become two lines; NCCL's default choice is left to NCCL",
          "[agents][tuner-csv]") {
  const YamlValue options = parse_yaml(
      "{fabric: ndv4, actions: stock-nccl, workload: {name: sweep, collectives: [allreduce], "
      "sizes: 1MiB}}",
      "t.yaml");
  const auto setup = read_tuning_setup(options);
  const auto rules = policy_rules(*setup->actions, setup->fabric_label);
  const TunerCsv csv = tuner_csv(to_policy_file(hand_made(options, false), rules), *setup);
  CHECK(csv.lines == 2);
  CHECK(csv.left_out == 0);
  std::istringstream lines(csv.text);
  std::string line;
  std::vector<std::string> found;
  while (std::getline(lines, line)) {
    if (!line.starts_with("#")) found.push_back(line);
  }
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "allreduce,0,1048575,tree,ll,4,1,8");
  CHECK(found[1] == "allreduce,1048576,1099511627776,ring,simple,8,1,8");

  const TunerCsv none = tuner_csv(to_policy_file(hand_made(options, true), rules), *setup);
  CHECK(none.lines == 0);
  CHECK(none.left_out == 1);
  CHECK(none.text.find("left to NCCL; the policy chooses nccl-default") != std::string::npos);
  CHECK_THROWS_AS(tuner_csv(to_policy_file(hand_made(options, false), {}), *setup), UserError);
}

}  // namespace
}  // namespace cclgym
