// Transformer jobs: schedules, FLOP, ranks and groups against closed forms.
#include "workloads/generators/transformer_job.hpp"

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/thrown.hpp"
#include "workloads/generators/exact_times.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

TransformerJob small_job(std::int64_t pp, std::int64_t micro_batches, std::uint64_t layers = 24) {
  TransformerJob job;
  job.model = *find_transformer_model("gpt3-6.7b");
  job.model.layers = layers;
  // Without a vocabulary, all stages have the same work.
  job.model.vocabulary = 0;
  job.plan.pp = pp;
  job.global_batch = micro_batches;
  return job;
}

TransformerJob named_job(std::string_view model, ParallelPlan plan, std::int64_t global_batch) {
  TransformerJob job;
  job.model = *find_transformer_model(model);
  job.plan = plan;
  job.global_batch = global_batch;
  return job;
}

double bubble(const TransformerJob& job) {
  const JobGraph graph = make_transformer_job(job);
  check_job(graph);
  const double time = exact_time(graph, flop_seconds);
  REQUIRE(time > 0);
  return 1 - total_flop(graph) / graph.ranks / time;
}

}  // namespace

TEST_CASE("the bubble of a pipeline is (p - 1) / (m + p - 1)", "[workloads][generators]") {
  for (const PipelineOrder order :
       {PipelineOrder::OneForwardOneBackward, PipelineOrder::AllForwardAllBackward}) {
    for (const std::int64_t p : {1, 2, 3, 4, 8}) {
      for (const std::int64_t m : {1, 2, 3, 5, 8, 13}) {
        for (const bool overlap : {false, true}) {
          TransformerJob job = small_job(p, m);
          job.order = order;
          job.overlap_p2p = overlap;
          CAPTURE(p, m, overlap);
          const auto stages = static_cast<double>(p);
          CHECK(bubble(job) ==
                Approx((stages - 1) / (static_cast<double>(m) + stages - 1)).margin(1e-12));
        }
      }
    }
  }
}

TEST_CASE("v chunks per stage divide the bubble by v", "[workloads][generators]") {
  for (const std::int64_t p : {2, 3, 4}) {
    for (const std::int64_t v : {2, 4}) {
      for (const std::int64_t groups : {1, 2, 4}) {
        TransformerJob job = small_job(p, groups * p, static_cast<std::uint64_t>(2 * p * v));
        job.virtual_stages = v;
        CAPTURE(p, v, groups);
        // Narayanan et al. 2021, section 2.2: bubble time / ideal time is (p - 1) / (v m).
        const double ratio = static_cast<double>(p - 1) / static_cast<double>(v * job.global_batch);
        CHECK(bubble(job) == Approx(ratio / (1 + ratio)).margin(1e-12));
      }
    }
  }
}

// Calls of tensor parallelism: those of the forward pass hold up computation; in the backward pass
// the gradient of the first matrix hides them.
TEST_CASE("computation hides calls of tensor parallelism in the backward pass",
          "[workloads][generators]") {
  TransformerJob job = small_job(1, 1, 6);
  job.plan.tp = 2;
  const auto h = static_cast<double>(job.model.hidden);
  const double attention = 2 * 2048 * h * 3 * h / 2;  // FLOP of its first matrix
  const double call = 1.2 * attention;  // longer than it, shorter than 4/3 of it in the MLP
  const auto seconds = [&](const JobGraph& graph, const JobOp& op) {
    const std::string& name = graph.names[at(op.name)];
    if (op.kind == JobOpKind::Compute) return flop_seconds(graph, op);
    return contains(name, "attention") || contains(name, "mlp") ? call : 0.0;
  };
  const JobGraph hidden = make_transformer_job(job);
  const double computing = total_flop(hidden) / 2;
  CHECK(exact_time(hidden, seconds) ==
        Approx(computing + 6 * (2 * call + (call - attention))).epsilon(1e-12));
  job.tp_overlap = false;
  CHECK(exact_time(make_transformer_job(job), seconds) ==
        Approx(computing + 6 * 4 * call).epsilon(1e-12));
}

