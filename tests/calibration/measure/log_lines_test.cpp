// Tests of taking launchers' additions off the lines of a log.
#include "experiments/measured/log_lines.hpp"

#include <vector>

#include "support/catch.hpp"

namespace cclgym::test {
namespace {

std::vector<LogLine> lines_of_log(const std::string& log) {
  std::vector<LogLine> lines;
  for_each_log_line(log, [&](const LogLine& line) { lines.push_back(line); });
  return lines;
}

std::string without_prefix(const std::string& line) {
  const std::vector<LogLine> lines = lines_of_log(line + "\n");
  REQUIRE(lines.size() == 1);
  const std::string text = lines.front().text;
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

const std::string kComment = "# nThread 1 nGpus 1";
const std::string kRow = "4096  1024  float  sum  -1  21.00";

TEST_CASE("what launchers put in front of a line is taken off", "[calibration][log-lines]") {
  const std::vector<std::string> prefixes{"0: ",
                                          " 3: ",
                                          "[0] ",
                                          "[rank0]: ",
                                          "[default0]:",
                                          "[1,0]<stdout>:",
                                          "[1,15]<stderr>:",
                                          "[job1,0]<stdout>: ",
                                          "Mon May  4 08:00:01 2026<stdout>:",
                                          "Mon May  4 08:00:01 2026[1,0]<stdout>:",
                                          "2026-05-04T08:00:01.000000001Z ",
                                          "2026-05-04T08:00:01.5+02:00 ",
                                          "2026-05-04 08:00:01,123 ",
                                          "2026-05-04T08:00:01.000000001Z stdout F ",
                                          "[2026-05-04 08:00:01] ",
                                          "May  4 08:00:01 ",
                                          "May 14 08:00:01 alpha0 slurmstepd[123]: ",
                                          "[pod/nccl-test-launcher-abcde/launcher] ",
                                          "alpha0: ",
                                          "node-1.cluster: ",
                                          "worker-1  | ",
                                          "\x1b[36m",
                                          "\x1b[1;32m[0]\x1b[0m ",
                                          "0: [1,0]<stdout>:",
                                          "2026-05-04T08:00:01Z alpha0: "};
  for (const std::string& prefix : prefixes) {
    CAPTURE(prefix);
    CHECK(without_prefix(prefix + kComment) == kComment);
    CHECK(without_prefix(prefix + kRow) == kRow);
  }
}

TEST_CASE("lines without a prefix stay as they are", "[calibration][log-lines]") {
  for (const std::string line :
       {"#  Rank  0 Group  0 Pid   7000 on     alpha0 device  0 [0000:10:00] NVIDIA H100",
        "4096  1024  float  sum  -1  21.00", "# Out of bounds values : 0 OK",
        "alpha0:7000:7100 [0] NCCL INFO Connected all rings", "NCCL version 2.18.3+cuda12.1",
        "Warning: 8 GPUs were found", "Avg bus bandwidth    : 90.0", "May the 4th",
        "2026-05-04 is a date", "[0x07", "time: 12", ""}) {
    CAPTURE(line);
    CHECK(without_prefix(line) == line);
  }
}

TEST_CASE("lines keep their numbers, and the column of their text", "[calibration][log-lines]") {
  const std::vector<LogLine> lines = lines_of_log("one\r\n\n[0] two\nthree");
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].text == "one");
  CHECK(lines[1].text.empty());
  CHECK(lines[2].text == " two");
  CHECK(lines[2].column == 4);
  CHECK(lines[3].text == "three");
  CHECK(lines[3].number == 4);
}

}  // namespace
}  // namespace cclgym::test
