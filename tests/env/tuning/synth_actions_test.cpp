// Tests of synthesised programs as actions of CollectiveTuning-v0.
#include "env/tuning/actions/synth_actions.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include "collectives/msccl/msccl_xml.hpp"
#include "env/registry.hpp"
#include "env/tuning/plan_costs.hpp"
#include "sim/tuners/synth_programs.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"
#include "tuning_testing.hpp"

namespace cclgym::test {

namespace {

constexpr double kUnit_Bps = 25e9;  // a link unit of dgx1

std::string machine(const std::string& fabric, const std::string& more,
                    const std::string& collectives = "allgather, alltoall") {
  return fmt::format(
      "fabric: {}\nworkload: {{name: sweep, collectives: [{}], sizes: 64KiB, order: listed}}\n{}\n",
      fabric, collectives, more);
}

const CollectiveFront& front_on(const TuningSetup& setup, CollectiveKind collective) {
  const CollectiveFront* front = setup.actions->front(collective);
  REQUIRE(front != nullptr);
  return *front;
}

// Programs of the legal actions of a level of the knob algorithm, by the level of instances.
std::map<std::string, std::string> programs_of(const TuningActions& actions,
                                               CollectiveKind collective,
                                               const std::string& level) {
  const auto& levels = actions.levels(Knob::Algorithm);
  const auto wanted = static_cast<std::int32_t>(std::ranges::find(levels, level) - levels.begin());
  const auto all = actions.legal_actions(collective);
  const std::size_t n = actions.knobs().size();
  std::map<std::string, std::string> programs;
  for (std::size_t i = 0; i < all.size(); i += n) {
    if (all[i] != wanted) continue;
    const auto action = all.subspan(i, n);
    const PlainConfig config = actions.config(collective, action);
    CHECK(config.instances == 1);
    REQUIRE(actions.knobs()[4] == Knob::Instances);
    const std::string copies = actions.levels(Knob::Instances)[static_cast<std::size_t>(action[4])];
    const std::string name = full_config(actions.algorithms(), config).algorithm;
    CHECK(programs.try_emplace(copies, name).first->second == name);
  }
  return programs;
}

// Last part of a name like "synth-dgx1-589f-allgather-2-2-3".
std::string schedule_part(const std::string& program) {
  return program.substr(program.find("all"));
}

}  // namespace

TEST_CASE("the front of dgx1 has SCCL's costs and bounds", "[env][programs]") {
  const auto setup = setup_of(machine("dgx1", "programs: synth:pareto"));
  const CollectiveFront& gather = front_on(*setup, CollectiveKind::AllGather);
  // SCCL, Table 4: (C, S, R) = (2, 2, 3) and (6, 3, 7); a chunk set is one rank's contribution.
  REQUIRE(gather.points.size() == 2);
  CHECK(gather.points[0].chunks == 2);
  CHECK(gather.points[0].steps == 2);
  CHECK(gather.points[0].rounds_per_chunk == Approx(3.0 / 2));
  CHECK(gather.points[0].s_per_B == Approx(3.0 / 2 / 8 / kUnit_Bps));
  CHECK(gather.points[1].steps == 3);
  CHECK(gather.points[1].rounds_per_chunk == Approx(7.0 / 6));
  CHECK(gather.points[1].s_per_B == Approx(7.0 / 6 / 8 / kUnit_Bps));
  CHECK(gather.min_steps == 2);
  CHECK(gather.min_s_per_B == Approx(7.0 / 6 / 8 / kUnit_Bps));
  // AllToAll counts the chunks of the entire buffer.
  const CollectiveFront& exchange = front_on(*setup, CollectiveKind::AllToAll);
  REQUIRE(exchange.points.size() == 2);
  CHECK(exchange.points[0].s_per_B == Approx(3.0 / 8 / kUnit_Bps));
  CHECK(exchange.points[1].s_per_B == Approx(1.0 / 3 / kUnit_Bps));
  CHECK(exchange.min_s_per_B == Approx(1.0 / 3 / kUnit_Bps));
}

TEST_CASE(
    "a level of the front stands for the schedule of each collective, instances for its copies",
    "[env][programs]") {
  const auto setup = setup_of(machine("dgx1", "programs: synth:pareto"));
  const TuningActions& actions = *setup->actions;
  const auto& levels = actions.levels(Knob::Algorithm);
  CHECK(std::vector(levels.end() - 4, levels.end()) ==
        std::vector<std::string>{"synth-pareto-1", "synth-pareto-2", "synth-pareto-3",
                                 "synth-pareto-4"});
  const auto gather = programs_of(actions, CollectiveKind::AllGather, "synth-pareto-1");
  REQUIRE(gather.contains("2"));
  CHECK(schedule_part(gather.at("1")) == "allgather-2-2-3");
  CHECK(schedule_part(gather.at("2")) == "allgather-2-2-3-r2");
  CHECK(gather.size() == 4);
  const auto exchange = programs_of(actions, CollectiveKind::AllToAll, "synth-pareto-2");
  CHECK(schedule_part(exchange.at("1")) == "alltoall-24-4-8");
  CHECK(programs_of(actions, CollectiveKind::AllGather, "synth-pareto-3").empty());

  // Every action of a level is found again by its configuration, and can be simulated.
  CallTimer timer(setup->site, setup->cache);
  for (const CollectiveKind collective : {CollectiveKind::AllGather, CollectiveKind::AllToAll}) {
    const auto all = actions.legal_actions(collective);
    const std::size_t n = actions.knobs().size();
    for (std::size_t i = 0; i < all.size(); i += n) {
      const auto action = all.subspan(i, n);
      if (actions.tuner_of(action)) continue;
      const PlainConfig config = actions.config(collective, action);
      const FrontSchedule* schedule = actions.synthesised(config);
      const auto level = levels[static_cast<std::size_t>(action[0])];
      CHECK((schedule != nullptr) == level.starts_with("synth-"));
      if (schedule == nullptr) continue;
      const auto found = actions.action_of(collective, config);
      REQUIRE(found);
      CHECK(actions.config(collective, *found) == config);
      CHECK(timer.time({.collective = collective, .bytes = 1 << 16}, config).time_s > 0);
    }
  }
}

TEST_CASE("the levels are the same on another machine, and those that it lacks are masked",
          "[env][programs]") {
  const auto mesh = setup_of(machine("dgx1", "programs: [synth:pareto, synth:throughput]"));
  const auto ring = setup_of(machine("z52", "programs: [synth:pareto, synth:throughput]"));
  CHECK(mesh->actions->levels(Knob::Algorithm).size() ==
        ring->actions->levels(Knob::Algorithm).size());
  // A ring of eight has a single point: (2, 4, 7) of SCCL, Table 5.
  CHECK(programs_of(*ring->actions, CollectiveKind::AllGather, "synth-pareto-1").size() == 4);
  CHECK(programs_of(*ring->actions, CollectiveKind::AllGather, "synth-pareto-2").empty());
}

TEST_CASE("knobs name all levels of a kind of synthesis, or one", "[env][programs]") {
  const auto all = setup_of(machine(
      "dgx1",
      "programs: synth:pareto\nknobs: {algorithm: [ring, synth-pareto], instances: [1, 4]}"));
  CHECK(programs_of(*all->actions, CollectiveKind::AllGather, "synth-pareto-1").size() == 2);
  CHECK(programs_of(*all->actions, CollectiveKind::AllGather, "synth-pareto-2").size() == 2);
  const auto one = setup_of(
      machine("dgx1", "programs: synth:pareto\nknobs: {algorithm: [naive, synth-pareto-2]}"));
  CHECK(programs_of(*one->actions, CollectiveKind::AllGather, "synth-pareto-1").empty());
  CHECK(programs_of(*one->actions, CollectiveKind::AllGather, "synth-pareto-2").size() == 4);
}

TEST_CASE("sccl_pareto is the position of the best schedule by S alpha + (R / C) L beta",
          "[env][programs]") {
  const auto setup = setup_of(machine("dgx1", "programs: synth:pareto\naction_features: true"));
  CollectiveTuningEnv environment(setup);
  const TuningObservation& observation = environment.observation();
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < observation.size(); ++i) at[observation.features()[i].name] = i;
  const double alpha_s = prior_alpha_s(setup->fabric);
  // One step more saves (3/2 - 7/6) / 8 of the bytes on a link unit.
  const double crossing = alpha_s / ((3.0 / 2 - 7.0 / 6) / 8 / kUnit_Bps);
  std::vector<float> out(observation.size());
  const auto observed = [&](CollectiveKind collective, double bytes) {
    observation.write(
        {.call = {.collective = collective, .bytes = static_cast<std::uint64_t>(bytes)},
         .context = {}},
        out);
    return static_cast<double>(out[at.at("sccl_pareto")]);
  };
  CHECK(observed(CollectiveKind::AllGather, 0.99 * crossing) == 0);
  CHECK(observed(CollectiveKind::AllGather, 1.01 * crossing) == 1);
  CHECK(static_cast<double>(out[at.at("synth_pareto_1_steps")]) == Approx(std::log2(3.0) / 4));
  CHECK(static_cast<double>(out[at.at("synth_pareto_2_chunks")]) == Approx(std::log2(7.0) / 8));
  CHECK(static_cast<double>(out[at.at("synth_pareto_1_rounds")]) ==
        Approx(std::log(1.5 * 6 / 7)).epsilon(1e-6));
  CHECK(out[at.at("synth_pareto_2_rounds")] == 0);
  CHECK(out[at.at("synth_pareto_3_steps")] == 0);
  // The difference of two schedules does not depend on the other estimates.
  const double bytes = std::floor(1.01 * crossing);
  CHECK(
      static_cast<double>(out[at.at("synth_pareto_1_time")] - out[at.at("synth_pareto_2_time")]) ==
      Approx(std::log((2 * alpha_s + 1.5 / 8 / kUnit_Bps * bytes) /
                      (3 * alpha_s + 7.0 / 6 / 8 / kUnit_Bps * bytes)))
          .margin(1e-5));
  // A collective counts its own steps: 2 and 4.
  CHECK(observed(CollectiveKind::AllToAll, 1024) == 0);
  CHECK(observed(CollectiveKind::AllToAll, 1e9) == 1);
  CHECK(static_cast<double>(out[at.at("synth_pareto_2_steps")]) == Approx(std::log2(5.0) / 4));

