// Tests of valid and invalid measured CSVs.
#include "experiments/measured/measured_file.hpp"

#include "calibration/measure/csv_file.hpp"
#include "calibration/measure/measured_cells.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

// The message without the folder in front of the file's name.
std::string refusal(const std::string& text) {
  const CsvFile file(text);
  const std::string message = thrown([&] { return read_measured_file(file.path); });
  const std::size_t place = message.find("m.csv");
  return place == std::string::npos ? message : message.substr(place);
}

TEST_CASE("the file that an experiment shows can be compared and fitted",
          "[calibration][measured-file]") {
  SECTION("its columns: a fabric's label and time_us") {
    const CsvFile file(
        "system,config,fabric,collective,ranks,size_bytes,time_us,source\n"
        "Mine,nccl,ndv4 nodes=2,allreduce,16,1024,17.34,me\n");
    const std::vector<Measurement> rows = read_measured_file(file.path);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].nodes == 2);
    CHECK(rows[0].time_s == Approx(17.34e-6));
    // A system without a name that is known is on the fabric of the column.
    const MeasuredCells cells = make_cells(rows, {}, file.path);
    REQUIRE(cells.cells.size() == 1);
    CHECK(cells.cells[0].system == "Mine");
    CHECK(cells.cells[0].fabric.name == "ndv4");
    CHECK(cells.cells[0].fabric.servers == 2);
  }
  SECTION("programs of MSCCL are not taken for NCCL's choice") {
    const std::string path = source_path("experiments/measured/azure-ndv4.csv");
    const MeasuredCells cells = make_cells(read_measured_file(path), {}, path);
    CHECK(cells.rows == 57);
    CHECK(cells.cells.size() == 19);
    for (const MeasuredCell& cell : cells.cells) CHECK(cell.rows == 1);
    CHECK(cells.refused.size() == 2);
  }
}

TEST_CASE("a measured CSV is read, columns in any order", "[calibration][measured-file]") {
  const CsvFile file(
      "# a comment\n"
      "time_us_median,size_bytes,collective,gpus_per_node,ranks,config,nccl_version,system,source\n"
      "12.5,64,all_reduce,4,8,quiet,2.18,Polaris,somebody/somewhere\r\n"
      "7,128,sendrecv,8,4,,,Own,\n");
  const std::vector<Measurement> rows = read_measured_file(file.path);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].system == "Polaris");
  CHECK(rows[0].ranks == 8);
  CHECK(rows[0].nodes == 2);
  CHECK(rows[0].nccl_version == "2.18");
  CHECK(rows[0].config == "quiet");
  CHECK(rows[0].collective == CollectiveKind::AllReduce);
  CHECK(rows[0].bytes == 64);
  CHECK(rows[0].time_s == Approx(12.5e-6));
  CHECK(rows[0].source == "somebody/somewhere");
  CHECK(rows[0].where.line == 3);
  CHECK(rows[1].collective == CollectiveKind::AllToNext);
  CHECK(rows[1].nodes == 1);
}

TEST_CASE("a row in which a policy chose has the configuration that NCCL logged",
          "[calibration][measured-file]") {
  // As cclgym calibrate nccl --algorithms default,policy writes them.
  const std::string head =
      "system,ranks,nodes,collective,size_bytes,time_us_median,algorithm,protocol,channels,extra\n";
  const auto row = [](int bytes, const std::string& algorithm, const std::string& extra) {
    return "own,8,2,all_reduce," + std::to_string(bytes) + ",20," + algorithm + ",,," + extra +
           "\n";
  };
  const CsvFile file(
      head +
      row(64, "policy", "logged_calls=70;used_algorithm=ring;used_protocol=LL;used_channels=4") +
      row(65, "policy", "used_channels=16;used_protocol=Simple;used_algorithm=nvls_tree") +
      // Rows without such an entry, and with an algorithm that the library does not have.
      row(66, "policy", "") + row(67, "policy", "used_algorithm=ring;used_protocol=LL") +
      row(68, "policy", "used_algorithm=ring;used_protocol=LL;used_channels=0") +
      row(69, "policy", "used_algorithm=mscclpp;used_protocol=LL;used_channels=4") +
      row(70, "default", "used_algorithm=ring;used_protocol=LL;used_channels=4"));
  const std::vector<Measurement> rows = read_measured_file(file.path);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].bytes == 64);
  CHECK(rows[0].named == Config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 4});
  CHECK(rows[1].named ==
        Config{.algorithm = "nvls-tree", .protocol = Protocol::Simple, .channels = 16});
  // NCCL's own choice is the model's to predict.
  CHECK(rows[2].bytes == 70);
  CHECK_FALSE(rows[2].named.has_value());
}

