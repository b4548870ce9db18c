// PCCL's Figure 6 (arXiv 2504.18658v2): recursive halving over a ring across the nodes of Frontier.
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/published/published.hpp"
#include "experiments/run/cell_runner.hpp"
#include "experiments/sweep/load_experiment.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/thorough.hpp"

namespace cclgym::test {
namespace {

const std::string kFigure = source_path("experiments/pccl-fig6.yaml");

// Simulated speedup over its ring, by ranks and size, for at most `ranks` ranks.
std::map<std::tuple<int, std::uint64_t>, double> simulated(int ranks) {
  const Experiment experiment = load_experiment(kFigure);
  CellRunner runner(experiment);
  std::map<std::tuple<int, std::uint64_t>, double> ring_us;
  std::map<std::tuple<int, std::uint64_t>, double> speedup;
  for (std::size_t i = 0; i < experiment.cells.size(); ++i) {
    const Cell& cell = experiment.cells[i];
    if (experiment.fabrics[cell.fabric].fabric->ranks() > ranks) continue;
    const ResultRow row = runner.run(i);
    const std::tuple key{row.ranks, row.size_bytes};
    if (row.algorithm == "pccl-ring") {
      ring_us[key] = row.time_us;
    } else {
      speedup[key] = ring_us.at(key) / row.time_us;
    }
  }
  return speedup;
}

struct Agreement {
  int within = 0;  ///< cells within 25 %
  int cells = 0;
  int null = 0;  ///< cells within 25 % of a speedup of 1
  double mean_ln = 0;
};

Agreement agreement(const std::map<std::tuple<int, std::uint64_t>, double>& speedup) {
  Agreement found;
  for (const PublishedRow& row :
       read_published(source_path("experiments/published/pccl-fig6.csv"))) {
    const auto cell = speedup.find({row.gpus, row.size_from});
    if (row.source != "PCCL Fig 6" || cell == speedup.end()) continue;
    const auto near = [&row](double value) {
      return value >= 0.75 * row.speedup_low && value <= 1.25 * row.speedup_low;
    };
    ++found.cells;
    found.within += near(cell->second) ? 1 : 0;
    found.null += near(1) ? 1 : 0;
    found.mean_ln += std::abs(std::log(cell->second / row.speedup_low));
  }
  found.mean_ln /= found.cells;
  return found;
}

TEST_CASE("Figure 6 of PCCL holds on up to 256 ranks", "[experiments][pccl]") {
  const Agreement found = agreement(simulated(256));
  CHECK(found.cells == 28);
  CHECK(found.within == 28);
  CHECK(found.mean_ln < 0.10);
}

TEST_CASE("48 of the 49 cells of Figure 6 of PCCL hold, among them the corner",
          "[.][experiments][pccl][thorough]") {
  const auto speedup = simulated(2048);
  const Agreement found = agreement(speedup);
  CHECK(found.cells == 49);
  CHECK(found.within == 48);
  CHECK(found.null == 29);
  CHECK(found.mean_ln < 0.10);
  CHECK(std::abs(speedup.at({2048, 16ULL << 20}) / 30.8 - 1) < 0.25);
}

}  // namespace
}  // namespace cclgym::test