  // Without action_features, the observation keeps its size.
  const auto plain = setup_of(machine("dgx1", ""));
  const auto without = setup_of(machine("dgx1", "programs: synth:pareto"));
  CHECK(CollectiveTuningEnv(plain).observation().size() ==
        CollectiveTuningEnv(without).observation().size());
  CHECK(observation.size() == CollectiveTuningEnv(plain).observation().size() + 16);
}

TEST_CASE("reward alpha-beta has the bounds of the collective and the program's own S and R / C",
          "[env][programs]") {
  const auto setup = setup_of(machine(
      "dgx1",
      "programs: synth:pareto\nreward: {name: alpha-beta, alpha_weight: 0.5, beta_weight: 0.25}\n"
      "knobs: {algorithm: [naive, synth-pareto-1, synth-pareto-2]}",
      "alltoall"));
  CollectiveTuningEnv environment(setup);
  const double alpha_s = prior_alpha_s(setup->fabric);
  OwnedBuffers buffers(environment.spec());
  const auto all = setup->actions->legal_actions(CollectiveKind::AllToAll);
  const std::size_t n = setup->actions->knobs().size();
  std::size_t checked = 0;
  for (std::size_t i = 0; i < all.size(); i += 37 * n) {
    const auto action = all.subspan(i, n);
    const FrontSchedule* schedule =
        setup->actions->synthesised(setup->actions->config(CollectiveKind::AllToAll, action));
    if (schedule == nullptr) continue;
    environment.reset(7, buffers.view());
    const double bytes = static_cast<double>(environment.next_call().call.bytes);
    const StepOutcome outcome = environment.step(action, buffers.view());
    const double time_us = buffers.info[0];
    // (2, 3/8) or (4, 1/3) against the bounds 2 and 1/3.
    const double rounds = schedule->steps == 2 ? 3.0 / 8 : 1.0 / 3;
    const double steps_us = 0.5 * (2 - schedule->steps) * alpha_s * 1e6;
    const double beta_us = 0.25 * (1.0 / 3 - rounds) * bytes / kUnit_Bps * 1e6;
    CHECK(outcome.reward == Approx(-time_us + steps_us + beta_us));
    ++checked;
  }
  CHECK(checked > 3);
}

