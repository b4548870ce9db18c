// Tests of the actions of profile pccl: plans of the engine over levels, their programs and masks.
#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <set>
#include <string>
#include <vector>

#include "env/tuning/actions/pccl_plans.hpp"
#include "env/tuning/tuning_testing.hpp"
#include "support/catch.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {

namespace {

std::vector<PcclPlan> plans_on(const std::string& name, int nodes) {
  FabricSpec spec;
  spec.name = name;
  spec.servers = nodes;
  return pccl_plans(*make_fabric(spec), [](Knob, std::int32_t) { return true; });
}

std::vector<std::string> plain_programs(const std::vector<PcclPlan>& plans) {
  std::vector<std::string> names;
  for (const PcclPlan& plan : plans) {
    const bool plain = plan.level(Knob::Nic) == 0 && !plan.host() &&
                       plan.level(Knob::Subcomms) == 0 && plan.level(Knob::Shuffle) == 0;
    if (plain) names.push_back(plan.program);
  }
  return names;
}

std::shared_ptr<const TuningSetup> pccl_setup(const std::string& fabric, const std::string& more) {
  return setup_of("{fabric: " + fabric + ", actions: pccl, " + more +
                  "workload: {name: sweep, collectives: [allgather, reducescatter, allreduce], "
                  "sizes: [64KiB, 4MiB]}}");
}

}  // namespace

TEST_CASE("plans divide the ranks into levels that fit the machine", "[env][pccl-actions]") {
  const std::vector<std::string> names = plain_programs(plans_on("frontier", 6));
  const auto has = [&](const std::string& name) {
    return std::ranges::find(names, "hierarchical:" + name) != names.end();
  };
  CHECK(has("8x6:ring+ring"));
  CHECK(has("8x6:ring+bruck"));
  CHECK_FALSE(has("8x6:ring+recursive"));  // 6 is no power of two
  CHECK(has("2x4x6:ring+ring+all-pairs"));
  CHECK(has("8x2x3:ring+broadcast-reduce+broadcast-reduce"));
  CHECK_FALSE(has("8x4x2:ring+ring+ring"));
  CHECK(has("48:ring"));
  for (const PcclPlan& plan : plans_on("frontier", 6)) {
    int product = 1;
    const std::string text = plan.program.substr(13, plan.program.find(':', 13) - 13);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (i == 0 || text[i - 1] == 'x') product *= std::stoi(text.substr(i));
    }
    CHECK(product == 48);
  }
}

TEST_CASE("a knob without a meaning stays at its first level", "[env][pccl-actions]") {
  for (const PcclPlan& plan : plans_on("frontier", 1)) {
    CAPTURE(plan.program);
    for (const Knob knob : {Knob::Nic, Knob::Reduce, Knob::Subcomms}) CHECK(plan.level(knob) == 0);
  }
  std::set<std::string> names;
  const std::vector<PcclPlan> plans = plans_on("frontier", 4);
  for (const PcclPlan& plan : plans) {
    names.insert(plan.program);
    if (pccl_levels(Knob::Hierarchy)[static_cast<std::size_t>(plan.level(Knob::Hierarchy))] !=
        "flat") {
      continue;
    }
    CHECK(plan.level(Knob::Subcomms) == 0);
    CHECK(plan.level(Knob::Shuffle) == 0);
  }
  CHECK(names.size() == plans.size());
  // Divisions nodes, pairs and nodes-2 have all other knobs; the flat one has three of them.
  CHECK(plans.size() == 3 * (5 * 4 * 2 * 3 * 4) + 5 * 4 * 2);
}

TEST_CASE("options of a plan are spelled in its program", "[env][pccl-actions]") {
  std::set<std::string> names;
  for (const PcclPlan& plan : plans_on("frontier", 4)) names.insert(plan.program);
  CHECK(names.contains(
      "hierarchical:8x4:ring+recursive:avoided:subcomms=4:reduce=host:nic=single-nic"));
  CHECK(names.contains("hierarchical:8x4:ring+bruck:subcomms=1"));
  CHECK(names.contains("hierarchical:32:recursive:nic=topology-aware"));
}

