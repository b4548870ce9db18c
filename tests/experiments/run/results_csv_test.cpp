// Tests of results.csv and measured files: written files are read back, damaged files are refused.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include "core/files/text_file.hpp"
#include "experiments/measured/measured_rows.hpp"
#include "experiments/report/report_sample.hpp"
#include "experiments/run/results.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "topology_models/machines/registry.hpp"

namespace cclgym {
namespace {

using test::TemporaryFile;

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.what();
  }
  return "(no error)";
}

// The error message for a text as results, without the name of the file.
std::string results_refusal(const std::string& text) {
  const TemporaryFile file(text);
  const std::string message = message_of([&] { (void)read_results(file.path()); });
  return message.starts_with(file.path()) ? message.substr(file.path().size()) : message;
}

std::string measured_refusal(const std::string& text) {
  const TemporaryFile file(text);
  const std::string message = message_of([&] { (void)read_measured(file.path()); });
  return message.starts_with(file.path()) ? message.substr(file.path().size()) : message;
}

std::string lines(const std::vector<ResultRow>& rows) {
  std::string text = result_header() + "\n";
  for (const ResultRow& row : rows) text += to_csv(row) + "\n";
  return text;
}

bool check_contains(const std::string& text, const std::string& part) {
  INFO(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

TEST_CASE("results read back with the same bits", "[experiments][results-csv]") {
  std::mt19937_64 random(7);
  std::vector<ResultRow> rows;
  for (int i = 0; i < 2000; ++i) {
    ResultRow row = test::row("ring", "LL", i, random(), 1);
    // Random bits of any valid number.
    const auto any_double = [&] {
      double value = -1;
      while (!std::isfinite(value) || value < 0) value = std::bit_cast<double>(random());
      return value;
    };
    std::array<double, 3> times{any_double(), any_double(), any_double()};
    std::sort(times.begin(), times.end());
    row.time_min_us = times[0];
    row.time_us = times[1];
    row.time_max_us = times[2];
    row.algbw_GBps = any_double();
    row.busbw_GBps = any_double();
    row.seed = random();
    row.flows = static_cast<std::int64_t>(random());
    row.steps = static_cast<int>(random() >> 33U);
    rows.push_back(row);
  }
  rows[0].time_max_us = std::numeric_limits<double>::max();
  rows[1].time_min_us = rows[1].time_us = -0.0;
  rows[2].time_min_us = rows[2].time_us = std::numeric_limits<double>::denorm_min();
  rows[3].flows = std::numeric_limits<std::int64_t>::min();
  rows[4].fabric = "Maschine Süd x2";
  const TemporaryFile file(lines(rows));
  const ResultTable table = read_results(file.path());
  CHECK_FALSE(table.truncated);
  REQUIRE(table.rows.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(table.rows[i] == rows[i]);
    REQUIRE(std::memcmp(&table.rows[i].time_us, &rows[i].time_us, sizeof(double)) == 0);
    REQUIRE(to_csv(table.rows[i]) == to_csv(rows[i]));
  }
}

TEST_CASE("times and rates that no simulation has are refused, with their line",
          "[experiments][results-csv]") {
  const auto with = [](double ResultRow::*member, const std::string& value) {
    ResultRow row = test::row("ring", "LL", 2, 8, 3);
    row.*member = 0.125;  // a value that occurs nowhere else
    if (member == &ResultRow::time_us) row.time_min_us = row.time_max_us = row.time_us;
    std::string line = to_csv(row);
    std::size_t place = line.find("0.125");
    line.replace(place, 5, value);
    return result_header() + "\n" + to_csv(test::row("ring", "LL", 1, 8, 1)) + "\n" + line + "\n";
  };
  for (const auto& [member, name] : {std::pair{&ResultRow::time_us, "time_us"},
                                     {&ResultRow::time_min_us, "time_min_us"},
                                     {&ResultRow::time_max_us, "time_max_us"},
                                     {&ResultRow::algbw_GBps, "algbw_GBps"},
                                     {&ResultRow::busbw_GBps, "busbw_GBps"}}) {
    for (const std::string value : {"nan", "inf", "-inf", "-1"}) {
      CAPTURE(name, value);
      CHECK(results_refusal(with(member, value)) ==
            ":3:1: " + std::string(name) + " is " + value + "; expected a finite number >= 0");
    }
  }
  CHECK(results_refusal(with(&ResultRow::time_min_us, "3.5")) ==
        ":3:1: time_min_us is 3.5; expected at most time_us, 3");
  CHECK(results_refusal(with(&ResultRow::time_max_us, "2.5")) ==
        ":3:1: time_max_us is 2.5; expected at least time_us, 3");
  ResultRow row = test::row("ring", "LL", 1, 16, 3);
  row.channels = -5;
  CHECK(results_refusal(result_header() + "\n" + to_csv(row) + "\n") ==
        ":2:1: channels is -5; expected a whole number >= 0");
  row.channels = 1;
  row.collective = "foo";
  CHECK(results_refusal(result_header() + "\n" + to_csv(row) + "\n")
            .starts_with(":2:1: unknown collective 'foo'"));
}

TEST_CASE("a results file cut at any byte gives the complete rows before the cut",
          "[experiments][results-csv]") {
  const std::vector<ResultRow> rows{test::row("ring", "LL", 1, 1024, 12.5),
                                    test::row("ring", "LL", 2, 1024, 0.1),
                                    test::row("all-pairs", "Simple", 2, 1024, 1e-3)};
  const std::string text = lines(rows);
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const TemporaryFile file(text.substr(0, length));
    const ResultTable table = read_results(file.path());
    const auto breaks = static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
    CHECK(table.rows.size() == (breaks == 0 ? 0 : breaks - 1));
    CHECK(table.truncated == (length == 0 || text[length - 1] != '\n'));
    for (std::size_t i = 0; i < table.rows.size(); ++i) CHECK(table.rows[i] == rows[i]);
  }
}

TEST_CASE("damaged results are refused with the place", "[experiments][results-csv]") {
  const std::string header = result_header() + "\n";
  const std::string good = to_csv(test::row("ring", "LL", 1, 1024, 12.5)) + "\n";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    const std::size_t at = line.find(from);
    REQUIRE(at != std::string::npos);
    return header + line.replace(at, from.size(), to);
  };
  CHECK(results_refusal(header + good) == "(no error)");
  check_contains(results_refusal(with(",12.5,", ",12.5x,")), ":2:");
  check_contains(results_refusal(with(",12.5,", ",12.5x,")),
                 "time_us is '12.5x'; expected a number");
  check_contains(results_refusal(with(",12.5,", ",,")), "time_us is ''; expected a number");
  check_contains(results_refusal(with(",12.5,", ", 12.5,")), "time_us is ' 12.5'");
  check_contains(results_refusal(with(",1024,", ",-1,")),
                 "size_bytes is '-1'; expected a whole number that is not negative");
  check_contains(results_refusal(with(",1024,", ",99999999999999999999,")), "that fits 64 bits");
  check_contains(results_refusal(with(",ring,", ",\"ring\",")),
                 "algorithm is '\"ring\"'; expected plain text");
  check_contains(results_refusal(with(",flow,", ",fl\tow,")), "engine is 'fl\\tow'");
  check_contains(results_refusal(with(",0.1.0", "")), ":2:1: found 28 fields; expected 29");
  check_contains(results_refusal(with(",0.1.0", ",0.1.0,")), "found 30 fields");
  check_contains(results_refusal(header + "\n" + good), ":2:1: found 1 fields");
  check_contains(results_refusal(header + good + good),
                 ":3:1: cell_key 'ndv4/allreduce/ring/LL/c1");
  check_contains(results_refusal(header + good + good), "is already in line 2");
  check_contains(results_refusal(header + std::string(40, '\0') + "\n"), ":2:1: found 1 fields");
}