TEST_CASE("costs of NCCL's programs are on the scale of the front", "[env][programs]") {
  const auto setup = setup_of(machine("dgx1", "programs: synth:pareto"));
  PlanCostTable table(setup);
  const AlgorithmLibrary& library = setup->site->algorithms;
  const auto costs = [&](const std::string& algorithm, CollectiveKind collective, int channels) {
    Config config;
    config.algorithm = algorithm;
    config.channels = channels;
    return table.costs(collective, plain_config(library, config));
  };
  // NCCL's AllGather is (6, 7, 7) (SCCL, Table 3): six rings of one link unit each.
  const PlanCosts ring = costs("ring", CollectiveKind::AllGather, 6);
  CHECK(ring.steps == 7);
  CHECK(ring.rounds_per_chunk == Approx(7.0 / 6));
  // A single ring moves seven contributions over each of its links of one or two units.
  CHECK(costs("ring", CollectiveKind::AllGather, 1).rounds_per_chunk >= 3.5);
  const PlanCosts direct = costs("naive", CollectiveKind::AllToAll, 1);
  CHECK(direct.steps == 1);
  CHECK(direct.rounds_per_chunk >= 1.0 / 3);
}

TEST_CASE("equal fabrics get equal synthesised programs", "[env][programs]") {
  const auto one = setup_of(machine("dgx1", "programs: synth:pareto", "allgather"));
  const auto other =
      setup_of(machine("dgx1", "programs: synth:pareto\nnoise: jitter", "allgather"));
  const auto program = [](const TuningSetup& setup) {
    const auto& front = front_on(setup, CollectiveKind::AllGather);
    return to_msccl_xml(*setup.site->algorithms.at(front.points[0].copies[0].program).program);
  };
  CHECK(program(*one) == program(*other));
  const auto failed = setup_of(
      machine("{name: dgx1, without: 'gpu0:gpu4'}", "programs: synth:pareto", "allgather"));
  CHECK(program(*failed) != program(*one));
}

