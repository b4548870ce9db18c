// Tests of the backend `mpi` with a real OpenMPI, on this computer and between nodes that are
// network namespaces.
#include <set>

#include "calibration/backends/mpi_backend.hpp"
#include "core/files/text_file.hpp"
#include "experiments/measured/measured_file.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/netlab.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

MpiSweep sweep_of(const std::vector<CollectiveKind>& collectives,
                  const std::vector<std::uint64_t>& sizes) {
  return {.system = "here",
          .config = "",
          .collectives = collectives,
          .sizes = sizes,
          .segments = {32768},
          .algorithms = {}};
}

// Checks that every cell has a row, except those whose ranks a busy machine could not start
// together.
void check_rows(const SweepResult& result, std::size_t rows) {
  CHECK(result.progress.done == result.progress.total);
  CHECK(rows == result.progress.total - result.failed);
  INFO(result.last_failure);
  CHECK(
      (result.failed == 0 || contains(result.last_failure, "could not be made to start together")));
}

// Stops one rank of a running sweep. Returns true if it found such a rank.
bool stop_a_rank() {
  return succeeds(
      "pid=$(ip netns pids cgtest-2 | while read p; do grep -q '^cclgym-mpi-work' /proc/$p/comm && "
      "echo $p; done | head -1); test -n \"$pid\" && kill -STOP $pid");
}

TEST_CASE("OpenMPI's algorithms on this machine: every one is correct and has times",
          "[calibration][mpi]") {
  const TemporaryFolder folder;
  const MeasurementBackend backend =
      mpi_backend(sweep_of({}, {64, 262144}), {"mpirun", "--allow-run-as-root", "--oversubscribe",
                                               "--mca", "mpi_yield_when_idle", "1", "-n", "4"});
  const SweepResult result = sweep(backend, {.path = folder / "m.csv", .warmup = 1, .repeats = 3});
  CHECK(result.refused == 0);
  const std::vector<Measurement> rows = read_measured_file(folder / "m.csv");
  check_rows(result, rows.size());
  std::set<CollectiveKind> collectives;
  for (const Measurement& row : rows) {
    CHECK(row.ranks == 4);
    collectives.insert(row.collective);
  }
  CHECK(collectives.size() == 6);
}

TEST_CASE(
    "between hosts with links of 1 Gb/s nothing is faster than the wire, and a rank that "
    "stops is noticed",
    "[calibration][mpi]") {
  const Netlab netlab("cgtest", "10.79.0", 3);
  SKIP_UNLESS(netlab.up(), kNeedsNamespaces);
  const TemporaryFolder folder;
  const std::string path = folder / "m.csv";
  SECTION("the wire") {
    constexpr std::uint64_t kBytes = 3 << 20;
    const SweepResult result = sweep(
        mpi_backend(sweep_of({CollectiveKind::Broadcast, CollectiveKind::AllGather}, {kBytes}),
                    netlab.launch()),
        {.path = path, .warmup = 1, .repeats = 3});
    const std::vector<Measurement> rows = read_measured_file(path);
    check_rows(result, rows.size());
    for (const Measurement& row : rows) {
      CHECK(row.ranks == 3);
      CHECK(row.nodes == 3);
      // Minimum number of bytes that each node receives, minus the burst that links let through at
      // once.
      const double received = row.collective == CollectiveKind::Broadcast ? 1.0 : 2.0 / 3;
      CHECK(row.time_s > (received * kBytes - 2 * 40'960) / 125e6);
    }
  }
  SECTION("a rank that stops") {
    // The clock runs only while a rank is stopped, so that no other cell reaches the limit.
    bool stopped = false;
    const SweepResult result = sweep(
        mpi_backend(sweep_of({CollectiveKind::AllReduce}, {1200, 4800, 60000, 240000, 1200000}),
                    netlab.launch()),
        {.path = path,
         .warmup = 2,
         .repeats = 40,
         .timeout_s = 2,
         .clock = [&] { return stopped ? steady_now_s() : 0.0; }},
        [&](const SweepProgress& progress) {
          stopped = progress.done == 3;
          if (stopped) REQUIRE(stop_a_rank());
        });
    CHECK(contains(read_file(path), "no answer within 2 s: killed"));
    CHECK(result.failed >= 1);
    if (result.failed == 1) {
      CHECK(contains(result.last_failure, "(hung): no answer within 2 s: killed"));
    } else {  // cells whose ranks a busy machine could not start together
      CHECK(contains(result.last_failure, "could not be made to start together"));
    }
    CHECK(result.progress.done == result.progress.total);
    CHECK(read_measured_file(path).size() == result.progress.total - result.failed);
  }
}

}  // namespace
}  // namespace cclgym::test
