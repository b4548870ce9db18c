#include "cli/deployment/deploy_constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <memory>

#include "agents/export/deployed_setup.hpp"
#include "calibration/fit/minimise.hpp"
#include "cli/support/command.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_constants.hpp"
#include "cost_models/nccl/nccl_default.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "env/tuning/workload/workload.hpp"
#include "sim/call/tiles.hpp"
#include "sim/fast/call_timer.hpp"
#include "sim/prices/transfer_cost.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"

namespace cclgym {

namespace {

constexpr double kFactor = 16;       // max factor by which a constant may grow or shrink
constexpr double kRestraint = 0.01;  // cost of |ln factor| = 1
constexpr int kEvaluations = 6000;
constexpr std::array kCollectives{CollectiveKind::Broadcast, CollectiveKind::Reduce,
                                  CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                  CollectiveKind::AllReduce};
constexpr std::array kAlgorithms{NcclAlgorithm::Tree, NcclAlgorithm::Ring};

// A combination at a size, with NCCL's configuration.
struct Cell {
  std::size_t call;  ///< equal for all combinations of a collective and size
  NcclCollective collective;
  NcclAlgorithm algorithm;
  Protocol protocol;
  std::uint64_t bytes;
  double time_s;  ///< simulated
};

// A constant that affects the machine's times.
struct Coordinate {
  std::string line;  ///< line of the file, up to the value
  double* value;     ///< the constant, among those being fitted
  double own;        ///< NCCL's own value
};

class Fit {
 public:
  Fit(const std::string& label, std::string_view release)
      : version_(parse_nccl_version(release.substr(release.find('-') + 1))),
        fabric_(make_fabric(fabric_of_label(label))),
        comm_(nccl_comm_for(*fabric_, version_)),
        constants_(nccl_constants(version_)) {
    name_coordinates();
    simulate();
  }

  [[nodiscard]] FittedConstants run(const std::string& label, std::string_view release) {
    const double before = error();
    const double loss_before = loss();
    MinimiseOptions options{.step = 0.3, .evaluations = kEvaluations, .tolerance = 1e-4};
    options.least.assign(coordinates_.size(), -std::log(kFactor));
    options.most.assign(coordinates_.size(), std::log(kFactor));
    const Minimum best = minimise(
        [&](const std::vector<double>& at) {
          set(at);
          double restraint = 0;
          for (const double log_factor : at) restraint += std::abs(log_factor);
          return error() + kRestraint * restraint / static_cast<double>(at.size());
        },
        std::vector<double>(coordinates_.size(), 0), options);
    set(best.at);
    FittedConstants fitted;
    fitted.said.push_back(fmt::format(
        "{}: {} constants of NCCL's model fitted to {} simulated times: mean |ln(NCCL's / "
        "simulated)| {:.3f}, before {:.3f}",
        label, coordinates_.size(), cells_.size(), error(), before));
    fitted.said.push_back(fmt::format(
        "NCCL's choices among Ring and Tree take {:.3f} times the best one's time (geometric "
        "mean), before {:.3f}",
        loss(), loss_before));
    fitted.text = fmt::format("# Constants of {} for {}: us and GB/s\n", release, label);
    for (const std::string& line : fitted.said) fitted.text += "# " + line + "\n";
    fitted.text += fmt::format("machine,{},{}\n", comm_.ranks, comm_.nodes);
    for (const Coordinate& own : coordinates_) {
      fitted.text += fmt::format("{},{:.6g}\n", own.line, *own.value);
    }
    return fitted;
  }

 private:
  void add(std::string line, double& value) {
    if (value > 0) coordinates_.push_back({.line = std::move(line), .value = &value, .own = value});
  }

  void name_coordinates() {
    constexpr std::array kProtocols{"ll", "ll128", "simple"};
    constexpr std::array kLinks{"nvlink", "pci", "net"};
    constexpr std::array kGpus{"volta", "ampere", "hopper", "blackwell"};
    constexpr std::array kNodes{"1", "2", "4"};
    const NcclConstantsPlace place = nccl_constants_place(version_, comm_);
    const auto link = static_cast<std::size_t>(comm_.graph(NcclAlgorithm::Ring)->link);
    for (const NcclAlgorithm algorithm : kAlgorithms) {
      const auto a = static_cast<std::size_t>(algorithm);
      const char* name = algorithm == NcclAlgorithm::Tree ? "tree" : "ring";
      for (std::size_t p = 0; p < kProtocols.size(); ++p) {
        add(fmt::format("base_latency,{},{}", name, kProtocols[p]), constants_.base_us[a][p]);
        for (const std::size_t l : {link, std::size_t{2}}) {
          if (l == 2 && comm_.nodes == 1) continue;
          add(fmt::format("hw_latency,{},{},{}", kLinks[l], name, kProtocols[p]),
              constants_.hardware_us[l][a][p]);
        }
      }
    }
    const auto bandwidth = [&](const char* table, std::size_t row, NcclConstants::ByGpu& values) {
      add(fmt::format("{},{},{}", table, kGpus[row], kNodes[place.column]),
          values[row][place.column]);
    };
    bandwidth("ll_max_bw", place.ll_row, constants_.ll_most_GBps);
    bandwidth("ring_ll128_bw", place.gpu_row, constants_.ring_ll128_GBps);
    bandwidth("tree_ll128_bw", place.gpu_row, constants_.tree_ll128_GBps);
    bandwidth("tree_bw", place.gpu_row, constants_.tree_GBps);
  }

