// The tables of docs/fidelity.md about machines of today, from the rows of public logs. With
// CCLGYM_UPDATE_DOCS=1 in the environment, the tests write them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/compare/compare.hpp"
#include "core/units.hpp"
#include "support/catch.hpp"
#include "support/doc_page.hpp"
#include "support/places.hpp"
#include "support/sanitized.hpp"

namespace cclgym::test {
namespace {

constexpr const char* kPublicLogs = "experiments/measured/public-logs.csv";

// The cells of these rows, simulated with a cost model or with the set of each row's fabric.
Comparison simulated(const std::string& path, std::span<const Measurement> rows,
                     const std::vector<std::string>& systems = {},
                     const std::optional<std::string>& cost_model = std::nullopt) {
  CellFilter filter;
  filter.systems = systems;
  filter.max_ranks = 256;
  return compare(path, make_cells(rows, filter, path), cost_model, {.jobs = 2});
}

// A time that practitioners know.
struct Known {
  std::string_view figure;
  std::string_view system;
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::uint64_t bytes = 0;
};

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

const std::vector<Known>& known_figures() {
  using enum CollectiveKind;
  static const std::vector<Known> figures{
      {"8 B200, 8 GiB", "DGXC-B200-x8", AllReduce, 8 * kGiB},
      {"8 B200, 8 B", "DGXC-B200-x8", AllReduce, 8},
      {"8 B200, AllToAll, 1 GiB", "DGXC-B200-x8", AllToAll, kGiB},
      {"8 of GB200 NVL72, 8 GiB", "OCI-GB200-8", AllReduce, 8 * kGiB},
      {"8 of GB200 NVL72, 32 KiB", "OCI-GB200-8", AllReduce, 32768},
      {"16 of GB300 NVL72, 8 GiB", "OKE-GB300-16", AllReduce, 8 * kGiB},
      {"32 of GB300 NVL72, 8 GiB", "NVL72-GB300-w32", AllReduce, 8 * kGiB},
      {"64 of GB300 NVL72, 8 GiB", "OCI-GB300-64", AllReduce, 8 * kGiB},
      {"72 of GB200 NVL72, 8 GiB", "CoreWeave-GB200-NVL72-72", AllReduce, 8 * kGiB},
      {"64 of GB300 NVL72, AllToAll, 8 GiB", "OCI-GB300-64", AllToAll, 8 * kGiB},
      {"8 H100, 8 GiB", "DGXC-H100-x8-llmb", AllReduce, 8 * kGiB},
      {"8 H100, 1 MiB", "DGXC-H100-x8-llmb", AllReduce, 1 << 20},
      {"2x8 H100, 2 KiB", "dstack-Nebius-H100-2n", AllReduce, 2048},
      {"2x8 H100, 16 KiB", "dstack-Nebius-H100-2n", AllReduce, 16384},
      {"2x8 H100, 8 GiB", "dstack-Nebius-H100-2n", AllReduce, 8 * kGiB},
      {"8x8 H100, 8 GiB", "gj-aion-H100-8n", AllReduce, 8 * kGiB},
      {"12x8 H100, 8 GiB", "CoreWeave-HGX-96", AllReduce, 8 * kGiB},
      {"2x8 H200, 8 GiB", "Nebius-H200-2n", AllReduce, 8 * kGiB},
      {"8 A100, 1 MiB", "Azure-A100x8-superbench", AllReduce, 1 << 20},
      {"8 A100, 8 GiB", "Azure-A100x8-superbench", AllReduce, 8 * kGiB},
      {"2x8 A100 over EFA, 8 B", "AWS-p4d-EFA-2n", AllReduce, 8},
      {"2x8 A100 over EFA, 2 GiB", "AWS-p4d-EFA-2n", AllReduce, 2 * kGiB},
      {"2x8 A100, 8 GiB", "OCI-B4.8-A100-2n", AllReduce, 8 * kGiB},
      {"8 V100 of a DGX-1, 1 GiB", "OCI-V100x8-BM.GPU3.8", AllReduce, kGiB},
  };
  return figures;
}

constexpr int kCloseFigures = 20;
constexpr double kClose = 0.25;  // a simulated time is close to a measured one within this share

std::string known_table(int* close) {
  const std::string file = source_path(kPublicLogs);
  std::vector<Measurement> rows = read_measured_file(file);
  std::erase_if(rows, [](const Measurement& row) {
    return std::ranges::none_of(known_figures(), [&](const Known& known) {
      return row.system == known.system && row.collective == known.collective &&
             row.bytes == known.bytes;
    });
  });
  const Comparison comparison = simulated(file, rows);
  std::string text =
      "| figure | measured | simulated | ratio | within 25 % | rows of the system | set | source "
      "|\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Known& known : known_figures()) {
    const auto found = std::ranges::find_if(comparison.cells, [&](const Compared& each) {
      return each.cell.system == known.system && each.cell.collective == known.collective &&
             each.cell.bytes == known.bytes;
    });
    INFO(known.figure);
    REQUIRE(found != comparison.cells.end());
    const double ratio = found->prediction.time_s / found->cell.time_s;
    const bool is_close = ratio <= 1 + kClose && ratio >= 1 / (1 + kClose);
    *close += is_close ? 1 : 0;
    text += fmt::format("| {} | {} | {} | {:.2f} | {} | {} | `{}` | {} |\n", known.figure,
                        format_time(found->cell.time_s), format_time(found->prediction.time_s),
                        ratio, is_close ? "yes" : "**no**", to_string(found->seen),
                        found->prediction.cost_model, *found->cell.sources.begin());
  }
  return text;
}

std::string size_class(std::uint64_t bytes) {
  if (bytes <= 32 << 10) return "1 up to 32 KiB";
  if (bytes <= 1 << 20) return "2 up to 1 MiB";
  return bytes <= 32 << 20 ? "3 up to 32 MiB" : "4 larger";
}

double mean_of(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += std::abs(error);
  return sum / static_cast<double>(errors.size());
}

double error_of(const Compared& each) {
  return std::log(each.prediction.time_s / each.cell.time_s);
}

// Errors of the cells that no set was fitted to, by where they are, beside those of hockney.
std::string errors_table(const Comparison& own, const Comparison& hockney) {
  constexpr std::size_t kFewest = 10;
  REQUIRE(own.cells.size() == hockney.cells.size());
  struct Errors {
    std::vector<double> own;
    std::vector<double> hockney;
  };
  std::map<std::string, Errors> groups;
  for (std::size_t k = 0; k < own.cells.size(); ++k) {
    const Compared& each = own.cells[k];
    if (each.seen != Seen::HeldOut) continue;
    const std::string nodes = each.cell.nodes == 1 ? "one" : "several";
    for (const std::string& group :
         {nodes + " | all | all", nodes + " | " + std::string(to_string(each.cell.collective)) +
                                      " | " + size_class(each.cell.bytes)}) {
      groups[group].own.push_back(error_of(each));
      groups[group].hockney.push_back(error_of(hockney.cells[k]));
    }
  }
  std::string text =
      "| nodes | collective | size | cells | mean | bias | hockney |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const auto& [group, errors] : groups) {
    if (errors.own.size() < kFewest) continue;
    double bias = 0;
    for (const double error : errors.own) bias += error / static_cast<double>(errors.own.size());
    text += fmt::format("| {} | {} | {:.3f} | {:+.3f} | {:.3f} |\n", group, errors.own.size(),
                        mean_of(errors.own), bias, mean_of(errors.hockney));
  }
  return text;
}

