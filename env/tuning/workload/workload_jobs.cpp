// The jobs: calls of one iteration, and compute in between, of data-parallel, sharded,
// tensor-parallel, expert-parallel and pipeline-parallel training or inference.
#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "env/tuning/workload/workload_streams.hpp"
#include "topology_models/gpu_models.hpp"
#include "workloads/generators/model_tensors.hpp"

namespace cclgym {

namespace {

// Model assumed for a GPU without a name.
constexpr std::string_view kUnnamed = "A100";
// Fraction of the peak that training reaches. This is an assumption: large models are reported
// between 0.3 and 0.5 (Narayanan et al., "Efficient large-scale language model training on GPU
// clusters", 2021).
constexpr double kUtilisation = 0.35;
constexpr double kHalfBytes = 2;

double flops_of(const WorkloadSite& site) {
  const GpuModel* gpu = find_gpu_model(site.gpu_model.empty() ? kUnnamed : site.gpu_model);
  if (gpu == nullptr) throw UserError(unknown_gpu_model_message(site.gpu_model));
  return gpu->peak_flops * kUtilisation;
}

class Iteration {
 public:
  explicit Iteration(const WorkloadSite& site) : site_(site), flops_(flops_of(site)) {}

  void add(CollectiveKind collective, double bytes, double flop, const CallContext& context) {
    WorkloadCall one{.call = {.collective = collective,
                              .bytes = fitting_bytes(collective, static_cast<std::uint64_t>(bytes),
                                                     site_.ranks)},
                     .context = context};
    one.context.compute_s = flop / flops_;
    flop_ += flop;
    bytes_ += static_cast<double>(one.call.bytes);
    calls_.push_back(one);
  }

  /// Completes the calls of the iteration with figures that depend on all of them.
  std::vector<WorkloadCall> finish() {
    for (WorkloadCall& one : calls_) one.context.intensity = flop_ / bytes_;
    calls_.back().context.ends_step = true;
    return std::move(calls_);
  }