TEST_CASE("a row of a named algorithm has the channels that NCCL logged",
          "[calibration][measured-file]") {
  const std::string head =
      "system,ranks,nodes,collective,size_bytes,time_us_median,algorithm,protocol,channels,extra\n";
  const CsvFile file(head +
                     "own,8,2,all_reduce,64,20,ring,LL,4,used_algorithm=ring;used_protocol=LL;"
                     "used_channels=1\n" +
                     "own,8,2,all_reduce,64,20,ring,LL,4,\n");
  const std::vector<Measurement> rows = read_measured_file(file.path);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].named == Config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 1});
  CHECK(rows[1].named == Config{.algorithm = "ring", .protocol = Protocol::LL, .channels = 4});
}

TEST_CASE("each fault of a measured CSV has one message with its place",
          "[calibration][measured-file]") {
  const std::string header = kCsvHeader;
  CHECK(
      refusal("system,ranks,nodes,collective,size_bytes\nP,8,2,all_reduce,64\n")
          .starts_with("m.csv:1:1: without column 'time_us_median' (or 'time_us'); expected ranks, "
                       "collective, size_bytes, time_us_median or time_us (sizes in bytes, "
                       "times in microseconds)"));
  CHECK(refusal("system,ranks,collective,size_bytes,time_ms_median\nP,8,all_reduce,64,1\n")
            .starts_with(
                "m.csv:1:1: without column 'time_us_median' (or 'time_us'), and with unknown "
                "'time_ms_median'"));
  CHECK(refusal("ranks,ranks,collective,size_bytes,time_us_median\n8,8,all_reduce,64,1\n") ==
        "m.csv:1:1: column 'ranks' occurs twice");
  CHECK(refusal(header + "P,8,2,all_reduce,64,12us\n") ==
        "m.csv:2:21: time_us_median is '12us'; expected a number of microseconds without a unit");
  CHECK(refusal(header + "P,8,2,all_reduce,64,nan\n") ==
        "m.csv:2:21: time_us_median is 'nan'; expected a number of microseconds > 0");
  CHECK(refusal(header + "P,8,2,all_reduce,64,inf\n") ==
        "m.csv:2:21: time_us_median is 'inf'; expected a number of microseconds > 0");
  CHECK(refusal(header + "P,8,2,all_reduce,64,0\n") ==
        "m.csv:2:21: time_us_median is '0'; expected a number of microseconds > 0");
  CHECK(refusal(header + "P,8,2,all_reduce,64,-3\n") ==
        "m.csv:2:21: time_us_median is '-3'; expected a number of microseconds > 0");
  CHECK(refusal(header + "P,8,2,all_reduce,64KiB,3\n") ==
        "m.csv:2:18: size_bytes is '64KiB'; expected a whole number of bytes > 0, without a unit");
  CHECK(refusal(header + "P,8,2,all_reduce,0,3\n") ==
        "m.csv:2:18: size_bytes is '0'; expected a whole number of bytes > 0, without a unit");
  CHECK(refusal(header + "P,9,2,all_reduce,64,3\n") ==
        "m.csv:2:3: ranks is 9, which is not a multiple of the 2 nodes");
  CHECK(refusal(header + "P,1,1,all_reduce,64,3\n") == "m.csv:2:3: ranks is 1; expected >= 2");
  CHECK(
      refusal(header + "P,8,2,all_reduse,64,3\n")
          .starts_with("m.csv:2:7: unknown collective 'all_reduse'; expected one of all_reduce, "));
  const std::string optional =
      refusal("system,ranks\nP,8\n").substr(refusal("system,ranks\nP,8\n").find("others of "));
  CHECK(
      optional.starts_with("others of system, gpu, gpus_per_node, nodes, fabric, nccl_version, "
                           "config, time_us_min, time_us_max, samples, "));
  CHECK(optional.find("size_bytes") == std::string::npos);
  CHECK(refusal("ranks,collective,size_bytes,time_us,time_us_median\n8,all_reduce,64,1,2\n") ==
        "m.csv:1:1: found the columns 'time_us_median' and 'time_us'; expected one of them, with "
        "the median time");
  const std::string extremes = "ranks,collective,size_bytes,time_us,time_us_min,time_us_max\n";
  CHECK(refusal(extremes + "8,all_reduce,64,12.5,20,30\n") ==
        "m.csv:2:22: time_us_min is 20, but time_us is 12.5; expected at most the median");
  CHECK(refusal(extremes + "8,all_reduce,64,12.5,,11\n") ==
        "m.csv:2:23: time_us_max is 11, but time_us is 12.5; expected at least the median");
  const std::string forced = "ranks,collective,size_bytes,time_us,algorithm,protocol,channels\n";
  CHECK(refusal(forced + "8,all_reduce,64,12.5,rign,LL,1\n")
            .starts_with("m.csv:2:22: unknown algorithm 'rign'; expected one of "));
  CHECK(refusal(forced + "8,all_reduce,64,12.5,ring,LL64,1\n") ==
        "m.csv:2:27: unknown protocol 'LL64'; expected one of LL, LL128, Simple (did you mean "
        "'LL'?)");
  CHECK(refusal(forced + "8,all_reduce,64,12.5,ring,LL,65\n") ==
        "m.csv:2:30: channels is 65; expected >= 1, <= 64");
  CHECK(refusal(header + "P,8,2,all_reduce,64\n") ==
        "m.csv:2:1: found 5 fields; the header line has 6");
  CHECK(refusal(header) == "m.csv: has a header line but no measurement");
  CHECK(refusal("").starts_with("m.csv: is empty; expected CSV with a header line"));
  CHECK(refusal("\n size,time\n1,2\n")
            .starts_with("m.csv:2:2: found 'size,time'; expected CSV with a header line"));
}

