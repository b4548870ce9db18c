// Tests of reading the JSON of nccl-tests, rccl-tests and NCCL's Inspector.
#include "experiments/measured/measured_json.hpp"

#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

std::vector<Measurement> read_json(const std::string& text,
                                   const MeasuredFileContext& context = {}) {
  CHECK(is_json_text(text));
  return read_measured_json(text, "o.json", context);
}

std::string devices_json(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) {
    list += std::string(i > 0 ? "," : "") + R"({"rank":)" + std::to_string(i) +
            R"(,"group":0,"pid":7,"hostname":"alpha0","device":)" + std::to_string(i) +
            R"(,"device_hex":"0000:1)" + std::to_string(i) +
            R"(:00","device_info":"NVIDIA H100 80GB HBM3"})";
  }
  return list;
}

std::string nccl_tests_json(const std::string& results, const std::string& environment = "") {
  return R"({"version":3,"args":["./all_gather_perf","-J","o.json"],"env":[)" + environment +
         R"(],"nccl_version":22809,"config":{"devices":[)" + devices_json(8) + R"(]},"results":[)" +
         results + "]}";
}

std::string result_json(const std::string& out_of_place, const std::string& in_place) {
  return R"({"size":4096,"count":1024,"type":"float","redop":"sum","root":"    -1","out_of_place":)" +
         out_of_place + R"(,"in_place":)" + in_place +
         R"(,"actual_iterations":20,"experiment_name":"AllReduce"})";
}

const std::string kTimes = R"({"time":21.0,"alg_bw":1.0,"bus_bw":1.75,"nwrong":0.0})";
const std::string kOtherTimes = R"({"time":22.0,"alg_bw":1.0,"bus_bw":1.75,"nwrong":null})";

TEST_CASE("the JSON of nccl-tests has ranks, nodes, release and times",
          "[calibration][measured-json]") {
  const auto rows = read_json(nccl_tests_json(result_json(kTimes, kOtherTimes)));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].collective == CollectiveKind::AllReduce);
  CHECK(rows[0].ranks == 8);
  CHECK(rows[0].nodes == 1);
  CHECK(rows[0].bytes == 4096);
  CHECK(rows[0].time_s == Approx(21e-6));
  CHECK(rows[0].nccl_version == "2.28.9");
  CHECK(rows[0].gpu == "NVIDIA H100 80GB HBM3");
  CHECK(read_json(nccl_tests_json(result_json("null", kOtherTimes))).at(0).time_us == 22);
  CHECK(read_json(nccl_tests_json(result_json(kTimes, kTimes),
                                  R"("NCCL_ALGO=Ring","HOME=/root","NCCL_PROTO=LL")"))
            .at(0)
            .allowed == ":LL:ring");
}

TEST_CASE("each fault of the JSON of nccl-tests has a message", "[calibration][measured-json]") {
  const auto refusal = [](const std::string& out_of_place) {
    return thrown([&] { return read_json(nccl_tests_json(result_json(out_of_place, "null"))); });
  };
  CHECK(refusal("null") == "o.json: size 4096 has no time");
  CHECK(refusal(R"({"cpu_time":3})").find("run it without -C") != std::string::npos);
  CHECK(refusal(R"({"time":"nan"})").find("expected a number of microseconds > 0") !=
        std::string::npos);
  CHECK(refusal(R"({"time":0})").find("expected a number of microseconds > 0") !=
        std::string::npos);
  CHECK(refusal(R"({"time":5,"nwrong":3.0})").find("3 values were wrong") != std::string::npos);
  CHECK(thrown([] {
          return read_json(R"({"a":1})");
        }).starts_with("o.json:1:1: found an object without size and time; expected the JSON"));
  CHECK(thrown([] {
          return read_json("{\"size\": 8, \"time\": 1,\n");
        }).starts_with("o.json:1:1: the line is not JSON"));
}

TEST_CASE("the JSON of rccl-tests is read, without rows in place", "[calibration][measured-json]") {
  const std::string line =
      R"({"#wrong":"0","algBw":1.0,"busBw":1.75,"gpus":8,"inPlace":0,"name":"AllReduce","redop":"sum","size":4096,"time":21.0,"type":"float"})";
  std::string in_place = line;
  in_place.replace(in_place.find("\"inPlace\":0"), 11, "\"inPlace\":1");
  for (const std::string& text :
       {line + "\n" + in_place + "\n", "[" + line + "," + in_place + "]"}) {
    const auto rows = read_json(text);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].ranks == 8);
    CHECK(rows[0].nodes == 1);
    CHECK(rows[0].time_us == 21);
  }
  const std::string nodes =
      R"({"name":"AllGather","nodes":2,"ranks":8,"ranksPerNode":4,"gpusPerRank":2,"size":64,"inPlace":0,"time":2.5,"wrong":0})";
  CHECK(read_json(nodes).at(0).ranks == 16);
  CHECK(read_json(nodes).at(0).nodes == 2);
  MeasuredFileContext context;
  context.ranks = 4;
  CHECK(thrown([&] { return read_json(line, context); }) ==
        "o.json:1:1: states ranks 8, but --ranks says 4; leave it out");
}

TEST_CASE("a call of NCCL's Inspector takes as long as its slowest rank",
          "[calibration][measured-json]") {
  const auto line = [](int rank, int number, const std::string& name, double time_us) {
    return R"({"header":{"id":"0x1","rank":)" + std::to_string(rank) +
           R"(,"n_ranks":8,"nnodes":2},"coll_perf":{"coll":")" + name + R"(","coll_sn":)" +
           std::to_string(number) + R"(,"coll_msg_size_bytes":1024,"coll_exec_time_us":)" +
           std::to_string(time_us) + "}}\n";
  };
  const auto rows = read_json(line(0, 7, "AllReduce", 44) + line(1, 7, "AllReduce", 46) +
                              line(2, 7, "AllReduce", 45) + line(0, 8, "AllGather", 10) +
                              "{\"header\":{\"id\":\"0x1\"},\"p2p_perf\":{}}\n");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].time_us == 46);
  CHECK(rows[0].bytes == 1024);
  CHECK(rows[0].ranks == 8);
  CHECK(rows[0].nodes == 2);
  CHECK(rows[1].collective == CollectiveKind::AllGather);
  CHECK(rows[1].bytes == 8 * 1024);
}

}  // namespace
}  // namespace cclgym::test
