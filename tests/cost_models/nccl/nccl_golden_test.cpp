// Compares NCCL's default choice with output of real NCCL and with an independent reimplementation.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/text_file.hpp"
#include "core/split.hpp"
#include "cost_models/nccl/nccl_default.hpp"
#include "cost_models/nccl/nccl_fixtures.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace cclgym;
using C = NcclCollective;
using A = NcclAlgorithm;

namespace {

// A cell of the table that NCCL prints with NCCL_DEBUG_SUBSYS=TUNING: us / GB/s, with one decimal.
struct Printed {
  double latency_us;
  double bandwidth_GBps;
};
using PrintedRow = std::array<std::optional<Printed>, 3>;  // LL, LL128, Simple

void check_row(const NcclDefault& nccl, C collective, A algorithm, const PrintedRow& row) {
  constexpr double kRounding = .051;  // half of the last decimal, plus single precision
  for (std::size_t p = 0; p < row.size(); ++p) {
    if (!row[p]) continue;
    const auto protocol = static_cast<Protocol>(p);
    INFO(to_string(collective) << " " << to_string(algorithm) << " " << to_string(protocol));
    CHECK(std::abs(nccl.latency_s(collective, algorithm, protocol) * 1e6 - row[p]->latency_us) <
          kRounding);
    CHECK(std::abs(nccl.bandwidth_Bps(collective, algorithm, protocol) / 1e9 -
                   row[p]->bandwidth_GBps) < kRounding);
  }
}

NcclComm h100_slice(int gpus) {
  NcclComm comm;
  comm.ranks = gpus;
  comm.compute_capability = 90;
  comm.channels = 24;
  comm.nvswitch = true;
  comm.heads = gpus;
  set_graph(comm, A::Ring, nccl_graph(12, 30, 30));
  set_graph(comm, A::Tree, gpus == 2 ? nccl_graph(12, 45, 45) : nccl_graph(12, 30, 30));
  set_graph(comm, A::Nvls, gpus == 6 ? nccl_graph(6, 50, 60) : nccl_graph(gpus, 60, 60));
  return comm;
}

}  // namespace

// Public logs of 2, 4 and 6 H100 SXM with NCCL 2.29.2 (github.com/waynehacking8,
// results/scaling_attributed/g{2,4,6}_auto.log). The three numbers of the graphs are inferred from
// the logs; all others are predictions.
TEST_CASE("estimates of NCCL 2.29.2 on slices of an H100 server", "[cost_models][nccl-golden]") {
  const auto nccl_of = [](int gpus) {
    return NcclDefault(parse_nccl_version("2.29.2"), h100_slice(gpus));
  };
  const NcclDefault two = nccl_of(2);
  check_row(two, C::AllReduce, A::Tree, {{{{8.0, 61.1}}, {{16.5, 180.6}}, {{16.4, 232.2}}}});
  check_row(two, C::AllGather, A::Ring, {{{{7.2, 282}}, {{15.9, 662.4}}, {{11.8, 720}}}});
  check_row(two, C::AllReduce, A::Ring, {{{{7.8, 141}}, {{17.8, 331.2}}, {{15.2, 360}}}});
  check_row(two, C::AllGather, A::Nvls, {{{}, {}, {{25.0, 25.5}}}});
  check_row(two, C::AllReduce, A::Nvls, {{{}, {}, {{25.0, 102.0}}}});
  const NcclDefault four = nccl_of(4);
  check_row(four, C::AllReduce, A::Tree, {{{{10.4, 43.6}}, {{21.5, 128.8}}, {{32.4, 165.6}}}});
  check_row(four, C::AllGather, A::Ring, {{{{8.4, 188}}, {{19.7, 441.6}}, {{18.6, 480}}}});
  check_row(four, C::AllReduce, A::Ring, {{{{10.2, 94}}, {{25.4, 220.8}}, {{28.8, 240}}}});
  check_row(four, C::AllGather, A::Nvls, {{{}, {}, {{25.0, 114.8}}}});
  check_row(four, C::AllReduce, A::Nvls, {{{}, {}, {{25.0, 160.0}}}});
  const NcclDefault six = nccl_of(6);
  check_row(six, C::AllReduce, A::Tree, {{{{12.8, 43.6}}, {{26.5, 128.8}}, {{48.4, 165.6}}}});
  check_row(six, C::AllGather, A::Ring, {{{{9.6, 169.2}}, {{23.5, 397.4}}, {{25.4, 432}}}});
  check_row(six, C::AllReduce, A::Ring, {{{{12.6, 84.6}}, {{33.0, 198.7}}, {{42.4, 216}}}});
  check_row(six, C::AllGather, A::Nvls, {{{}, {}, {{25.0, 177.1}}}});
  check_row(six, C::AllReduce, A::Nvls, {{{}, {}, {{25.0, 216.0}}}});

  // Lines "256 MiB AllReduce -> …" of the same logs.
  constexpr std::uint64_t kBytes = 256 << 20;
  for (const NcclDefault* nccl : {&two, &four}) {
    const NcclChoice choice = nccl->choose(C::AllReduce, kBytes);
    CHECK(choice.algorithm == A::Ring);
    CHECK(choice.protocol == Protocol::Simple);
    CHECK(choice.channels == 24);
    CHECK(choice.threads == 544);
  }
  const NcclChoice choice = six.choose(C::AllReduce, kBytes);
  CHECK(choice.algorithm == A::Nvls);
  CHECK(choice.channels == 16);
  CHECK(choice.threads == 640);
}