TEST_CASE("options that every row contradicts are refused", "[calibration][measured-file]") {
  const auto told = [](const std::string& text, const MeasuredFileContext& context) {
    const CsvFile file(text);
    const std::string message = thrown([&] { return read_measured_file(file.path, context); });
    const std::size_t place = message.find("m.csv");
    return place == std::string::npos ? message : message.substr(place);
  };
  const std::string rows =
      std::string(kCsvHeader) + "P,4,2,all_reduce,64,10\nP,2,2,all_reduce,64,10\n";
  MeasuredFileContext context;
  context.ranks = 8;
  CHECK(told(rows, context) ==
        "m.csv:2:1: ranks is 4, but --ranks says 8, which is for rows without a value: all of "
        "these have one; leave it out");
  context = {};
  context.nodes = 1;
  CHECK(told(rows, context).starts_with("m.csv:2:1: nodes is 2, but --nodes says 1"));
  // The option applies to rows without a value, like the one added here.
  const CsvFile file(rows + "P,2,,all_reduce,128,10\n");
  const std::vector<Measurement> read = read_measured_file(file.path, context);
  CHECK(read.back().nodes == 1);
  CHECK(read.front().nodes == 2);
  context.nodes = 2;
  const CsvFile same(rows);
  CHECK(read_measured_file(same.path, context).size() == 2);
}

TEST_CASE("the CSV of rccl-tests has other names for the columns", "[calibration][measured-file]") {
  const std::string header =
      "numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,"
      "algbw,busbw,#wrong\n";
  const CsvFile file(header + "0,AllReduce,1,8,8,1,4096,float,sum,0,21.00,1,1.75,0\n" +
                     "0,AllReduce,1,8,8,1,4096,float,sum,1,22.00,1,1.75,0\n" +
                     "0,AllGather,2,8,4,2,8192,float,sum,0,27.50,1,1.75,0\n");
  const auto rows = read_measured_file(file.path);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].ranks == 8);
  CHECK(rows[0].bytes == 4096);
  CHECK(rows[0].time_s == Approx(21e-6));
  CHECK(rows[1].collective == CollectiveKind::AllGather);
  CHECK(rows[1].ranks == 16);
  CHECK(rows[1].nodes == 2);
  CHECK(refusal(header + "0,AllReduce,1,8,8,1,4096,float,sum,0,21.00,1,1.75,3\n") ==
        "m.csv:2:51: wrong is 3; times of a wrong run are meaningless");
  const CsvFile unchecked(header + "0,AllReduce,1,8,8,1,4096,float,sum,0,21.00,1,1.75,N/A\n");
  CHECK(read_measured_file(unchecked.path).size() == 1);
}

}  // namespace
}  // namespace cclgym::test