// Only the first gather of each pass and the last reduction are exposed, if a layer is computed for
// longer than it is gathered, and its backward pass for longer than both calls take.
TEST_CASE("computation hides the gathers of FSDP", "[workloads][generators]") {
  TransformerJob job = small_job(1, 1, 6);
  job.model.positions = false;
  job.plan.dp = 4;
  job.global_batch = 4;
  job.data_parallel = DataParallelism::Fsdp;
  job.zero = 3;
  const JobGraph graph = make_transformer_job(job);
  const double computing = total_flop(graph) / 4;
  const double layer = static_cast<double>(
      find_calls(graph, 0, "dp", CollectiveKind::AllGather, "gather layer").first_bytes);
  const double root = static_cast<double>(
      find_calls(graph, 0, "dp", CollectiveKind::AllGather, "gather root").first_bytes);
  CHECK(root == 2 * 2 * 4096);                                   // the last norm
  const double seconds_per_byte = 0.9 * computing / 18 / layer;  // 0.9 forward passes of a layer
  const auto seconds = [&](const JobGraph& of, const JobOp& op) {
    if (op.kind == JobOpKind::Compute) return flop_seconds(of, op);
    return static_cast<double>(op.bytes) * seconds_per_byte;
  };
  CHECK(exact_time(graph, seconds) ==
        Approx(computing + seconds_per_byte * (3 * layer + 2 * root)).epsilon(1e-12));
}

// Buckets are reduced while the next layers are computed; those of the last half layer are exposed.
TEST_CASE("the backward pass hides all but the last buckets", "[workloads][generators]") {
  for (const DataParallelism framework : {DataParallelism::Megatron, DataParallelism::Ddp}) {
    TransformerJob job = small_job(1, 2, 6);
    job.model.positions = false;
    job.plan.dp = 2;
    job.global_batch = 4;
    job.data_parallel = framework;
    const auto seconds = [](const JobGraph& of, const JobOp& op) {
      return op.kind == JobOpKind::Compute ? flop_seconds(of, op)
                                           : 1.0 * static_cast<double>(op.bytes);
    };
    const JobGraph graph = make_transformer_job(job);
    std::uint64_t last = 0;  // bytes that are ready after the last half layer
    for (const JobOp& op : graph.programs.front().ops) {
      if (op.kind == JobOpKind::Collective) last += op.bytes;
      if (op.flop > 0 && graph.names[at(op.name)] != "optimizer") last = 0;
    }
    CHECK(exact_time(graph, seconds) ==
          Approx(total_flop(graph) / 2 + static_cast<double>(last)).epsilon(1e-12));
    job.overlap_gradients = false;
    const auto all = find_calls(graph, 0, "dp", CollectiveKind::AllReduce).bytes;
    CHECK(exact_time(make_transformer_job(job), seconds) ==
          Approx(total_flop(graph) / 2 + static_cast<double>(all)).epsilon(1e-12));
  }
}

TEST_CASE("1F1B keeps at most as many micro-batches as stages follow", "[workloads][generators]") {
  const std::int32_t stages = 4;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    int open = 0;
    int most = 0;
    for (const PipelinePass& pass :
         pipeline_passes(PipelineOrder::OneForwardOneBackward, stage, stages, 1, 12)) {
      open += pass.forward ? 1 : -1;
      most = std::max(most, open);
    }
    CHECK(open == 0);
    CHECK(most == stages - stage);
  }
}

TEST_CASE("every pass of every schedule comes once, forward before backward",
          "[workloads][generators]") {
  for (const std::int32_t chunks : {1, 2, 3}) {
    for (std::int32_t stage = 0; stage < 4; ++stage) {
      std::vector<std::vector<int>> seen(at(chunks), std::vector<int>(8, 0));
      for (const PipelinePass& pass :
           pipeline_passes(PipelineOrder::OneForwardOneBackward, stage, 4, chunks, 8)) {
        int& state = seen[at(pass.chunk)][at(pass.micro_batch)];
        CHECK(state == (pass.forward ? 0 : 1));
        ++state;
      }
      for (const auto& chunk : seen) CHECK(chunk == std::vector<int>(8, 2));
    }
  }
}