TEST_CASE("a wrong header is refused with the missing columns", "[experiments][results-csv]") {
  const std::string header = result_header();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = header;
    return line.replace(line.find(from), from.size(), to) + "\n";
  };
  check_contains(results_refusal(with(",time_us", "")),
                 ":1:1: not the expected header line: without 'time_us';");
  check_contains(results_refusal(with(",time_us", ",time_ms")),
                 "without 'time_us', and with unknown 'time_ms'");
  check_contains(results_refusal(with(",steps", ",steps,more")), "with unknown 'more'");
  check_contains(results_refusal(with("cell_key,fabric", "fabric,cell_key")), "in another order");
  check_contains(results_refusal("\n"), ":1:1: not the expected header line: found ''");
  check_contains(results_refusal("hello world\n1,2\n"),
                 "found 'hello world'; expected 'experiment_hash,");
  // The text is not even the beginning of a header, so it is not from a killed run.
  check_contains(results_refusal("hello world"), ":1:1: not the expected header line");
  CHECK(message_of([] { (void)read_results("/nowhere/results.csv"); }).find("does not exist") !=
        std::string::npos);
}

TEST_CASE("a name that needs quotes is not written", "[experiments][results-csv]") {
  for (const std::string name : {"a,b", "a\"b", "a\nb", "a\rb"}) {
    ResultRow row = test::row("ring", "LL", 1, 1024, 12.5);
    row.fabric = name;
    check_contains(message_of([&] { (void)to_csv(row); }), "cannot be written to CSV");
  }
}