TEST_CASE("programs in SCCL's runtime are other programs with the same costs", "[env][programs]") {
  const auto own = setup_of(machine("dgx1", "programs: synth:pareto:sccl"));
  const auto interpreted = setup_of(machine("dgx1", "programs: synth:pareto"));
  CHECK(own->actions->levels(Knob::Algorithm).back() == "synth-pareto-sccl-4");
  const auto time_s = [](const TuningSetup& setup, Runtime runtime) {
    const FrontSchedule& first = front_on(setup, CollectiveKind::AllGather).points[0];
    CHECK(first.rounds_per_chunk == Approx(1.5));
    const AlgorithmLibrary& library = setup.site->algorithms;
    const std::string& name = first.copies[0].program;
    CHECK(library.at(name).traits.runtime == runtime);
    Config config;
    config.algorithm = name;
    config.protocol = Protocol::LL;
    config.channels = library.at(name).program->channels;
    CallTimer timer(setup.site, setup.cache);
    return timer
        .time({.collective = CollectiveKind::AllGather, .bytes = 8192},
              plain_config(library, config))
        .time_s;
  };
  CHECK(time_s(*own, Runtime::Sccl) < time_s(*interpreted, Runtime::Interpreter));
}

TEST_CASE("wrong items of synthesis are located", "[env][programs]") {
  const auto refusal = [](const std::string& more, const std::string& fabric = "dgx1",
                          const std::string& collectives = "allgather") {
    return thrown([&] {
      (void)make_environment("CollectiveTuning-v0",
                             parse_yaml(machine(fabric, more, collectives), "e.yaml"));
    });
  };
  CHECK(refusal("programs: synth:pareot") ==
        "e.yaml:3:11: unknown kind of synthesis 'pareot'; expected one of pareto, throughput, sccl "
        "(did you mean 'pareto'?)");
  CHECK(refusal("programs: 'synth:'") ==
        "e.yaml:3:11: nothing after the colon of 'synth:'; expected pareto, throughput or sccl");
  CHECK(refusal("programs: synth:pareto:throughput")
            .starts_with("e.yaml:3:11: unknown kind of synthesis 'pareto:throughput'"));
  CHECK(refusal("programs: synth:sccl:pareto")
            .starts_with("e.yaml:3:11: unknown kind of synthesis 'sccl:pareto'"));
  CHECK(refusal("programs: [synth, synth]") == "e.yaml:3:19: 'synth' is named twice");
  CHECK(refusal("actions: stock-nccl\nprograms: synth")
            .starts_with("e.yaml:4:11: profile stock-nccl has no programs of the user"));
  CHECK(refusal("action_features: true")
            .starts_with("e.yaml:3:18: action_features needs synthesised programs"));
  CHECK(refusal("programs: synth\nknobs: {algorithm: [ring]}") ==
        "e.yaml:3:11: program 'synth' can never run here: knobs.algorithm leaves out 'synth'");
  // No schedule exists for a pipeline, which is no mistake: another environment may have one.
  CHECK(refusal("programs: synth", "dgx1", "alltonext") == "(nothing thrown)");
  const auto setup = setup_of(machine("dgx1", "programs: synth", "alltonext"));
  REQUIRE(setup->idle_programs.size() == 1);
  CHECK(setup->idle_programs[0].message() ==
        "program 'synth' can never run here: synthesis has no programs for these calls on dgx1");
}

}  // namespace cclgym::test