  void simulate() {
    const NcclDefault nccl(version_, comm_);
    auto site = std::make_shared<CallSite>();
    site->fabrics = {fabric_};
    site->cost_model = cost_model_for("auto", *fabric_);
    print_warning(cost_model_warning(site->cost_model, *fabric_));
    CallTimer timer(site);
    std::size_t call_number = 0;
    for (const CollectiveKind kind : kCollectives) {
      for (std::uint64_t size = 1024; size <= (std::uint64_t{1} << 30U); size *= 4, ++call_number) {
        const Call call{.collective = kind, .bytes = fitting_bytes(kind, size, comm_.ranks)};
        add_cells(nccl, timer, call, call_number);
      }
    }
  }

  void add_cells(const NcclDefault& nccl, CallTimer& timer, const Call& call, std::size_t number) {
    const auto collective = *nccl_collective(call.collective);
    for (const NcclAlgorithm algorithm : kAlgorithms) {
      const char* program = algorithm == NcclAlgorithm::Tree ? "tree" : "ring";
      if (!supports(timer.site().algorithms.at(program), call.collective)) continue;
      for (const Protocol protocol : all_protocols()) {
        const auto plan = nccl.plan(collective, algorithm, protocol, call.bytes);
        if (!plan) continue;
        const Config config = with_protocol_tiles(timer.site().cost_model, call.collective,
                                                  {.algorithm = program,
                                                   .protocol = protocol,
                                                   .channels = plan->channels,
                                                   .threads = plan->threads});
        cells_.push_back({number, collective, algorithm, protocol, call.bytes,
                          timer.time(call, plain_config(timer.site().algorithms, config)).time_s});
      }
    }
  }

  void set(const std::vector<double>& log_factors) {
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      *coordinates_[i].value = coordinates_[i].own * std::exp(log_factors[i]);
    }
  }

  // Mean of |ln(NCCL's time / simulated time)|.
  [[nodiscard]] double error() const {
    const NcclDefault nccl(version_, comm_, constants_);
    double sum = 0;
    for (const Cell& cell : cells_) {
      const auto time_s = nccl.time_s(cell.collective, cell.algorithm, cell.protocol, cell.bytes);
      sum += std::abs(std::log(*time_s / cell.time_s));
    }
    return sum / static_cast<double>(cells_.size());
  }

  // Geometric mean over calls: simulated time of the combination that NCCL expects to be fastest,
  // divided by the min simulated time.
  [[nodiscard]] double loss() const {
    const NcclDefault nccl(version_, comm_, constants_);
    double sum = 0;
    int calls = 0;
    for (std::size_t begin = 0; begin < cells_.size();) {
      double expected_s = std::numeric_limits<double>::infinity();
      double chosen_s = 0;
      double least_s = std::numeric_limits<double>::infinity();
      std::size_t i = begin;
      for (; i < cells_.size() && cells_[i].call == cells_[begin].call; ++i) {
        const Cell& cell = cells_[i];
        const double time_s =
            *nccl.time_s(cell.collective, cell.algorithm, cell.protocol, cell.bytes);
        if (time_s < expected_s) {
          expected_s = time_s;
          chosen_s = cell.time_s;
        }
        least_s = std::min(least_s, cell.time_s);
      }
      sum += std::log(chosen_s / least_s);
      ++calls;
      begin = i;
    }
    return std::exp(sum / calls);
  }

  NcclVersion version_;
  std::shared_ptr<const Fabric> fabric_;
  NcclComm comm_;
  NcclConstants constants_;
  std::vector<Coordinate> coordinates_;
  std::vector<Cell> cells_;
};

}  // namespace

FittedConstants fit_constants(const std::string& label, std::string_view release) {
  return Fit(label, release).run(label, release);
}

}  // namespace cclgym
