// Exported policies as tuners of a job's communicators.
#include "agents/export/policy_tuner.hpp"

#include <string>
#include <vector>

#include "agents/export/hand_made_policy.hpp"
#include "agents/export/policy_export.hpp"
#include "core/files/text_file.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"
#include "topology_models/machines/registry.hpp"
#include "workloads/readers/job_file.hpp"
#include "workloads/timing/job_simulator.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

// A policy file for AllReduce in an environment: tree LL on 4 channels for small calls, ring Simple
// on 8 for large ones.
std::string policy_of(const TemporaryFolder& folder, const std::string& environment) {
  const YamlValue options = parse_yaml(environment, "t.yaml");
  const auto setup = read_tuning_setup(options);
  const std::string path = folder.path() + "/p.policy";
  write_text_file(
      path, format_policy(to_policy_file(hand_made(options, false),
                                         policy_rules(*setup->actions, setup->fabric_label))));
  return "policy:" + path;
}

const std::string kNode =
    "{fabric: ndv4, actions: stock-nccl, workload: {name: sweep, collectives: [allreduce], sizes: "
    "1MiB}}";

std::shared_ptr<const Fabric> fabric_named(const std::string& yaml) {
  return make_fabric(read_fabric_spec(parse_yaml(yaml, "t.yaml")));
}

TunerSite site_on(std::shared_ptr<const Fabric> fabric) {
  TunerSite site;
  site.cost_model = cost_model_for("auto", *fabric);
  site.fabric = std::move(fabric);
  site.where.file = "tuner";
  return site;
}

}  // namespace

TEST_CASE("a policy file chooses as the policy does", "[agents][policy-tuner]") {
  const TemporaryFolder folder;
  const std::string name = policy_of(folder, kNode);
  std::vector<std::string> said;
  const auto tuner = make_policy_tuner(name, site_on(fabric_named("ndv4")),
                                       [&](const std::string& text) { said.push_back(text); });
  const Config small = tuner->choose({.collective = CollectiveKind::AllReduce, .bytes = 65536});
  CHECK(small.algorithm == "tree");
  CHECK(small.protocol == Protocol::LL);
  CHECK(small.channels == 4);
  const Config large = tuner->choose({.collective = CollectiveKind::AllReduce, .bytes = 1 << 26});
  CHECK(large.algorithm == "ring");
  CHECK(large.protocol == Protocol::Simple);
  CHECK(large.channels == 8);
  CHECK(tuner->choose({.collective = CollectiveKind::AllReduce, .bytes = 65536}) == small);
  CHECK(said.empty());
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::AllGather));
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::AllGather));
  REQUIRE(said.size() == 1);
  CHECK(contains(said[0], "was not trained for allgather; it leaves such calls to the default"));
}

TEST_CASE("a policy of another machine leaves its calls to the default and says so",
          "[agents][policy-tuner]") {
  const TemporaryFolder folder;
  const std::string name = policy_of(folder, kNode);
  std::string said;
  const auto tuner = make_policy_tuner(name, site_on(fabric_named("{name: ndv4, nodes: 2}")),
                                       [&](const std::string& text) { said += text; });
  CHECK_FALSE(tuner->chooses_for(CollectiveKind::AllReduce));
  CHECK(contains(said, "was not trained on ndv4 with 16 ranks on 2 nodes"));
  CHECK(contains(said, "It has ndv4"));
}

TEST_CASE("communicators of a job are decided by policies", "[agents][policy-tuner]") {
  const TemporaryFolder folder;
  const JobGraph job = read_job(parse_yaml(
      "{ranks: 16, communicators: {tp: {groups: [0..7, 8..15]}, dp: {groups: [[0, 8], [1, 9], [2, "
      "10], [3, 11], [4, 12], [5, 13], [6, 14], [7, 15]]}}, programs: [{ranks: 0..15, ops: "
      "[{allreduce: 64MiB, on: tp}, {allreduce: 4MiB, on: dp}]}]}",
      "job.yaml"));
  const auto fabric = fabric_named("{name: ndv4, nodes: 2}");
  const CostModel model = cost_model_for("auto", *fabric);
  std::vector<std::string> said;
  JobTuners tuners;
  tuners.communicator = {{"tp", policy_of(folder, kNode)}, {"dp", policy_of(folder, kNode)}};
  tuners.make = policy_tuner_maker([&](const std::string& text) { said.push_back(text); });
  JobSimulator simulator(job, fabric, model, {.detail = JobDetail::Calls, .fold = true});
  const double step_s = simulator.run(tuners).step_time_s;
  // The groups of tp are nodes; those of dp have two ranks on two nodes.
  CHECK(said.size() == 1);
  CHECK(contains(said.at(0), "was not trained on ndv4 with 2 ranks on 2 nodes"));
  JobTuners spelled;
  spelled.communicator = {{"tp", "ring/Simple/8"}};
  CHECK(simulator.run(spelled).step_time_s == step_s);
  CHECK(simulator.run({}).step_time_s != step_s);
}

TEST_CASE("a policy that was trained on a communicator serves communicators like it",
          "[agents][policy-tuner]") {
  const TemporaryFolder folder;
  const std::string environment =
      "{fabric: {name: ndv4, nodes: 2}, actions: stock-nccl, workload: {name: job, job: {ranks: "
      "16, communicators: {dp: {groups: [[0, 8], [1, 9]]}}, programs: [{ranks: [0, 1, 8, 9], ops: "
      "[{allreduce: 64MiB, on: dp}]}, {ranks: [2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15], ops: "
      "[]}]}}}";
  const std::string name = policy_of(folder, environment);
  const auto nodes = fabric_named("{name: ndv4, nodes: 2}");
  const auto tuner = make_policy_tuner(name, site_on(nodes->with_ranks(std::vector<int>{3, 12})));
  CHECK(tuner->chooses_for(CollectiveKind::AllReduce));
  CHECK(tuner->choose({.collective = CollectiveKind::AllReduce, .bytes = 1 << 26}).channels == 8);
  CHECK_FALSE(make_policy_tuner(name, site_on(nodes))->chooses_for(CollectiveKind::AllReduce));
}

TEST_CASE("mistakes in policy files are located at the tuner", "[agents][policy-tuner]") {
  const TemporaryFolder folder;
  const TunerSite site = site_on(fabric_named("ndv4"));
  CHECK(contains(thrown([&] { return make_policy_tuner("policy:none.policy", site); }), "tuner"));
  write_text_file(folder.path() + "/bad.policy", "not a policy");
  CHECK(contains(
      thrown([&] { return make_policy_tuner("policy:" + folder.path() + "/bad.policy", site); }),
      "not a policy file"));
  CHECK(is_policy_tuner("policy:a"));
  CHECK(policy_tuner_maker()("ring/LL/2", site) == nullptr);
}
