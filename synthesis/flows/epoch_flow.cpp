#include "synthesis/flows/epoch_flow.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "core/error.hpp"
#include "core/index.hpp"
#include "synthesis/flows/epoch_program.hpp"
#include "synthesis/flows/exact_dual.hpp"
#include "synthesis/solvers/linear_program.hpp"

namespace cclgym::synthesis {

EpochGraph make_epoch_graph(FlowGraph graph, double chunk_bytes, double epoch_s,
                            const std::vector<double>& latency_s) {
  if (!(chunk_bytes > 0) || !(epoch_s > 0)) {
    throw UserError(fmt::format("a chunk of {} bytes in epochs of {} s; expected positive values",
                                chunk_bytes, epoch_s));
  }
  if (latency_s.size() != graph.edges.size()) {
    throw UserError(fmt::format("there are {} latencies; expected one for each of {} edges",
                                latency_s.size(), graph.edges.size()));
  }
  EpochGraph epochs;
  epochs.epoch_s = epoch_s;
  const double per_unit = graph.unit_Bps * epoch_s / chunk_bytes;
  const std::optional<Rational> fraction = simple_fraction(per_unit, 1e-12 * per_unit);
  constexpr std::int64_t kMaxDenominator = 100'000;
  if (!fraction || fraction->denominator() >= kMaxDenominator) {
    throw UserError(
        fmt::format("a link unit carries {} chunks per epoch, which is no simple "
                    "fraction; choose another epoch or chunk size",
                    per_unit));
  }
  epochs.chunks_per_unit = *fraction;
  const auto epochs_of = [&](double time_s) {
    constexpr double kNoise = 1e-9;  // a whole number of epochs is not rounded up
    return static_cast<int>(std::ceil(time_s / epoch_s - kNoise));
  };
  for (std::size_t k = 0; k < graph.edges.size(); ++k) {
    if (!(latency_s[k] >= 0)) {
      throw UserError(fmt::format("edge {} has a latency of {} s; expected >= 0", k, latency_s[k]));
    }
    const double sending_s =
        chunk_bytes / (graph.unit_Bps * static_cast<double>(graph.edges[k].units));
    const int window = std::max(1, epochs_of(sending_s));
    epochs.window.push_back(window);
    epochs.delay.push_back(window + epochs_of(latency_s[k]));
  }
  epochs.graph = std::move(graph);
  return epochs;
}

ExactProgram epoch_program(const EpochGraph& epochs, int chunks, int count,
                           const AllToAllOptions& options) {
  return make_epoch_program(make_epoch_setting(epochs, chunks, options), count).program;
}

namespace {

std::string path_text(const EpochPath& path) {
  return fmt::format("a path from rank {} to rank {}", path.source, path.target);
}

// The first problem of a path: its sends do not join, or a part is sent before it is there.
std::string check_path(const EpochGraph& epochs, const EpochPath& path, int count) {
  int node = path.source;
  int time = 0;
  if (path.hops.empty() || path.share <= Rational(0)) return path_text(path) + " is empty";
  for (const EpochHop& hop : path.hops) {
    if (hop.edge < 0 || at(hop.edge) >= epochs.graph.edges.size()) {
      return fmt::format("{} uses edge {}, which does not exist", path_text(path), hop.edge);
    }
    const FlowEdge& edge = epochs.graph.edges[at(hop.edge)];
    if (edge.source != node) return path_text(path) + " is interrupted";
    if (hop.epoch < time || (node >= epochs.graph.ranks && hop.epoch != time)) {
      return fmt::format("{} leaves node {} in epoch {}; it arrives there in epoch {}",
                         path_text(path), node, hop.epoch, time);
    }
    node = edge.target;
    time = hop.epoch + epochs.delay[at(hop.edge)];
  }
  if (node != path.target) return path_text(path) + " ends elsewhere";
  if (time > count) {
    return fmt::format("{} ends after {} epochs; expected {}", path_text(path), time, count);
  }
  return {};
}

std::string check_epoch_paths(const EpochGraph& epochs, int chunks, const AllToAllOptions& options,
                              const EpochFlow& flow) {
  PairShares shares;
  std::vector<std::map<int, Rational>> loads(epochs.graph.edges.size());
  for (const EpochPath& path : flow.paths) {
    if (std::string problem = check_path(epochs, path, flow.epochs); !problem.empty()) {
      return problem;
    }
    shares[{path.source, path.target}] += path.share;
    for (const EpochHop& hop : path.hops) {
      loads[at(hop.edge)][hop.epoch] += path.share * std::int64_t{chunks};
    }
  }
  if (std::string problem = check_shares(epochs.graph, options.group, shares); !problem.empty()) {
    return problem;
  }
  for (std::size_t k = 0; k < loads.size(); ++k) {
    const int window = epochs.window[k];
    const Rational capacity =
        epochs.chunks_per_unit * (epochs.graph.edges[k].units * std::int64_t{window});
    for (const auto& [last, unused] : loads[k]) {
      Rational sum(0);
      for (int epoch = last - window + 1; epoch <= last; ++epoch) {
        const auto found = loads[k].find(epoch);
        if (found != loads[k].end()) sum += found->second;
      }
      if (sum <= capacity) continue;
      return fmt::format("edge {} carries {} chunks in {} epochs up to {}; it has {}", k,
                         text_of(sum), window, last, text_of(capacity));
    }
  }
  return {};
}

// Search for the minimum number of epochs between one that does not suffice and one that does.
class EpochSearch {
 public:
  explicit EpochSearch(const EpochSetting& setting) : setting_(setting) {
    for (std::size_t k = 0; k < setting.sources.size(); ++k) {
      for (int rank = 0; rank < setting.epochs.graph.ranks; ++rank) {
        if (setting.participates[at(rank)]) {
          farthest_ = std::max(farthest_, setting.arrival[k][at(rank)]);
        }
      }
    }
    too_few_ = farthest_ - 1;
  }

