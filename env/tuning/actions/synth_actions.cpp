#include "env/tuning/actions/synth_actions.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <memory>

#include "collectives/library/program_entry.hpp"
#include "core/error.hpp"
#include "sim/tuners/synth_programs.hpp"
#include "synthesis/strategies/synthesize.hpp"

namespace cclgym {

namespace {

using synthesis::SynthesizedProgram;

// A schedule with all its programs, by the number of copies.
struct Schedule {
  const SynthesizedProgram* single = nullptr;  // one copy
  std::map<int, std::string> programs;
  std::int64_t blocks = 0;  // thread blocks on the busiest GPU, of one copy
};

// The part of a program's name that all copies share.
std::string schedule_name(const SynthesizedProgram& program) {
  const std::string suffix = fmt::format("-r{}", program.instances);
  const bool copies = program.instances > 1 && program.name.ends_with(suffix);
  return copies ? program.name.substr(0, program.name.size() - suffix.size()) : program.name;
}

std::vector<Schedule> schedules_of(const synthesis::Synthesis& made) {
  std::map<std::string, Schedule> by_name;
  std::vector<std::string> order;
  for (const SynthesizedProgram& program : made.programs) {
    const std::string name = schedule_name(program);
    Schedule& schedule = by_name[name];
    if (schedule.programs.empty()) order.push_back(name);
    schedule.programs[program.instances] = program.name;
    if (program.instances > 1) continue;
    schedule.single = &program;
    schedule.blocks = program.program->most_resident_blocks();
  }
  std::vector<Schedule> schedules;
  for (const std::string& name : order) {
    if (by_name[name].single != nullptr) schedules.push_back(std::move(by_name[name]));
  }
  return schedules;
}

// True if `a` costs no more than `b` in any respect; equal costs count.
bool as_good(const Schedule& a, const Schedule& b) {
  return a.single->steps <= b.single->steps &&
         a.single->rounds_per_chunk() <= b.single->rounds_per_chunk() && a.blocks <= b.blocks;
}

std::vector<Schedule> front_of(std::vector<Schedule> all) {
  std::vector<Schedule> front;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool dominated = false;
    for (std::size_t j = 0; j < all.size() && !dominated; ++j) {
      // The first of schedules with equal costs stays.
      dominated = i != j && as_good(all[j], all[i]) && (j < i || !as_good(all[i], all[j]));
    }
    if (!dominated) front.push_back(all[i]);
  }
  std::ranges::stable_sort(front, [](const Schedule& a, const Schedule& b) {
    if (a.single->steps != b.single->steps) return a.single->steps < b.single->steps;
    return b.single->rounds_per_chunk() < a.single->rounds_per_chunk();
  });
  if (front.size() <= SynthActions::kLevels) return front;
  std::vector<Schedule> kept;
  for (std::size_t i = 0; i < SynthActions::kLevels; ++i) {
    kept.push_back(front[i * (front.size() - 1) / (SynthActions::kLevels - 1)]);
  }
  return kept;
}

FrontSchedule point_of(const Schedule& schedule) {
  const SynthesizedProgram& program = *schedule.single;
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 30U;  // seconds are proportional to bytes
  const double rounds = boost::rational_cast<double>(program.rounds);
  FrontSchedule point{
      .chunks = program.chunks,
      .steps = program.steps,
      .rounds_per_chunk = boost::rational_cast<double>(program.rounds_per_chunk()),
      .s_per_B = rounds * program.chunk_bytes(kBytes) / program.unit_Bps / double(kBytes),
      .copies = {}};
  for (const auto& [count, name] : schedule.programs) point.copies.push_back({count, name});
  return point;
}

}  // namespace

std::size_t CollectiveFront::best(double bytes, double alpha_s) const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].time_s(bytes, alpha_s) < points[best].time_s(bytes, alpha_s)) best = i;
  }
  return best;
}

std::string SynthActions::level_prefix() const {
  std::string name = item;
  std::ranges::replace(name, ':', '-');
  return name;
}

const CollectiveFront* SynthActions::front(CollectiveKind collective) const {
  const auto found = std::ranges::find(fronts, collective, &CollectiveFront::collective);
  return found == fronts.end() ? nullptr : &*found;
}

SynthActions make_synth_actions(const std::string& item, const SourceLocation& where,
                                const TunerSite& site, AlgorithmLibrary& library) {
  const std::string_view name = item;
  const std::size_t colon = name.find(':');
  const bool named = colon != std::string_view::npos;
  if (name.ends_with(':')) {
    throw UserError(where, "nothing after the colon of " + quoted(item) +
                               "; expected pareto, throughput or sccl");
  }
  const SynthKind kind = read_synth_kind(named ? name.substr(colon + 1) : "", where);
  SynthActions actions{.item = item, .where = where, .fronts = {}};
  for (const CollectiveKind collective : site.collectives) {
    synthesis::Synthesis made;
    try {
      made = synthesised_programs(kind, collective, site);
    } catch (const UserError&) {
      continue;  // the collective or the fabric has no synthesis
    }
    const std::vector<Schedule> schedules = front_of(schedules_of(made));
    if (schedules.empty()) continue;
    for (const SynthesizedProgram& program : made.programs) {
      library.add(program_entry(program.name, program.program));
    }
    CollectiveFront& front = actions.fronts.emplace_back();
    front.collective = collective;
    for (const Schedule& schedule : schedules) front.points.push_back(point_of(schedule));
    front.min_steps = made.min_steps;
    front.min_rounds = boost::rational_cast<double>(made.min_rounds);
    const FrontSchedule& first = front.points.front();
    front.min_s_per_B = first.s_per_B * front.min_rounds / first.rounds_per_chunk;
  }
  return actions;
}

}  // namespace cclgym