TEST_CASE("random damage to results never passes unnoticed or crashes",
          "[experiments][results-csv]") {
  const std::string text = lines(
      {test::row("ring", "LL", 1, 1024, 12.5), test::row("all-pairs", "Simple", 2, 1024, 1e-3)});
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    const std::size_t at = random() % damaged.size();
    switch (random() % 3) {
      case 0:
        damaged[at] = static_cast<char>(random() % 256);
        break;
      case 1:
        damaged.erase(at, random() % 20);
        break;
      default:
        damaged.insert(at, 1, ",\"\n\0#x"[random() % 6]);
        break;
    }
    const TemporaryFile file(damaged);
    try {
      const ResultTable table = read_results(file.path());
      std::string again = lines(table.rows);
      // The values read are those in the file, except that numbers may be spelled differently.
      CHECK(table.rows.size() <= 3);
      CHECK(std::count(again.begin(), again.end(), '\n') <=
            std::count(damaged.begin(), damaged.end(), '\n') + 1);
    } catch (const UserError& error) {
      CHECK(std::string(error.what()).starts_with(file.path() + ":"));
    }
  }
}

TEST_CASE("measured files", "[experiments][results-csv]") {
  const std::string header = "system,config,fabric,collective,ranks,size_bytes,time_us,source\n";
  const std::string line = "Azure,nccl,ndv4,all_reduce,8,1024,17.34,me\n";
  SECTION("comments, empty lines, Windows line ends and a missing last line break are fine") {
    const TemporaryFile file("# about\r\n\r\n" + header + "# more\n" + line +
                             "Azure,nccl,ndv4,allreduce,8,2048,19.05,me");
    const std::vector<MeasuredRow> rows = read_measured(file.path());
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].system == "Azure");
    CHECK(rows[0].config == "nccl");
    CHECK(rows[0].fabric == "ndv4");
    CHECK(rows[0].collective == "allreduce");  // cclgym's name for nccl-tests' spelling
    CHECK(rows[0].ranks == 8);
    CHECK(rows[0].size_bytes == 1024);
    CHECK(rows[0].time_us == 17.34);
    CHECK(rows[1].size_bytes == 2048);
    CHECK(rows[1].source == "me");
  }
  SECTION("what is wrong is refused with the place") {
    check_contains(measured_refusal(header + line + line), ":3:1: the same system, config");
    check_contains(measured_refusal(header + line + line), "already in line 2");
    check_contains(measured_refusal(header + "A,n,f,alreduce,8,1024,17,me\n"),
                   ":2:7: unknown collective 'alreduce'");
    check_contains(measured_refusal(header + "A,n,f,allreduce,0,1024,17,me\n"),
                   ":2:17: ranks is 0");
    check_contains(measured_refusal(header + "A,n,f,allreduce,8,0,17,me\n"),
                   ":2:19: size_bytes is '0'");
    check_contains(measured_refusal(header + "A,n,f,allreduce,8,1024,0,me\n"),
                   ":2:24: time_us is '0'");
    check_contains(measured_refusal(header + "A,n,f,allreduce,8,1024,nan,me\n"),
                   "time_us is 'nan'");
    check_contains(measured_refusal(header + "A,n,,allreduce,8,1024,17,me\n"),
                   ":2:1: the row has 8 ranks and names no fabric, but none of");
    check_contains(measured_refusal(header + "A,n,f,allreduce,8,1KiB,17,me\n"),
                   ":2:19: size_bytes is '1KiB'");
    check_contains(measured_refusal("# only comments\n"), "expected CSV with a header line");
    check_contains(measured_refusal(""), "expected CSV with a header line");
  }
}