TEST_CASE("actions pccl: every action has a program, and masks lead to all of them",
          "[env][pccl-actions]") {
  const auto setup = pccl_setup("{name: frontier, nodes: 2}", "");
  const TuningActions& actions = *setup->actions;
  const Space space(actions.space());
  for (const std::uint64_t bytes : {std::uint64_t{64} << 10U, std::uint64_t{4} << 20U}) {
    for (const CollectiveKind kind :
         {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
      const Call call{.collective = kind, .bytes = bytes};
      CAPTURE(to_string(kind), bytes);
      const auto all = actions.legal_actions(kind);
      const std::size_t n = actions.knobs().size();
      std::size_t legal = 0;
      for (std::size_t i = 0; i < all.size(); i += n) {
        const auto action = all.subspan(i, n);
        if (!actions.legal(call, action)) continue;
        ++legal;
        if (actions.tuner_of(action)) continue;
        const std::string name =
            full_config(actions.algorithms(), actions.config(kind, action)).algorithm;
        CHECK(name.starts_with("hierarchical:"));
        CHECK(supports(actions.algorithms().at(name), kind));
      }
      std::vector<std::int32_t> prefix;
      const auto count = [&](const auto& self) -> std::size_t {
        if (prefix.size() == n) return actions.legal(call, prefix) ? 1 : 0;
        std::vector<std::uint8_t> mask(
            static_cast<std::size_t>(space.dimensions()[prefix.size()].n));
        actions.conditional_mask(call, prefix, mask);
        std::size_t found = 0;
        for (std::size_t value = 0; value < mask.size(); ++value) {
          if (mask[value] == 0) continue;
          prefix.push_back(static_cast<std::int32_t>(value));
          found += self(self);
          prefix.pop_back();
        }
        return found;
      };
      CHECK(count(count) == legal);
      CHECK(legal > 10);
    }
  }
}

TEST_CASE("actions pccl: the hosts reduce small calls only, and never in AllGather",
          "[env][pccl-actions]") {
  const auto hosts = [](const std::shared_ptr<const TuningSetup>& setup, CollectiveKind kind,
                        std::uint64_t bytes) {
    const TuningActions& actions = *setup->actions;
    std::vector<std::uint8_t> mask(Space(actions.space()).mask_size());
    actions.mask(Call{.collective = kind, .bytes = bytes}, mask);
    const auto reduce = std::ranges::find(actions.knobs(), Knob::Reduce) - actions.knobs().begin();
    return mask[Space(actions.space()).mask_offset(static_cast<std::size_t>(reduce)) + 1] != 0;
  };
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
  const auto setup = pccl_setup("{name: frontier, nodes: 2}", "");
  CHECK(hosts(setup, CollectiveKind::ReduceScatter, kMiB));
  CHECK_FALSE(hosts(setup, CollectiveKind::ReduceScatter, kMiB + 64));
  CHECK_FALSE(hosts(setup, CollectiveKind::AllGather, 64));
  const auto more = pccl_setup("{name: frontier, nodes: 2}", "host_reduce: 16MiB, ");
  CHECK(hosts(more, CollectiveKind::AllReduce, 16 * kMiB));
  CHECK_FALSE(hosts(more, CollectiveKind::AllReduce, 16 * kMiB + 64));
}

TEST_CASE("actions pccl: 2,048 GPUs are listed without simulations", "[env][pccl-actions]") {
  const auto setup = pccl_setup("{name: frontier, nodes: 256}", "");
  CHECK(setup->actions->legal_count(CollectiveKind::AllGather) >= 100);
  // The space is the same on every machine.
  CHECK(setup->actions->space() ==
        pccl_setup("{name: perlmutter, nodes: 2}", "")->actions->space());
}

}  // namespace cclgym::test