// Two ranks on one RTX 5090 over sockets, NCCL 2.29.7 (github.com, nccl-eBPF,
// default-suboptimal-search.md).
TEST_CASE("estimates and choices of NCCL 2.29.7 over sockets", "[cost_models][nccl-golden]") {
  NcclComm comm;
  comm.ranks = 2;
  comm.nodes = 2;
  comm.compute_capability = 120;
  comm.channels = 4;
  comm.ll128 = false;
  comm.plain_tree = true;
  set_graph(comm, A::Ring, nccl_graph(2, 1.2, 1.2, NcclLink::Pcie));
  set_graph(comm, A::Tree, nccl_graph(2, 2.4, 2.4, NcclLink::Pcie));
  set_graph(comm, A::Pat, nccl_graph(2, 2.4, 2.4, NcclLink::Pcie));
  const NcclDefault nccl(parse_nccl_version("2.29.7"), comm);
  check_row(nccl, C::AllReduce, A::Ring, {{{{16.6, 1.2}}, {}, {{36.4, 2.4}}}});
  check_row(nccl, C::AllReduce, A::Tree, {{{{16.8, .5}}, {}, {{36.4, 1.9}}}});
  check_row(nccl, C::AllGather, A::Ring, {{{{11.6, 2.4}}, {}, {{22.4, 4.8}}}});
  check_row(nccl, C::AllGather, A::Pat, {{{}, {}, {{17.6, 3.6}}}});
  check_row(nccl, C::Broadcast, A::Ring, {{{{9.3, 1.2}}, {}, {{22.4, 2.4}}}});
  CHECK(nccl.bandwidth_Bps(C::AllReduce, A::Ring, Protocol::LL128) == 0);
  CHECK_FALSE(nccl.time_s(C::AllReduce, A::Ring, Protocol::LL128, 1024).has_value());

  struct Logged {
    std::uint64_t bytes;
    Protocol protocol;
    int channels;
  };
  for (const auto& [bytes, protocol, channels] :
       std::vector<Logged>{{1024, Protocol::LL, 1},
                           {4096, Protocol::LL, 1},
                           {8192, Protocol::LL, 1},
                           {16384, Protocol::LL, 2},
                           {32768, Protocol::Simple, 1},
                           {65536, Protocol::Simple, 2},
                           {131072, Protocol::Simple, 4},
                           {1 << 20, Protocol::Simple, 4}}) {
    CAPTURE(bytes);
    const NcclChoice choice = nccl.choose(C::Broadcast, bytes);
    CHECK(choice.protocol == protocol);
    CHECK(choice.channels == channels);
  }
  for (const std::uint64_t bytes : {131072u, 262144u, 524288u}) {
    const NcclChoice choice = nccl.choose(C::AllReduce, bytes);
    CHECK(choice.algorithm == A::Ring);
    CHECK(choice.protocol == Protocol::Simple);
    CHECK(choice.channels == 4);
  }
}

// Two nodes of 8 T4 with NCCL 2.8.3; github.com/NVIDIA/nccl-tests issue 89 shows Ring's latencies.
TEST_CASE("estimates of NCCL 2.8 on T4", "[cost_models][nccl-golden]") {
  NcclComm comm;
  comm.ranks = 16;
  comm.nodes = 2;
  comm.compute_capability = 75;
  comm.channels = 1;
  set_graph(comm, A::Ring, nccl_graph(1, 9, 9, NcclLink::Pcie));
  set_graph(comm, A::Tree, nccl_graph(1, 9, 9, NcclLink::Pcie));
  comm.ll128 = true;  // not supported there, but its latency is printed
  const NcclDefault nccl(parse_nccl_version("2.8.4"), comm);
  CHECK(nccl.latency_s(C::Broadcast, A::Ring, Protocol::LL) * 1e6 == Approx(6.3));
  CHECK(nccl.latency_s(C::Broadcast, A::Ring, Protocol::LL128) * 1e6 == Approx(14.0));
  CHECK(nccl.latency_s(C::Broadcast, A::Ring, Protocol::Simple) * 1e6 == Approx(18.0));
  CHECK(nccl.bandwidth_Bps(C::Broadcast, A::Ring, Protocol::Simple) == Approx(9e9));
}

