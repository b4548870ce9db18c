// Tests of the page of synthesised schedules, its pictures and the sweep.
#include "experiments/schedules/schedule_page.hpp"

#include "core/yaml/yaml.hpp"
#include "experiments/schedules/library_points.hpp"
#include "experiments/schedules/program_view.hpp"
#include "experiments/schedules/schedule_pictures.hpp"
#include "experiments/schedules/synthesis_sweep.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
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

TEST_CASE("algorithms of the library as points: NCCL's rings, and messages that GPUs relay",
          "[experiments][schedules]") {
  FabricSpec spec;
  spec.name = "dgx1";
  const auto dgx1 = make_fabric(spec);
  const auto point_of = [&](CollectiveKind collective, const std::string& name) {
    for (const FrontPoint& point : library_points(*dgx1, collective, 0, 25e9)) {
      if (point.name == name) return point;
    }
    return FrontPoint{};
  };
  // Six rings use all six units of a GPU: 7 of 8 chunks pass them.
  const FrontPoint ring = point_of(CollectiveKind::AllGather, "ring");
  CHECK(ring.steps == 7);
  CHECK(ring.rounds_per_chunk == Approx(7.0 / 6));
  CHECK_FALSE(ring.synthesised);
  CHECK(point_of(CollectiveKind::AllReduce, "ring").steps == 14);
  CHECK(point_of(CollectiveKind::AllReduce, "ring").rounds_per_chunk == Approx(7.0 / 24));
  // Pairs without a link are relayed, so that no point lies below the two steps of the diameter.
  CHECK(point_of(CollectiveKind::AllToAll, "naive").steps == 2);
  CHECK(point_of(CollectiveKind::AllToAll, "naive").rounds_per_chunk >= 1.0 / 3);
  CHECK(point_of(CollectiveKind::AllGather, "all-pairs").steps == 2);
  spec.name = "ndv4";
  spec.servers = 9;
  CHECK(library_points(*make_fabric(spec), CollectiveKind::AllGather, 0, 1e9).empty());
}

TEST_CASE("points of the front have a label each, and slow algorithms lie on the edge",
          "[experiments][schedules]") {
  const std::vector<FrontPoint> points{{"one", 2, 1.5, true},
                                       {"two", 2, 1.5, true},
                                       {"three", 3, 1.25, true},
                                       {"slow", 1, 40, false}};
  const std::string picture = front_picture(points, 1, 1);
  for (const char* label : {">one<", ">two<", ">three<", ">slow (40 rounds)<"}) {
    CHECK(count(picture, label) == 1);
  }
  CHECK(count(picture, "class=\"leader\"") >= 1);  // "two" lies on "one"
  CHECK_FALSE(contains(picture, "nan"));
  // A single point, and no bounds.
  CHECK_FALSE(contains(front_picture({points.data(), 1}, 0, 0), "nan"));
  CHECK(front_picture({}, 0, 0).empty());
}

TEST_CASE("sizes are read as an experiment reads them", "[experiments][schedules]") {
  const SourceLocation where{.file = "--sizes"};
  const auto problem = [&](const std::string& text) {
    return thrown([&] {
      check_sizes(text, CollectiveKind::AllGather, 8, where);
      return 0;
    });
  };
  CHECK(problem("1KiB..1GiB x4") == "(nothing thrown)");
  CHECK(problem("[12KiB, 48MiB]") == "(nothing thrown)");
  CHECK(contains(problem("[12KiB, 48MiB"), "--sizes: sizes is '[12KiB, 48MiB'"));
  CHECK(contains(problem("{a: 1}"), "expected sizes"));
  CHECK(contains(problem("[{a: 1}]"), "expected sizes"));
  CHECK(contains(problem("1KiB\nname: x"), "expected sizes"));
  CHECK(contains(problem("12"), "--sizes: "));
  CHECK(contains(problem("[1KiB, 1024B]"), "more than once"));
  CHECK(contains(problem("36B"), "--sizes: "));
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
