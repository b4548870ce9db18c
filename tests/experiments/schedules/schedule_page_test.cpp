// Tests of the page of synthesised schedules, its pictures and the sweep.
#include "experiments/schedules/schedule_page.hpp"

#include <array>
#include <random>
#include <regex>

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

// Left, top, right and bottom of the labels of a front, from its SVG.
std::vector<std::array<double, 4>> label_boxes(const std::string& picture) {
  std::vector<std::array<double, 4>> boxes;
  const std::regex label("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\">([^<]+)</text>");
  for (std::sregex_iterator one(picture.begin(), picture.end(), label), end; one != end; ++one) {
    const double x = std::stod((*one)[1]);
    const double y = std::stod((*one)[2]) - 4;
    boxes.push_back({x, y - 5, x + 6 * static_cast<double>((*one)[3].length()), y + 5});
  }
  return boxes;
}

TEST_CASE("labels of a front meet no point, no other label and no line to a label",
          "[experiments][schedules]") {
  // The fronts of dgx1's AllGather, of many trees close together, and of equal points.
  std::vector<std::vector<FrontPoint>> fronts{
      {{"allgather-2-2-3", 2, 1.5, true},
       {"allgather-6-3-7", 3, 7.0 / 6, true},
       {"allgather-trees-1", 3, 1.5, true},
       {"allgather-trees-2", 4, 1.25, true},
       {"allgather-trees-5", 4, 1.2, true},
       {"allgather-trees-6", 4, 7.0 / 6, true},
       {"all-pairs", 2, 4, false},
       {"ring", 7, 7.0 / 6, false}},
      {{"allreduce-16-6-8", 6, 0.5, true},
       {"allreduce-trees-1", 6, 0.5, true},
       {"allreduce-32-8-14", 8, 7.0 / 16, true},
       {"allreduce-trees-3", 10, 5.0 / 12, true},
       {"allreduce-trees-4", 10, 7.0 / 16, true},
       {"allreduce-parts-9", 10, 4.0 / 9, true},
       {"allreduce-shares-22", 10, 7.0 / 22, true}},
      {{"one-program", 2, 1, true}, {"two-program", 2, 1, true}, {"three-program", 2, 1, true}}};
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    std::vector<FrontPoint> points;
    for (int k = 0; k < 7; ++k) {
      const auto steps = static_cast<double>(2 + random() % 8);
      const double rounds = 1 + static_cast<double>(random() % 16) / 16;
      points.push_back({"allgather-trees-" + std::to_string(k), steps, rounds, true});
    }
    fronts.push_back(points);
  }
  for (const std::vector<FrontPoint>& points : fronts) {
    const std::string picture = front_picture(points, 2, 7.0 / 22);
    INFO(picture);
    const std::vector<std::array<double, 4>> labels = label_boxes(picture);
    REQUIRE(labels.size() == points.size());
    const auto inside = [](const std::array<double, 4>& box, double x, double y, double margin) {
      return x > box[0] - margin && x < box[2] + margin && y > box[1] - margin &&
             y < box[3] + margin;
    };
    for (std::size_t i = 0; i < labels.size(); ++i) {
      CHECK(labels[i][2] < 820);
      for (std::size_t k = 0; k < i; ++k) {
        CHECK_FALSE((labels[i][0] < labels[k][2] && labels[k][0] < labels[i][2] &&
                     labels[i][1] < labels[k][3] && labels[k][1] < labels[i][3]));
      }
    }
    const std::regex dot("cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
    for (std::sregex_iterator one(picture.begin(), picture.end(), dot), end; one != end; ++one) {
      for (const auto& box : labels) {
        CHECK_FALSE(inside(box, std::stod((*one)[1]), std::stod((*one)[2]), 1));
      }
    }
    const std::regex leader("leader\" d=\"M([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)\"");
    for (std::sregex_iterator one(picture.begin(), picture.end(), leader), end; one != end; ++one) {
      for (int piece = 0; piece <= 40; ++piece) {
        const double part = piece / 40.0;
        const double x = std::stod((*one)[1]) * (1 - part) + std::stod((*one)[3]) * part;
        const double y = std::stod((*one)[2]) * (1 - part) + std::stod((*one)[4]) * part;
        for (const auto& box : labels) CHECK_FALSE(inside(box, x, y, 0));
      }
    }
  }
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
  CHECK(problem("36B") == "(nothing thrown)");  // rounded to 32 B
  CHECK(contains(problem("28B"), "--sizes: allgather of 28 B is not a multiple of 32 B"));
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