  EpochFlow run() {
    const double steady = steady_epochs();
    int guess = std::max(farthest_, static_cast<int>(std::ceil(steady - 1e-6)));
    int stride = 1;
    while (enough_ < 0 || enough_ - too_few_ > 1) {
      const double delivered = solve(guess);
      if (enough_ < 0) {
        // Another epoch delivers at least about 1 / steady of the data.
        guess += std::max(1, static_cast<int>(std::floor((1 - delivered) * steady)));
      } else if (too_few_ >= guess) {
        guess = (too_few_ + enough_) / 2;
      } else {
        guess = std::max(enough_ - stride, (too_few_ + enough_) / 2);
        stride *= 2;
      }
    }
    if (!certificate_) solve(too_few_);
    flow_.certificate = std::move(*certificate_);
    flow_.epochs = enough_;
    return std::move(flow_);
  }

 private:
  // Epochs that AllToAll takes without delays.
  double steady_epochs() const {
    AllToAllOptions options = setting_.options;
    options.paths = false;
    const AllToAllFlow steady = alltoall_flow(setting_.epochs.graph, options);
    return boost::rational_cast<double>(steady.rounds * std::int64_t{setting_.chunks} /
                                        setting_.epochs.chunks_per_unit);
  }

  [[noreturn]] void give_up(const std::string& reason) const {
    const std::string upper =
        enough_ < 0 ? "no schedule was found" : fmt::format("{} epochs suffice", enough_);
    throw UserError(fmt::format("AllToAll on '{}' {}: more than {} epochs are needed, and {}",
                                setting_.epochs.graph.name, reason, too_few_, upper));
  }

  // Solves for a number of epochs, and enters the result; returns the delivered part.
  double solve(int count) {
    const EpochProgram program = make_epoch_program(setting_, count);
    LinearProgram solver;
    program.program.load(solver);
    const Deadline& deadline = setting_.options.deadline;
    if (solver.solve(deadline) != LpStatus::Optimal) {
      give_up(fmt::format("was not solved within {} s", deadline.limit_s()));
    }
    constexpr double kAll = 1 - 1e-7;
    const double delivered = -solver.objective();
    if (delivered >= kAll) {
      if (setting_.options.paths && !find_paths(program, solver.solution(), count)) {
        // A solution that sends as little as possible is simpler.
        solver.set_column_bounds(0, 1, 1);
        for (const EpochColumns& columns : program.sources) {
          for (const std::vector<int>& sent : columns.sent) {
            for (const int column : sent) {
              if (column >= 0) solver.set_cost(column, 1);
            }
          }
        }
        if (solver.solve(deadline) != LpStatus::Optimal ||
            !find_paths(program, solver.solution(), count)) {
          give_up(fmt::format("in {} epochs does not round to exact fractions", count));
        }
      }
      enough_ = count;
    } else {
      certificate_ = certify_dual(program.program, solver.duals());
      if (!certificate_ || certificate_->bound <= Rational(-1)) {
        give_up(fmt::format("in {} epochs is not proved impossible exactly", count));
      }
      too_few_ = count;
    }
    return delivered;
  }

  // Enters the schedule of a solution that delivers everything; false if it does not round to
  // exact fractions.
  bool find_paths(const EpochProgram& program, std::span<const double> values, int count) {
    constexpr std::int64_t kSimple = 10'000;
    const std::optional<ExactSolution> solution = certify_solution(program.program, values);
    std::optional<std::int64_t> scale;
    if (solution && solution->cost <= Rational(-1)) scale = common_denominator(solution->values);
    const auto exact = [&] {
      std::vector<std::int64_t> amounts;
      for (const Rational& value : solution->values) {
        amounts.push_back(numerator_over(value, *scale));
      }
      flow_.paths = exact_epoch_paths(setting_, program, count, amounts, *scale);
    };
    flow_.epochs = count;
    if (scale && *scale <= kSimple) {
      exact();
      return true;
    }
    for (const std::int64_t parts : {60, 840, 5040, 1 << 16, 1 << 24}) {
      flow_.paths = rounded_epoch_paths(setting_, program, count, values, parts);
      if (check_epoch_paths(setting_.epochs, setting_.chunks, setting_.options, flow_).empty()) {
        return true;
      }
    }
    if (scale) exact();
    return scale.has_value();
  }

  const EpochSetting& setting_;
  int farthest_ = 1;
  int too_few_ = 0;  // the distance of some pair, or the certificate's epochs
  int enough_ = -1;
  std::optional<DualCertificate> certificate_;
  EpochFlow flow_;
};

}  // namespace

EpochFlow alltoall_epochs(const EpochGraph& epochs, int chunks, const AllToAllOptions& options) {
  const EpochSetting setting = make_epoch_setting(epochs, chunks, options);
  return EpochSearch(setting).run();
}

std::string check_epoch_flow(const EpochGraph& epochs, int chunks, const AllToAllOptions& options,
                             const EpochFlow& flow) {
  if (options.paths) {
    std::string problem = check_epoch_paths(epochs, chunks, options, flow);
    if (!problem.empty()) return problem;
  }
  if (flow.certificate.program != epoch_program(epochs, chunks, flow.epochs - 1, options)) {
    return "the certificate is about another linear program";
  }
  if (flow.certificate.bound <= Rational(-1)) {
    return fmt::format("the certificate does not exclude {} epochs", flow.epochs - 1);
  }
  return check_dual(flow.certificate);
}

}  // namespace cclgym::synthesis
