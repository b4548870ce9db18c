// Tests of workloads: models have their published numbers of parameters, and jobs send all of them.
#include "env/tuning/workload/workload.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "env/tuning/tuning_testing.hpp"
#include "workloads/generators/model_tensors.hpp"

using namespace cclgym;

namespace {

std::unique_ptr<Workload> workload(const std::string& yaml, int ranks = 8) {
  return read_workload(parse_yaml(yaml, "test.yaml"), {ranks, "A100"});
}

std::uint64_t sum(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("models have their published numbers of parameters", "[env][workload]") {
  const std::map<std::string, std::pair<std::uint64_t, std::size_t>> published{
      {"resnet-50", {25'557'032, 161}},     // torchvision
      {"bert-large", {335'141'888, 391}},   // BertModel, uncased
      {"gpt2-1.5b", {1'557'611'200, 580}},  // GPT-2 XL
      // 12 h^2 + 13 h a layer, 50,257 h + 2,048 h before them, 2 h after them
      {"gpt-7b", {6'658'404'352, 388}},
      {"gpt-13b", {12'853'386'240, 484}}};
  for (const ModelShape& model : model_shapes()) {
    CAPTURE(model.name);
    CHECK(model.parameters() == published.at(model.name).first);
    CHECK(model.tensors.size() == published.at(model.name).second);
    CHECK(sum(model.layers) == model.parameters());
  }
}

TEST_CASE("DDP: a bucket is closed once it has its limit, in the order of the gradients",
          "[env][workload]") {
  // The last tensor's gradient is ready first, and the first bucket has a smaller limit.
  CHECK(ddp_buckets({5, 4, 3, 2, 1}, 1, 3, 8) == std::vector<std::uint64_t>{3, 12});
  CHECK(ddp_buckets({5, 4, 3, 2, 1}, 1, 1, 100) == std::vector<std::uint64_t>{1, 14});
  CHECK(ddp_buckets({100, 1}, 4, 4, 8) == std::vector<std::uint64_t>{4, 400});
  for (const ModelShape& model : model_shapes()) {
    const std::vector<std::uint64_t> buckets = ddp_buckets(model.tensors, 4);
    CHECK(sum(buckets) == 4 * model.parameters());
    CHECK(buckets.front() >= 1 << 20);
    for (std::size_t i = 1; i + 1 < buckets.size(); ++i) CHECK(buckets[i] >= 25 << 20);
  }
}

TEST_CASE("jobs send every gradient, and gather every parameter twice", "[env][workload]") {
  for (const std::string model : {"resnet-50", "bert-large", "gpt2-1.5b"}) {
    std::uint64_t sent = 0;
    const auto job = workload("ddp-" + model);
    for (const WorkloadCall& one : job->calls()) sent += one.call.bytes;
    CHECK(sent == 4 * model_shape(model).parameters());
  }
  for (const std::string model : {"bert-large", "gpt2-1.5b"}) {
    std::map<CollectiveKind, std::uint64_t> sent;
    std::map<CollectiveKind, std::size_t> calls;
    const auto job = workload("fsdp-" + model);
    for (const WorkloadCall& one : job->calls()) {
      sent[one.call.collective] += one.call.bytes;
      ++calls[one.call.collective];
    }
    const ModelShape& shape = model_shape(model);
    // Parameters have half precision, and each layer is padded to a multiple of eight ranks.
    const std::uint64_t once = 2 * shape.parameters();
    const std::uint64_t filling = 32 * shape.layers.size();
    CHECK(sent[CollectiveKind::AllGather] >= 2 * once);
    CHECK(sent[CollectiveKind::AllGather] <= 2 * (once + filling));
    CHECK(sent[CollectiveKind::ReduceScatter] >= once);
    CHECK(sent[CollectiveKind::ReduceScatter] <= once + filling);
    CHECK(calls[CollectiveKind::AllGather] == 2 * shape.layers.size());
    CHECK(calls[CollectiveKind::ReduceScatter] == shape.layers.size());
  }
}

TEST_CASE("a step of ZeRO-3 moves three times, one of DDP once, the bf16 parameters",
          "[env][workload]") {
  for (const std::string model : {"gpt-7b", "gpt-13b"}) {
    CAPTURE(model);
    const ModelShape& shape = model_shape(model);
    const auto zero3 = workload("zero3-" + model, 32);
    std::uint64_t sent = 0;
    for (const WorkloadCall& one : zero3->calls()) sent += one.call.bytes;
    CHECK(sent == 3 * 2 * shape.parameters());
    // The paper's calls have 16 MB to 1 GB; only the last normalisation is smaller.
    const auto fits = [](const WorkloadCall& one) {
      return one.call.bytes >= 16'000'000 && one.call.bytes <= 1'000'000'000;
    };
    CHECK(std::ranges::count_if(zero3->calls(), fits) + 3 == std::ssize(zero3->calls()));
    const auto ddp = workload("ddp-" + model, 32);
    sent = 0;
    for (const WorkloadCall& one : ddp->calls()) sent += one.call.bytes;
    CHECK(sent == 2 * shape.parameters());
    CHECK(std::ranges::count_if(ddp->calls(), fits) + 1 >= std::ssize(ddp->calls()));
  }
}

TEST_CASE("the batch of a large model is that of all GPUs", "[env][workload]") {
  const auto on = [](int ranks) { return workload("zero3-gpt-7b", ranks)->calls().back().context; };
  CHECK(on(32).local_batch == 2048 * 2048 / 32);
  CHECK(on(32).compute_s / on(64).compute_s == Approx(2));
  CHECK(workload("fsdp-gpt2-1.5b", 32)->calls().back().context.local_batch == 1024);
}

TEST_CASE("tensor-parallel inference: two AllReduces of the activations per layer",
          "[env][workload]") {
  const auto inference = workload("tp-inference");
  const std::vector<WorkloadCall>& calls = inference->calls();
  REQUIRE(calls.size() == 2 * 48 * (1 + 16));
  CHECK(calls.front().call.bytes == 8 * 512 * 1600 * 2);
  CHECK(calls.back().call.bytes == 8 * 1600 * 2);
  CHECK(std::ranges::count_if(calls, [](const auto& one) { return one.context.ends_step; }) == 1);
  CHECK(calls.back().context.ends_step);
}

TEST_CASE("every workload gives valid sizes of its collectives, for any number of ranks",
          "[env][workload]") {
  for (const WorkloadInfo& info : workload_infos()) {
    if (info.name == "job") continue;  // tuning_job_test.cpp
    std::string yaml = info.name;
    if (info.name == "trace") yaml = "{name: trace, calls: [{collective: allgather, size: 1000B}]}";
    if (info.name == "mixed") {
      yaml = "{name: mixed, workloads: [ddp-resnet-50, {name: sweep, collectives: alltoall}]}";
    }
    for (const int ranks : {2, 6, 8, 24}) {
      CAPTURE(info.name, ranks);
      const auto stream = workload(yaml, ranks);
      Random random(4);
      stream->start(random);
      for (int i = 0; i < 300; ++i) {
        const WorkloadCall one = stream->next(random);
        REQUIRE(check_size(one.call.collective, one.call.bytes, ranks).empty());
        REQUIRE(std::ranges::find(stream->collectives(), one.call.collective) !=
                stream->collectives().end());
        REQUIRE(one.context.compute_s >= 0);
      }
    }
  }
}

TEST_CASE("a sweep visits every cell once per pass; held-out sizes differ from training sizes",
          "[env][workload]") {
  const std::string sweep =
      "{name: sweep, collectives: [allreduce, alltoall], sizes: 1KiB..1MiB x2";
  const auto train = workload(sweep + "}");
  const auto held_out = workload(sweep + ", part: held-out}");
  CHECK(train->calls().size() == 2 * 11);
  CHECK(held_out->calls().size() == 2 * 10);
  CHECK(workload(sweep + ", part: all}")->calls().size() == 2 * 21);
  for (const WorkloadCall& one : held_out->calls()) {
    const bool trained = std::ranges::any_of(train->calls(), [&](const auto& other) {
      return other.call.collective == one.call.collective && other.call.bytes == one.call.bytes;
    });
    CHECK_FALSE(trained);
  }
  Random random(5);
  train->start(random);
  for (int pass = 0; pass < 3; ++pass) {
    std::map<std::pair<int, std::uint64_t>, int> visits;
    for (int i = 0; i < 22; ++i) {
      const Call call = train->next(random).call;
      ++visits[{static_cast<int>(call.collective), call.bytes}];
    }
    CHECK(visits.size() == 22);
  }
}

TEST_CASE("a weighed sweep draws calls in proportion to their weights", "[env][workload]") {
  const auto sweep = workload("{name: sweep, sizes: [1KiB, 4KiB, 16KiB]}");
  REQUIRE(sweep->weigh({1, 0, 3}));
  Random random(6);
  sweep->start(random);
  std::map<std::uint64_t, int> drawn;
  for (int i = 0; i < 4000; ++i) ++drawn[sweep->next(random).call.bytes];
  CHECK(drawn[1024] == Approx(1000).epsilon(0.1));
  CHECK(drawn[4096] == 0);
  CHECK(drawn[16384] == Approx(3000).epsilon(0.05));
  CHECK_FALSE(sweep->weigh({1, 2}));
  CHECK_FALSE(workload("{name: sweep, order: listed, sizes: [1KiB, 4KiB]}")->weigh({1, 1}));
  CHECK_FALSE(workload("ddp-resnet-50")->weigh({1}));
}

TEST_CASE("mistakes in workloads are reported with their location", "[env][workload]") {
  const auto message = [](const std::string& yaml) {
    try {
      (void)workload(yaml);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(message("ddp-resnet50").find("test.yaml:1:1: unknown workload 'ddp-resnet50'") == 0);
  CHECK(message("ddp-resnet50").find("did you mean 'ddp-resnet-50'?") != std::string::npos);
  CHECK(message("{name: sweep, collective: allreduce}").find("test.yaml:1:15:") == 0);
  CHECK(message("{name: sweep, collectives: allreduced}").find("test.yaml:1:28:") == 0);
  CHECK(message("{name: sweep, sizes: 1KiB, part: held-out}").find("test.yaml:1:22:") == 0);
  CHECK(message("{name: curriculum, least: 2MiB, most: 1MiB}").find("test.yaml:1:39:") == 0);
  CHECK(message("{name: trace}").find("test.yaml:1:1:") == 0);
  CHECK(message("{name: trace, calls: [{collective: broadcast, size: 4B, root: 8}]}")
            .find("test.yaml:1:63:") == 0);
  CHECK(message("{name: mixed}").find("test.yaml:1:1:") == 0);
}