namespace {

template <class Number>
Number number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  REQUIRE(error == std::errc());
  REQUIRE(end == text.data() + text.size());
  return value;
}

// Reads a graph such as "12x20/24:nvlink:0:1".
NcclGraph graph_from(std::string_view text) {
  const auto parts = split(text, ':');
  REQUIRE(parts.size() == 4);
  const auto channels_and_rest = split(parts[0], 'x');
  const auto bandwidths = split(channels_and_rest[1], '/');
  NcclGraph graph = nccl_graph(number<int>(channels_and_rest[0]), number<double>(bandwidths[0]),
                               number<double>(bandwidths[1]),
                               parts[1] == "pcie" ? NcclLink::Pcie : NcclLink::NvLink);
  graph.inter_latency_s = number<double>(parts[2]) * 1e-6;
  graph.same_channels = parts[3] == "1";
  return graph;
}

template <class Enum>
Enum named(std::string_view name, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (to_string(static_cast<Enum>(k)) == name) return static_cast<Enum>(k);
  }
  FAIL("unknown name " << name);
  return Enum{};
}

struct GoldenRow {
  NcclVersion version;
  NcclComm comm;
  C collective;
  std::uint64_t bytes;
  A algorithm;
  Protocol protocol;
  int channels;
  int threads;
  double time_us;
};

GoldenRow golden_row(std::string_view line) {
  const auto cells = split(line, ',');
  REQUIRE(cells.size() == 21);
  GoldenRow row{};
  row.version = parse_nccl_version(cells[0]);
  row.comm.ranks = number<int>(cells[1]);
  row.comm.nodes = number<int>(cells[2]);
  row.comm.compute_capability = number<int>(cells[3]);
  row.comm.cpu = cells[4] == "intel" ? NcclCpu::Intel
                 : cells[4] == "amd" ? NcclCpu::Amd
                 : cells[4] == "arm" ? NcclCpu::Arm
                                     : NcclCpu::Mixed;
  row.comm.ll128 = cells[5] == "1";
  row.comm.plain_tree = cells[6] == "1";
  row.comm.channels = number<int>(cells[7]);
  row.comm.nvls_channels = number<int>(cells[8]);
  row.comm.nvswitch = row.comm.collnet = true;
  row.comm.heads = row.comm.ranks;
  std::size_t cell = 9;
  for (const A algorithm : {A::Tree, A::Ring, A::Nvls, A::NvlsTree, A::Pat}) {
    if (cells[cell] != "-") set_graph(row.comm, algorithm, graph_from(cells[cell]));
    ++cell;
  }
  row.collective = named<C>(cells[14], kNcclCollectives);
  row.bytes = number<std::uint64_t>(cells[15]);
  row.algorithm = named<A>(cells[16], kNcclAlgorithms);
  row.protocol = parse_protocol(cells[17]).value();
  row.channels = number<int>(cells[18]);
  row.threads = number<int>(cells[19]);
  row.time_us = number<double>(cells[20]);
  return row;
}

NcclCpu cpu_named(std::string_view name) {
  if (name == "intel") return NcclCpu::Intel;
  if (name == "amd") return NcclCpu::Amd;
  return name == "arm" ? NcclCpu::Arm : NcclCpu::Mixed;
}

// NCCL's estimate of one combination: its numbers, latency, bandwidth, and times of kTimed.
using OwnEstimate = std::array<double, 9>;
constexpr std::array<std::uint64_t, 4> kTimed{32, 4096, 1 << 20, 1 << 28};

OwnEstimate own_estimate(std::string_view text) {
  const auto cells = split(text, ' ');
  OwnEstimate estimate{};
  REQUIRE(cells.size() == estimate.size());
  for (std::size_t i = 0; i < cells.size(); ++i) estimate[i] = number<double>(cells[i]);
  return estimate;
}