TEST_CASE("FLOP are those of Narayanan et al. 2021, equation 3", "[workloads][generators]") {
  const struct {
    std::string_view model;
    ParallelPlan plan;
    std::int64_t batch;
  } cases[] = {{"gpt3-175b", {.tp = 8, .dp = 2, .pp = 12}, 24},
               {"gpt3-6.7b", {.tp = 4, .dp = 3, .pp = 2}, 12},
               {"gpt-1t", {.tp = 8, .dp = 1, .pp = 64}, 64}};
  for (const auto& one : cases) {
    for (const bool sequence_parallel : {false, true}) {
      TransformerJob job = named_job(one.model, one.plan, one.batch);
      job.sequence_parallel = sequence_parallel;
      const auto b = static_cast<double>(one.batch);
      const auto s = static_cast<double>(job.model.sequence);
      const auto l = static_cast<double>(job.model.layers);
      const auto h = static_cast<double>(job.model.hidden);
      const auto v = static_cast<double>(job.model.vocabulary);
      CAPTURE(one.model, sequence_parallel);
      CHECK(total_flop(make_transformer_job(job)) ==
            Approx(72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h))).epsilon(1e-12));
      job.recomputation = Recomputation::Full;
      CHECK(total_flop(make_transformer_job(job)) ==
            Approx(96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h))).epsilon(1e-12));
      // Both products of attention once more: 4 B s^2 h per layer.
      job.recomputation = Recomputation::Selective;
      CHECK(total_flop(make_transformer_job(job)) ==
            Approx(72 * b * s * l * h * h * (1 + s / (4.5 * h) + v / (12 * l * h))).epsilon(1e-12));
    }
  }
}

TEST_CASE("FLOP of a mixture of experts are those of its active parameters",
          "[workloads][generators]") {
  TransformerJob job = named_job("mixtral-8x7b", {.tp = 2, .dp = 8, .pp = 2, .ep = 4}, 16);
  job.sequence_parallel = true;
  const JobGraph graph = make_transformer_job(job);
  check_job(graph);
  const double tokens = 16 * 4096;
  const double h = 4096;
  const double active = 32 * (2 * h * h + 2 * h * 1024 + 2 * 3 * h * 14336 + 8 * h) + 32000 * h;
  CHECK(total_flop(graph) ==
        Approx(6 * tokens * active + 12 * tokens * 32 * 4096 * h).epsilon(1e-12));
  CHECK(exact_time(graph, flop_seconds) > 0);
}

TEST_CASE("models have their published numbers of parameters", "[workloads][generators]") {
  const std::pair<std::string_view, std::uint64_t> published[] = {
      {"gpt2-1.5b", 1'557'611'200},   {"llama-7b", 6'738'415'616},
      {"llama-13b", 13'015'864'320},  {"llama-65b", 65'285'660'672},
      {"llama2-70b", 68'976'648'192}, {"llama3-8b", 8'030'261'248},
      {"llama3-70b", 70'553'706'496}, {"mixtral-8x7b", 46'702'792'704}};
  for (const auto& [name, parameters] : published) {
    CAPTURE(name);
    CHECK(find_transformer_model(name)->parameters() == parameters);
  }
  const std::pair<std::string_view, double> rounded[] = {{"gpt3-6.7b", 6.7e9}, {"gpt3-13b", 13e9},
                                                         {"gpt-22b", 22e9},    {"gpt3-175b", 175e9},
                                                         {"gpt-530b", 530e9},  {"gpt-1t", 1008e9}};
  for (const auto& [name, parameters] : rounded) {
    CAPTURE(name);
    CHECK(static_cast<double>(find_transformer_model(name)->parameters()) ==
          Approx(parameters).epsilon(0.015));
  }
}

