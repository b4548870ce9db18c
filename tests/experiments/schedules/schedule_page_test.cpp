// Tests of the page of synthesised schedules, its pictures and the sweep.
#include "experiments/schedules/schedule_page.hpp"

#include "core/yaml/yaml.hpp"
#include "experiments/schedules/program_view.hpp"
#include "experiments/schedules/schedule_pictures.hpp"
#include "experiments/schedules/synthesis_sweep.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "synthesis/strategies/synthesize.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym::test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_CASE("the picture of a step has each rank, and an arrow per pair that communicates",
          "[experiments][schedules]") {
  ScheduleView view{.name = "v", .ranks = 4, .ranks_per_node = 2};
  view.steps = {{{0, 1, 2, 0}, {1, 2, 1, 1}}, {{2, 3, 1, 0}}};
  view.step_captions = {"first <step>", "second"};
  const std::string picture = steps_picture(view);
  CHECK(count(picture, "<circle") == 8);
  CHECK(count(picture, "<title>") == 3);
  CHECK(contains(picture, "0 to 1: 2 chunks"));
  CHECK(contains(picture, "first &lt;step&gt;"));
  view.ranks = kMaxDrawnRanks + 1;
  CHECK(steps_picture(view).empty());
}

TEST_CASE("the view of a program has its steps, and loads within the rounds",
          "[experiments][schedules]") {
  FabricSpec spec;
  spec.name = "dgx1";
  const auto fabric = make_fabric(spec);
  for (const CollectiveKind collective :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllReduce}) {
    const synthesis::Synthesis made = synthesis::synthesize(*fabric, collective);
    for (const synthesis::SynthesizedProgram& program : made.programs) {
      INFO(program.name);
      const ScheduleView view = view_of(program, *fabric);
      const bool trees = std::holds_alternative<synthesis::TreePlan>(*program.plan);
      // The trees that are drawn, those of one rank, may be shallower than others.
      if (trees) CHECK(view.steps.size() <= static_cast<std::size_t>(program.steps));
      if (!trees) CHECK(view.steps.size() == static_cast<std::size_t>(program.steps));
      REQUIRE_FALSE(view.loads.empty());
      CHECK(view.loads.front().share <= 1 + 1e-9);
      CHECK(view.loads.front().share >= view.loads.back().share);
    }
  }
}

TEST_CASE("the page has the table, the front and a section per schedule",
          "[experiments][schedules]") {
  SchedulePage page{.title = "AllGather on <x>",
                    .lead = {"Bounds: none."},
                    .table = "a | b",
                    .min_steps = 2,
                    .min_rounds = 1.5,
                    .front = {{"one", 2, 1.5, true}, {"ring", 7, 1.75, false}}};
  page.schedules.push_back({.name = "one", .facts = {{"steps S", "2"}}});
  const std::string html = schedule_page(page);
  CHECK(contains(html, "AllGather on &lt;x&gt;"));
  CHECK(contains(html, "a | b"));
  CHECK(contains(html, "steps S"));
  CHECK(count(front_picture(page.front, 2, 1.5), "<circle") == 2);
  CHECK(count(front_picture(page.front, 2, 1.5), "excluded") == 2);
  CHECK(schedule_page(page) == html);
}

TEST_CASE("a fabric as YAML reads back as the same fabric", "[experiments][schedules]") {
  FabricSpec spec;
  spec.name = "ndv4";
  spec.servers = 2;
  spec.latency_s = 1.5e-6;
  spec.without = "server0/nic1,server1/gpu7";
  const FabricSpec read = read_fabric_spec(parse_yaml(fabric_yaml(spec), "f.yaml"));
  CHECK(fabric_label(read) == fabric_label(spec));
  CHECK(make_fabric(read)->canonical_text() == make_fabric(spec)->canonical_text());
}

}  // namespace
}  // namespace cclgym::test