NcclComm comm_of_row(const std::vector<std::string_view>& cells) {
  NcclComm comm;
  comm.ranks = number<int>(cells[1]);
  comm.nodes = number<int>(cells[2]);
  comm.compute_capability = number<int>(cells[3]);
  comm.cpu = cpu_named(cells[4]);
  comm.ll128 = cells[5] == "1";
  comm.plain_tree = cells[6] == "1";
  comm.channels = number<int>(cells[7]);
  comm.heads = number<int>(cells[8]);
  comm.nvswitch = cells[9] == "1";
  comm.collnet = cells[10] == "1";
  for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
    set_graph(comm, static_cast<A>(a), graph_from(cells[11 + a]));
  }
  return comm;
}

// Relative differences of single precision.
bool nearly(double ours, double theirs) {
  return std::abs(ours - theirs) <= 2e-6 * std::max(std::abs(theirs), 1.0);
}

// Compares all estimates of one row; returns the number of combinations that NCCL uses.
std::size_t compare_estimates(const std::vector<std::string_view>& cells) {
  const NcclVersion version = parse_nccl_version(cells[0]);
  const NcclComm comm = comm_of_row(cells);
  const NcclDefault nccl(version, comm);
  std::map<std::array<int, 3>, OwnEstimate> theirs;
  for (const std::string_view text : split(cells.back(), ';')) {
    const OwnEstimate own = own_estimate(text);
    theirs[{int(own[0]), int(own[1]), int(own[2])}] = own;
  }
  for (std::size_t c = 0; c < kNcclCollectives; ++c) {
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      for (const Protocol protocol : all_protocols()) {
        const auto collective = static_cast<C>(c);
        const auto algorithm = static_cast<A>(a);
        const auto found = theirs.find({int(c), int(a), int(protocol)});
        const double rate_GBps = nccl.bandwidth_Bps(collective, algorithm, protocol) / 1e9;
        CAPTURE(to_string(collective), to_string(algorithm), to_string(protocol), rate_GBps);
        // src/enqueue.cc excludes gathering and scattering by NVLS over several nodes before 2.27.
        const bool sliced = collective == C::AllGather || collective == C::ReduceScatter;
        if (sliced && algorithm == A::Nvls && comm.nodes > 1 && version < NcclVersion{2, 27, 0}) {
          REQUIRE(rate_GBps == 0);
          continue;
        }
        REQUIRE((found != theirs.end()) == (rate_GBps > 0));
        if (found == theirs.end()) continue;
        const OwnEstimate& own = found->second;
        const double us = nccl.latency_s(collective, algorithm, protocol) * 1e6;
        CAPTURE(us, own[3], own[4]);
        REQUIRE(nearly(us, own[3]));
        REQUIRE(nearly(rate_GBps, own[4]));
        for (std::size_t i = 0; i < kTimed.size(); ++i) {
          const double time_us =
              nccl.time_s(collective, algorithm, protocol, kTimed[i]).value() * 1e6;
          CAPTURE(kTimed[i], time_us, own[5 + i]);
          REQUIRE(nearly(time_us, own[5 + i]));
        }
      }
    }
  }
  return theirs.size();
}

}  // namespace

TEST_CASE("estimates of every release equal those that NCCL computes",
          "[cost_models][nccl-golden]") {
  const char* other = std::getenv("CCLGYM_NCCL_ESTIMATES");
  const std::string text = read_text_file(
      other != nullptr ? other : test::source_path("tests/cost_models/data/nccl_estimates.csv"),
      std::uint64_t{64} << 20);
  std::size_t estimates = 0;
  std::set<std::string> releases;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line[0] == '#' || line.starts_with("version,")) continue;
    const auto cells = split(line, ',');
    REQUIRE(cells.size() == 19);
    CAPTURE(line.substr(0, 240));
    estimates += compare_estimates(cells);
    releases.insert(std::string(cells[0]));
  }
  CHECK(releases.size() == 14);
  CHECK(estimates > 2000);
}

TEST_CASE("choices equal those of an independent restatement", "[cost_models][nccl-golden]") {
  const std::string text =
      read_text_file(test::source_path("tests/cost_models/data/nccl_choices.csv"), 1 << 20);
  std::size_t rows = 0;
  double worst = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line[0] == '#' || line.starts_with("version,")) continue;
    CAPTURE(line);
    const GoldenRow row = golden_row(line);
    const NcclDefault nccl(row.version, row.comm);
    const NcclChoice choice = nccl.choose(row.collective, row.bytes);
    REQUIRE(choice.algorithm == row.algorithm);
    REQUIRE(choice.protocol == row.protocol);
    REQUIRE(choice.channels == row.channels);
    REQUIRE(choice.threads == row.threads);
    worst = std::max(worst, std::abs(choice.predicted_s * 1e6 / row.time_us - 1));
    ++rows;
  }
  CHECK(rows == 1763);
  CHECK(worst < 1e-12);
}