TEST_CASE("ranks are numbered as in Megatron-LM, and a stage has one program",
          "[workloads][generators]") {
  // The example of megatron/core/parallel_state.py: 16 GPUs, tp 2, pp 4.
  const JobGraph graph =
      make_transformer_job(named_job("gpt3-6.7b", {.tp = 2, .dp = 2, .pp = 4}, 8));
  CHECK(graph.programs.size() == 4);
  std::vector<std::vector<std::int32_t>> dp;
  std::vector<std::vector<std::int32_t>> tp;
  std::vector<std::vector<std::int32_t>> pp;
  for (const ProcessGroup& group : graph.groups) {
    const std::string& name = graph.communicators[at(group.communicator)].name;
    if (name == "tp") tp.push_back(group.ranks);
    if (name == "dp") dp.push_back(group.ranks);
    if (name == "pp") pp.push_back(group.ranks);
  }
  using Groups = std::vector<std::vector<std::int32_t>>;
  CHECK(tp == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(dp == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(pp == Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
}

TEST_CASE("expert parallelism is inside data parallelism", "[workloads][generators]") {
  TransformerJob job = named_job("mixtral-8x7b", {.tp = 1, .dp = 4, .pp = 1, .ep = 2}, 4);
  const JobGraph graph = make_transformer_job(job);
  std::vector<std::vector<std::int32_t>> ep;
  std::vector<std::vector<std::int32_t>> edp;
  for (const ProcessGroup& group : graph.groups) {
    const std::string& name = graph.communicators[at(group.communicator)].name;
    if (name == "ep") ep.push_back(group.ranks);
    if (name == "edp") edp.push_back(group.ranks);
  }
  using Groups = std::vector<std::vector<std::int32_t>>;
  CHECK(ep == Groups{{0, 1}, {2, 3}});
  CHECK(edp == Groups{{0, 2}, {1, 3}});
}

TEST_CASE("jobs of every kind of parallelism are consistent and free of deadlocks",
          "[workloads][generators]") {
  for (const std::string_view model : {"gpt2-1.5b", "llama3-8b", "mixtral-8x7b"}) {
    for (const bool sequence_parallel : {false, true}) {
      for (const std::int64_t pp : {1, 4}) {
        for (const std::int64_t v : {1, 2}) {
          for (int zero = 0; zero <= 3; ++zero) {
            for (const DataParallelism framework :
                 {DataParallelism::Megatron, DataParallelism::Ddp, DataParallelism::DeepSpeed,
                  DataParallelism::Fsdp}) {
              for (const Recomputation recomputation : {Recomputation::None, Recomputation::Full}) {
                TransformerJob job =
                    named_job(model, {.tp = 1, .dp = 2, .pp = pp}, 2 * (v > 1 ? 8 : 5));
                job.model.layers = 8;
                if (model != "gpt2-1.5b" && sequence_parallel) job.plan.tp = 4;
                if (job.model.moe() && framework == DataParallelism::Megatron) job.plan.ep = 2;
                job.sequence_parallel = sequence_parallel;
                job.virtual_stages = v;
                job.zero = zero;
                job.data_parallel = framework;
                job.recomputation = recomputation;
                if (find_problem(job)) continue;
                CAPTURE(model, sequence_parallel, pp, v, zero, framework, recomputation);
                const JobGraph graph = make_transformer_job(job);
                check_job(graph);
                CHECK(static_cast<std::int64_t>(graph.programs.size()) == pp);
                CHECK(exact_time(graph, flop_seconds) > 0);
                std::size_t ops = 0;
                for (const RankProgram& program : graph.programs) ops += program.ops.size();
                CHECK(static_cast<double>(ops) <= max_operations(job));
                CHECK(3 * static_cast<double>(ops) > max_operations(job));
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a job in C++ whose settings do not fit is refused", "[workloads][generators]") {
  const auto message = [](const TransformerJob& job) {
    return thrown([&] { return make_transformer_job(job); });
  };
  TransformerJob job = named_job("gpt3-6.7b", {.tp = 2, .dp = 2, .pp = 2}, 8);
  SECTION("sizes of zero") {
    job.model.hidden = 0;
    CHECK(contains(message(job), "a size of the model is 0"));
  }
  SECTION("ranks") {
    job.plan.dp = 2'000'000'000'000;
    CHECK(contains(message(job), "has more than 1000000 ranks"));
  }
  SECTION("negative numbers") {
    job.plan.tp = -1;
    CHECK(message(job) == "tp is -1; expected at least 1");
  }
  SECTION("operations") {
    job.global_batch = 8'000'000;
    CHECK(contains(message(job), "but at most 10 million can be generated"));
  }
  SECTION("overflow") {
    job.model.sequence = std::uint64_t{1} << 60;
    CHECK(contains(message(job), "activations of a micro-batch have"));
  }
  SECTION("parameters") {
    job.model.ffn = std::uint64_t{1} << 60;
    CHECK(contains(message(job), "expected at most 1e+15"));
  }
}
