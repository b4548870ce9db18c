#include "workloads/timing/job_tuning.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/call/tiles.hpp"

namespace cclgym {

namespace {

class Search {
 public:
  Search(JobSimulator& simulator, const JobTuners& tuners, const JobTuningOptions& options)
      : simulator_(simulator), job_(simulator.job()), options_(options) {
    found_.tuners = tuners;
  }

  JobTuning run() {
    const JobRecord record = simulator_.run(found_.tuners);
    found_.before_s = found_.after_s = record.step_time_s;
    ++found_.steps;
    find_calls(record);
    JobTuners alone = found_.tuners;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (options_.on_progress) options_.on_progress(i, calls_.size());
      tune(calls_[i]);
      if (!calls_[i].fastest.empty()) {
        alone.calls[calls_[i].row.call] = calls_[i].fastest.front().second;
      }
      found_.calls.push_back(calls_[i].row);
    }
    const JobRecord fastest = simulator_.run(alone);
    found_.fastest_alone_s = fastest.step_time_s;
    found_.fastest_alone_exposed_s = break_down(job_, fastest).mean.exposed_s;
    ++found_.steps;
    return std::move(found_);
  }

 private:
  struct Candidate {
    TunedCall row;
    std::int32_t rank = 0;  // a rank that makes the call
    std::int32_t op = 0;
    std::vector<std::pair<double, Config>> fastest;  // time alone, ascending
  };

  // The different collectives, by their time on the busiest actor. NCCL has no choice for messages.
  void find_calls(const JobRecord& record) {
    std::map<NamedCall, Candidate> by_call;
    std::map<std::pair<NamedCall, std::size_t>, double> times;
    for (std::size_t actor = 0; actor < record.lowered.classes.count(); ++actor) {
      const std::int32_t rank = record.lowered.classes.actor[actor];
      const RankProgram& program = job_.program(rank);
      for (std::int32_t index = 0; index < program.size(); ++index) {
        const JobOp& op = program.ops[at(index)];
        if (op.kind != JobOpKind::Collective || job_.group(rank, op).ranks.size() < 2) continue;
        const NamedCall call{job_.communicators[at(job_.group(rank, op).communicator)].name,
                             op.collective, op.bytes};
        const std::size_t number = record.lowered.first_op[actor] + at(index);
        Candidate& candidate = by_call[call];
        candidate.row.call = call;
        candidate.rank = rank;
        candidate.op = index;
        double& time_s = times[{call, actor}];
        time_s += record.end_s[number] - record.start_s[number];
        candidate.row.share = std::max(candidate.row.share, time_s / record.step_time_s);
      }
    }
    for (auto& [call, candidate] : by_call) {
      if (candidate.row.share >= options_.min_share) calls_.push_back(std::move(candidate));
    }
    std::stable_sort(calls_.begin(), calls_.end(), [](const Candidate& a, const Candidate& b) {
      return a.row.share > b.row.share;
    });
  }

  // Time of a call alone with a configuration; nothing if it cannot run.
  double time_alone_s(const Candidate& candidate) {
    const JobOp& op = job_.program(candidate.rank).ops[at(candidate.op)];
    const ProcessGroup& group = job_.group(candidate.rank, op);
    return simulator_.flows().of(simulator_.views().collective(op, group)).time_s;
  }

  void tune(Candidate& candidate) {
    GroupViews& views = simulator_.views();
    const JobOp& op = job_.program(candidate.rank).ops[at(candidate.op)];
    const ProcessGroup& group = job_.group(candidate.rank, op);
    views.set_tuners(job_, found_.tuners);
    const ConfiguredCall& before = views.collective(op, group);
    candidate.row.before = before.config;
    candidate.row.before_s = time_alone_s(candidate);
    for (const Config& config : configurations(before)) {
      JobTuners tuners = found_.tuners;
      tuners.calls[candidate.row.call] = config;
      views.set_tuners(job_, tuners);
      candidate.fastest.emplace_back(time_alone_s(candidate), config);
    }
    std::stable_sort(candidate.fastest.begin(), candidate.fastest.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    candidate.row.chosen = candidate.row.before;
    candidate.row.chosen_s = candidate.row.before_s;
    const std::size_t tried = std::min(candidate.fastest.size(), at(options_.tried));
    for (std::size_t i = 0; i < tried; ++i) {
      JobTuners tuners = found_.tuners;
      tuners.calls[candidate.row.call] = candidate.fastest[i].second;
      const double step_s = simulator_.run(tuners).step_time_s;
      ++found_.steps;
      if (step_s >= found_.after_s) continue;
      found_.after_s = step_s;
      candidate.row.chosen = candidate.fastest[i].second;
      candidate.row.chosen_s = candidate.fastest[i].first;
    }
    if (candidate.row.chosen != candidate.row.before) {
      found_.tuners.calls[candidate.row.call] = candidate.row.chosen;
    }
    candidate.row.step_after_s = found_.after_s;
  }

  // Configurations that can run the call.
  std::vector<Config> configurations(const ConfiguredCall& call) const {
    std::vector<Config> list;
    const Simulator& simulator = *call.view->simulator;
    const AlgorithmLibrary& library = simulator.algorithms();
    for (const std::string& name : options_.algorithms) {
      const AlgorithmEntry* entry = library.find(name);
      if (entry == nullptr || !supports(*entry, call.call.collective)) continue;
      for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
        for (const int channels : options_.channels) {
          const Config config =
              with_protocol_tiles(simulator.cost_model(), call.call.collective,
                                  {.algorithm = name, .protocol = protocol, .channels = channels});
          if (check_config(library, call.call, config, call.view->fabric->ranks()).empty() &&
              check_resident(library, call.call, config, *call.view->fabric, simulator.cost_model())
                  .empty()) {
            list.push_back(config);
          }
        }
      }
    }
    return list;
  }

  JobSimulator& simulator_;
  const JobGraph& job_;
  const JobTuningOptions& options_;
  JobTuning found_;
  std::vector<Candidate> calls_;
};

}  // namespace

JobTuning tune_job(JobSimulator& simulator, const JobTuners& tuners,
                   const JobTuningOptions& options) {
  return Search(simulator, tuners, options).run();
}

}  // namespace cclgym