TEST_CASE("a report takes the rows of calibrate and the output of nccl-tests",
          "[experiments][results-csv]") {
  const std::vector<MeasuredOn> fabrics{{.label = "ndv4", .ranks = 8, .nodes = 1},
                                        {.label = "dgx1", .ranks = 8, .nodes = 1},
                                        {.label = "ndv4 nodes=2", .ranks = 16, .nodes = 2}};
  SECTION("columns in another order, with the call's configuration") {
    const TemporaryFile file(
        "collective,size_bytes,ranks,algorithm,protocol,channels,status,time_us_median\n"
        "allreduce,1024,16,ring,LL,4,ok,31.25\n"
        "allreduce,1024,16,default,,,ok,30\n"
        "allreduce,2048,16,ring,LL,4,failed,\n");
    const std::vector<MeasuredRow> rows = read_measured(file.path(), fabrics);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].system == "measured");
    CHECK(rows[0].config == "ring/LL/4");
    CHECK(rows[0].fabric == "ndv4 nodes=2");
    CHECK(rows[0].time_us == 31.25);
    CHECK(rows[1].config == "default");
  }
  SECTION("a row that fits several fabrics is refused") {
    const TemporaryFile file("collective,size_bytes,ranks,time_us\nallreduce,1024,8,31.25\n");
    check_contains(
        message_of([&] { (void)read_measured(file.path(), fabrics); }),
        ":2:1: the row has 8 ranks and names no fabric, but 2 of the experiment's fabrics");
  }
  SECTION("nccl-tests") {
    std::string ranks;
    for (int rank = 0; rank < 16; ++rank) {
      ranks += "#  Rank " + std::to_string(rank) + " Group  0 Pid 1 on host" +
               std::to_string(rank / 8) + " device " + std::to_string(rank % 8) + " [0x07] A100\n";
    }
    const TemporaryFile file(
        "NCCL_P2P_DISABLE=1 ./all_reduce_perf\n" + ranks +
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
        "time   algbw   busbw #wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
        "(us)  (GB/s)  (GB/s)\n"
        "        1024           256     float     sum      -1    42.50    0.02    0.04      0    "
        "41.00    0.02    0.04      0\n");
    const std::vector<MeasuredRow> rows = read_measured(file.path(), fabrics);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].fabric == "ndv4 nodes=2");
    CHECK(rows[0].collective == "allreduce");
    CHECK(rows[0].time_us == Approx(42.5));
    CHECK(rows[0].source == "the run had NCCL_P2P_DISABLE=1, which the simulation leaves out");
    // Two trays of eight GPUs are one node of a rack.
    FabricInfo info;
    info.trays = 18;
    const std::vector<MeasuredOn> racks{{.label = "rack", .ranks = 16, .nodes = 1, .info = &info},
                                        {.label = "two", .ranks = 16, .nodes = 4}};
    CHECK(read_measured(file.path(), racks).front().fabric == "rack");
    CHECK(warnings_of(rows) == std::vector<std::string>{file.path() + ":20:9: " + rows[0].source});
  }
}