// A system whose GPU had no set, and the set that its fabric would then have.
struct LeftOut {
  const char* file;
  std::string system;
  std::string gpu;
  std::string stand_in;
};

std::string left_out_table() {
  const std::vector<LeftOut> all{
      {"experiments/measured/nccl-sample.csv", "ABCI-V100", "V100", "a100"},
      {"experiments/measured/nccl-sample.csv", "Azure-NDv4", "A100", "v100"},
      {"experiments/measured/nccl-sample.csv", "H100-SXM-slice", "H100", "a100"},
      {"experiments/measured/nccl-sample.csv", "H100-cluster", "H100", "a100"},
      {"experiments/measured/nccl-sample.csv", "Alps-GH200", "GH200", "a100-slingshot"},
      {kPublicLogs, "DGXC-B200-x8", "B200", "h100"},
      {kPublicLogs, "DGXC-B200-2n", "B200", "h100"},
  };
  std::string text =
      "| system | GPU left out | stand-in | cells | own set | stand-in | hockney |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const LeftOut& each : all) {
    const std::string file = source_path(each.file);
    const std::vector<Measurement> rows = read_measured_file(file);
    const auto mean = [&](const std::optional<std::string>& model) {
      std::vector<double> errors;
      for (const Compared& cell : simulated(file, rows, {each.system}, model).cells) {
        errors.push_back(error_of(cell));
      }
      return std::pair{errors.size(), mean_of(errors)};
    };
    const auto [cells, own] = mean(std::nullopt);
    const double stand_in = mean(each.stand_in).second;
    const double hockney = mean("hockney").second;
    CHECK(stand_in < hockney);
    text += fmt::format("| {} | {} | `{}` | {} | {:.3f} | {:.3f} | {:.3f} |\n", each.system,
                        each.gpu, each.stand_in, cells, own, stand_in, hockney);
  }
  return text;
}

}  // namespace

TEST_CASE("docs/fidelity.md prints the times that practitioners know",
          "[calibration][public-logs]") {
  SKIP_UNLESS(!kSanitized, "too large for a sanitizer: AllToAll on 64 GPUs");
  DocPage page("fidelity.md");
  int close = 0;
  page.put("known", known_table(&close));
  page.check();
  CHECK(close >= kCloseFigures);
}

TEST_CASE("docs/fidelity.md prints the errors of public logs", "[.][public-logs][thorough]") {
  DocPage page("fidelity.md");
  const std::string file = source_path(kPublicLogs);
  const std::vector<Measurement> rows = read_measured_file(file);
  page.put("public logs",
           errors_table(simulated(file, rows), simulated(file, rows, {}, "hockney")));
  page.check();
}

TEST_CASE("docs/fidelity.md prints the errors of left-out GPUs", "[.][public-logs][thorough]") {
  DocPage page("fidelity.md");
  page.put("left out", left_out_table());
  page.check();
}

}  // namespace cclgym::test
