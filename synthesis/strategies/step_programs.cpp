#include <algorithm>
#include <fmt/format.h>

#include "core/counted.hpp"
#include "core/index.hpp"
#include "synthesis/sccl/inversion.hpp"
#include "synthesis/strategies/make_programs.hpp"
#include "synthesis/strategies/request.hpp"
#include "synthesis/strategies/work.hpp"

namespace cclgym::synthesis {

namespace {

constexpr int kMaxInstances = 8;
constexpr int kMaxChannelsOfSteps = 24;  // more thread blocks than that rarely fit on a GPU
constexpr int kMaxUnits = 16;            // per link: more would need too many chunks
// Part of the time for a front in which it is searched for: its proofs, which repeat the
// refutations with a record, get the rest. Set by hand.
constexpr double kSearchShare = 0.6;

class StepSynthesis {
 public:
  explicit StepSynthesis(SynthesisWork& work) : work_(work) {}

  void run() {
    if (work_.fabric.ranks() > kMaxParetoRanks) {
      work_.made.notes.push_back(
          fmt::format("Step schedules are searched for up to {} ranks; this "
                      "fabric has {}.",
                      kMaxParetoRanks, work_.fabric.ranks()));
      return;
    }
    Instance instance = make_instance(work_.fabric);
    std::int64_t units = 1;
    for (const Limit& limit : instance.limits) units = std::max(units, limit.units);
    if (units > kMaxUnits) {
      work_.made.notes.push_back(
          fmt::format("Step schedules are left out: the fastest link is {} times "
                      "the link unit, and more than {} need too many chunks.",
                      units, kMaxUnits));
      return;
    }
    if (!work_.options.group.empty()) {
      work_.made.notes.push_back("Step schedules are searched for all ranks, not for a group.");
      return;
    }
    const int fronts = is_composed(work_.collective) ? 2 : 1;
    ParetoFront copies;
    ParetoFront reductions;
    if (!is_inverted(work_.collective))
      copies = front_of(instance, copied(work_.collective), fronts);
    if (is_inverted(work_.collective)) reductions = front_of(instance, work_.collective, 1);
    if (is_composed(work_.collective)) {
      reductions = front_of(instance, CollectiveKind::ReduceScatter, 1);
    }
    // Some AllReduce may take fewer steps than a ReduceScatter and an AllGather.
    work_.made.min_steps = std::max(copies.min_steps, reductions.min_steps);
    if (is_composed(work_.collective)) {
      for (const ParetoPoint& reduction : reductions.points) {
        for (const ParetoPoint& copy : copies.points) {
          if (reduction.triple.chunks == copy.triple.chunks) {
            add_step_program(instance, &reduction, &copy);
          }
        }
      }
      return;
    }
    for (const ParetoPoint& point : copies.points) add_step_program(instance, nullptr, &point);
    for (const ParetoPoint& point : reductions.points) add_step_program(instance, &point, nullptr);
  }

 private:
  // `fronts`: number of fronts, this one included, among which the time that is left is divided.
  ParetoFront front_of(const Instance& instance, CollectiveKind collective, int fronts) {
    const Deadline slice = work_.deadline.after_part(1.0 / fronts);
    const int factor = sccl_chunk_factor(collective, work_.fabric.ranks());
    ParetoOptions options{.max_points = work_.options.max_points,
                          .deadline = work_.record ? slice.after_part(kSearchShare) : slice,
                          .max_conflicts = work_.options.max_conflicts};
    if (work_.options.on_search) {
      options.on_search = [&](const StepTriple& triple, const Rational& bound) {
        work_.options.on_search({.collective = collective,
                                 .chunks = triple.chunks * factor,
                                 .steps = triple.steps,
                                 .rounds = triple.rounds,
                                 .bound = bound / factor});
      };
    }
    if (SearchMemory* memory = work_.options.memory) {
      options.recall = [=](const StepTriple& triple) { return memory->recall(collective, triple); };
      options.keep = [=](const StepTriple& triple, const StepAnswer& answer) {
        memory->keep(collective, triple, answer);
      };
    }
    ParetoFront front = pareto_front(instance, collective, work_.options.root, options);
    for (const ParetoPoint& point : front.points) {
      work_.say(fmt::format("{}: {}, {}, {}; proof: {}", to_string(collective),
                            counted(point.triple.chunks * factor, "chunk"),
                            counted(point.triple.steps, "step"),
                            counted(point.triple.rounds, "round"), to_string(point.proof)));
    }
    if (!front.complete) {
      work_.unfinished = true;
      work_.made.notes.push_back(
          front.open.empty()
              ? fmt::format("The front of {} may go on with more steps.", to_string(collective))
              : fmt::format("The front of {} may go on: {} (chunks, steps, rounds) {} undecided.",
                            to_string(collective), counted(front.open.size(), "triple"),
                            front.open.size() == 1 ? "is" : "are"));
    }
    if (work_.record) {
      work_.say(fmt::format("{}: proofs of the front", to_string(collective)));
      work_.record->front(instance, collective, front, slice);
    }
    return front;
  }

  void add_step_program(const Instance& instance, const ParetoPoint* reduction,
                        const ParetoPoint* copy) {
    const int chunks = copy != nullptr ? copy->triple.chunks : reduction->triple.chunks;
    StepPlan plan{.instance = instance,
                  .demand = make_demand(copied(work_.collective), work_.fabric.ranks(), chunks,
                                        work_.options.root, work_.options.group)};
    int steps = 0;
    int rounds = 0;
    for (const ParetoPoint* point : {reduction, copy}) {
      if (point == nullptr) continue;
      steps += point->schedule.steps();
      rounds += point->schedule.total_rounds();
    }
    // Plans have schedules of the inverse on reversed hops.
    if (reduction != nullptr) plan.reduce = reversed(reduction->schedule);
    if (copy != nullptr) plan.copy = copy->schedule;
    const int all_chunks = chunks * sccl_chunk_factor(work_.collective, work_.fabric.ranks());
    const std::string triple = fmt::format("{}-{}-{}", all_chunks, steps, rounds);
    // Different pairs of schedules may have the same costs.
    const std::string name = work_.request(triple).name;
    for (const SynthesizedProgram& other : work_.made.programs) {
      if (other.name == name) return;
    }
    // One thread block cannot fill a link: copies of the program share the data.
    for (int instances = 1; instances <= kMaxInstances; instances *= 2) {
      ProgramRequest wanted =
          work_.request(instances == 1 ? triple : fmt::format("{}-r{}", triple, instances));
      wanted.instances = instances;
      SynthesizedProgram program = make_step_program(work_.fabric, plan, chunks, wanted);
      if (program.program->channels > kMaxChannelsOfSteps && instances > 1) break;
      work_.set_optimal(program);
      work_.made.programs.push_back(std::move(program));
    }
  }

  SynthesisWork& work_;
};

}  // namespace

void add_step_programs(SynthesisWork& work) { StepSynthesis(work).run(); }

}  // namespace cclgym::synthesis