 private:
  const WorkloadSite& site_;
  double flops_;
  double flop_ = 0;
  double bytes_ = 0;
  std::vector<WorkloadCall> calls_;
};

// Runs an AllReduce for each bucket of gradients in turn, overlapping the backward pass.
std::vector<WorkloadCall> ddp(const ModelShape& model, const WorkloadSite& site) {
  Iteration iteration(site);
  const std::uint64_t samples = model.samples_on_rank(site.ranks);
  const double forward = model.forward_flop_per_sample * static_cast<double>(samples);
  const double parameters = static_cast<double>(model.parameters());
  const CallContext context{.local_batch = static_cast<int>(samples), .overlaps = true};
  double before = forward;  // the first bucket also waits for the forward pass
  for (const std::uint64_t bytes : ddp_buckets(model.tensors, model.gradient_bytes)) {
    const double share =
        static_cast<double>(bytes) / static_cast<double>(model.gradient_bytes) / parameters;
    iteration.add(CollectiveKind::AllReduce, static_cast<double>(bytes),
                  before + 2 * forward * share, context);
    before = 0;
  }
  return iteration.finish();
}

// ZeRO-3 (Rajbhandari et al., 2019) as in FSDP, half precision: each layer is gathered before its
// forward pass and again before its backward pass, after which its gradients are scattered.
std::vector<WorkloadCall> fsdp(const ModelShape& model, const WorkloadSite& site) {
  Iteration iteration(site);
  const std::uint64_t samples = model.samples_on_rank(site.ranks);
  const double forward = model.forward_flop_per_sample * static_cast<double>(samples);
  const double parameters = static_cast<double>(model.parameters());
  const CallContext context{.local_batch = static_cast<int>(samples), .overlaps = true};
  const auto flop = [&](std::uint64_t layer) {
    return forward * static_cast<double>(layer) / parameters;
  };
  // While a layer is gathered, the previous layer is computed.
  double before = 0;
  for (const std::uint64_t layer : model.layers) {
    iteration.add(CollectiveKind::AllGather, kHalfBytes * static_cast<double>(layer), before,
                  context);
    before = flop(layer);
  }
  for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer) {
    const double bytes = kHalfBytes * static_cast<double>(*layer);
    iteration.add(CollectiveKind::AllGather, bytes, before, context);
    before = 0;
    iteration.add(CollectiveKind::ReduceScatter, bytes, 2 * flop(*layer), context);
  }
  return iteration.finish();
}

// Tensor-parallel inference of a language model (Megatron-LM): two AllReduces of the activations
// per layer, for a prompt, then token by token. Nothing overlaps.
std::vector<WorkloadCall> tensor_parallel(const ModelShape& model, const WorkloadSite& site) {
  constexpr int kSequences = 8;
  constexpr int kPrompt = 512;
  constexpr int kGenerated = 16;
  Iteration iteration(site);
  const CallContext context{.local_batch = kSequences};
  const auto layers = static_cast<double>(model.layers.size() - 2);
  const auto pass = [&](double tokens) {
    const double flop = model.forward_flop_per_sample * tokens / site.ranks / (2 * layers);
    for (int half = 0; half < 2 * static_cast<int>(layers); ++half) {
      iteration.add(CollectiveKind::AllReduce,
                    kHalfBytes * tokens * static_cast<double>(model.hidden), flop, context);
    }
  };
  pass(kSequences * kPrompt);
  for (int token = 0; token < kGenerated; ++token) pass(kSequences);
  return iteration.finish();
}

// Mixture of experts, one expert per GPU, two experts per token: tokens go to their experts and
// back, in the forward and in the backward pass.
std::vector<WorkloadCall> mixture_of_experts(const ModelShape& model, const WorkloadSite& site) {
  constexpr double kTokens = 4096;  // tokens per GPU
  constexpr double kExperts = 2;    // experts per token
  constexpr int kLayers = 24;       // every second layer of 48
  Iteration iteration(site);
  const auto hidden = static_cast<double>(model.hidden);
  const double bytes = kHalfBytes * kTokens * kExperts * hidden;
  const double expert_flop = kTokens * kExperts * 2 * 8 * hidden * hidden;
  const CallContext context{.local_batch = static_cast<int>(kTokens)};
  for (const double passes : {1.0, 2.0}) {
    for (int layer = 0; layer < kLayers; ++layer) {
      // Attention and a dense layer precede the first call, the experts precede the second.
      iteration.add(CollectiveKind::AllToAll, bytes, passes * 1.5 * expert_flop, context);
      iteration.add(CollectiveKind::AllToAll, bytes, passes * expert_flop, context);
    }
  }
  return iteration.finish();
}

// A pipeline over all GPUs: the activations of each micro-batch go to the next GPU.
std::vector<WorkloadCall> pipeline_parallel(const ModelShape& model, const WorkloadSite& site) {
  constexpr int kMicroBatches = 16;
  constexpr double kTokens = 1024;  // tokens per micro-batch
  Iteration iteration(site);
  const CallContext context{
      .local_batch = static_cast<int>(kTokens), .overlaps = true, .pipeline = true};
  const double forward = model.forward_flop_per_sample * kTokens / site.ranks;
  for (const double passes : {1.0, 2.0}) {
    for (int micro_batch = 0; micro_batch < kMicroBatches; ++micro_batch) {
      iteration.add(CollectiveKind::AllToNext,
                    kHalfBytes * kTokens * static_cast<double>(model.hidden), passes * forward,
                    context);
    }
  }
  return iteration.finish();
}

struct Job {
  WorkloadInfo info;
  std::string_view model;
  std::vector<WorkloadCall> (*iteration)(const ModelShape&, const WorkloadSite&);
};

const std::vector<Job>& jobs() {
  static const std::vector<Job> table{
      {{"ddp-resnet-50", "AllReduce of PyTorch DDP's buckets, 25.6 M parameters"},
       "resnet-50",
       ddp},
      {{"ddp-bert-large", "AllReduce of PyTorch DDP's buckets, 335 M parameters"},
       "bert-large",
       ddp},
      {{"ddp-gpt2-1.5b", "AllReduce of PyTorch DDP's buckets, 1,558 M parameters"},
       "gpt2-1.5b",
       ddp},
      {{"fsdp-bert-large", "ZeRO-3 layer by layer: AllGather twice, ReduceScatter once"},
       "bert-large",
       fsdp},
      {{"fsdp-gpt2-1.5b", "ZeRO-3 layer by layer: AllGather twice, ReduceScatter once"},
       "gpt2-1.5b",
       fsdp},
      {{"ddp-gpt-7b", "AllReduce of PyTorch DDP's buckets, bf16, 6,658 M parameters"},
       "gpt-7b",
       ddp},
      {{"ddp-gpt-13b", "AllReduce of PyTorch DDP's buckets, bf16, 12,853 M parameters"},
       "gpt-13b",
       ddp},
      {{"zero3-gpt-7b", "ZeRO-3 of 6,658 M parameters in 32 layers: calls of about 400 MB"},
       "gpt-7b",
       fsdp},
      {{"zero3-gpt-13b", "ZeRO-3 of 12,853 M parameters in 40 layers: calls of about 600 MB"},
       "gpt-13b",
       fsdp},
      {{"tp-inference", "tensor-parallel inference of GPT-2 1.5B: prompts, then token by token"},
       "gpt2-1.5b",
       tensor_parallel},
      {{"moe-alltoall", "a mixture of experts, 24 layers of width 1,600: four AllToAlls per layer"},
       "gpt2-1.5b",
       mixture_of_experts},
      {{"pp-alltonext", "a pipeline over all GPUs, 16 micro-batches: AllToNext"},
       "gpt2-1.5b",
       pipeline_parallel},
  };
  return table;
}

}  // namespace

std::vector<WorkloadCall> job_iteration(std::string_view name, const WorkloadSite& site) {
  for (const Job& job : jobs()) {
    if (job.info.name == name) return job.iteration(model_shape(job.model), site);
  }
  return {};
}

const std::vector<WorkloadInfo>& job_infos() {
  static const std::vector<WorkloadInfo> infos = [] {
    std::vector<WorkloadInfo> list;
    for (const Job& job : jobs()) list.push_back(job.info);
    return list;
  }();
  return infos;
}

}  // namespace cclgym