TEST_CASE("a report tells how the machine of a log differs from the experiment's fabric",
          "[experiments][results-csv]") {
  const auto fabric = make_fabric({.name = "alps", .servers = 2});
  const std::vector<MeasuredOn> fabrics{
      {.label = "alps", .ranks = 8, .nodes = 2, .fabric = fabric.get()}};
  std::string ranks;
  for (int rank = 0; rank < 8; ++rank) {
    ranks += "#  Rank " + std::to_string(rank) + " Group  0 Pid 1 on host" +
             std::to_string(rank / 4) + " device " + std::to_string(rank % 4) +
             " [0x07] NVIDIA H100 80GB HBM3\n";
  }
  const std::string row =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
      "        1024           256     float     sum      -1    42.50    0.02    0.04      0\n";
  const TemporaryFile file("NCCL_CROSS_NIC=0 ./all_reduce_perf\n" + ranks +
                           "host0:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"
                           "host0:1:2 [0] NCCL INFO Using network Socket\n" +
                           row + "NCCL_CROSS_NIC=1 ./all_reduce_perf\n" + ranks + row);
  const std::vector<MeasuredRow> rows = read_measured(file.path(), fabrics);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].config == "default, NCCL_CROSS_NIC=0");
  CHECK(rows[1].config == "default, NCCL_CROSS_NIC=1");
  CHECK(rows[0].library_chose);
  const std::vector<std::string> warnings = warnings_of(rows);
  REQUIRE(warnings.size() == 3);
  check_contains(warnings[0],
                 "the rows are of NVIDIA H100 80GB HBM3, but the fabric alps has GH200");
  check_contains(warnings[1], "the log names network tcp, but alps is simulated on slingshot");
  check_contains(warnings[2], "the run had NCCL_CROSS_NIC=0, which the simulation leaves out");
  FabricSpec rails{.name = "alps", .servers = 2};
  rails.cross_nic = false;
  const auto own = make_fabric(rails);
  const std::vector<MeasuredOn> on{{.label = "alps", .ranks = 8, .nodes = 2, .fabric = own.get()}};
  const std::vector<MeasuredRow> again = read_measured(file.path(), on);
  check_contains(warnings_of(again)[2], "NCCL_CROSS_NIC=1");
}

TEST_CASE("a measured file may begin with a byte order mark", "[experiments][results-csv]") {
  const std::string rows =
      "system,config,fabric,collective,ranks,size_bytes,time_us,source\r\n"
      "A,nccl,ndv4,allreduce,8,128,15.5,here\r\n";
  for (const std::string first : {"", "# a comment\n"}) {
    const TemporaryFile file("\xEF\xBB\xBF" + first + rows);
    const std::vector<MeasuredRow> read = read_measured(file.path());
    REQUIRE(read.size() == 1);
    CHECK(read[0].system == "A");
  }
  const TemporaryFile later("\n\xEF\xBB\xBF" + rows);
  CHECK_THROWS_AS(read_measured(later.path()), UserError);
}

TEST_CASE("the Azure NDv4 measurements", "[experiments][results-csv]") {
  const std::vector<MeasuredRow> rows =
      read_measured(test::source_path("experiments/measured/azure-ndv4.csv"));
  REQUIRE(rows.size() == 57);  // 3 configurations, 128 B .. 32 MiB
  for (const MeasuredRow& row : rows) {
    CHECK(row.fabric == "ndv4");
    CHECK(row.collective == "allreduce");
    CHECK(row.ranks == 8);
    CHECK(row.source == "microsoft/msccl-leaderboard");
  }
  CHECK(rows.front().size_bytes == 128);
  CHECK(rows.front().time_us == 15.03);
  CHECK(rows[18].size_bytes == 33554432);
  CHECK(rows[18].time_us == 379.5);
}

}  // namespace
}  // namespace cclgym
