#include "workloads/generators/transformer_stage.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "workloads/generators/gradient_buckets.hpp"
#include "workloads/generators/transformer_costs.hpp"
#include "workloads/graph/program_builder.hpp"

namespace cclgym {

namespace {

constexpr std::int32_t kForwardTag = 0;
constexpr std::int32_t kBackwardTag = 1;

std::uint64_t total(const std::vector<std::uint64_t>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0});
}

class StageWriter {
 public:
  StageWriter(const TransformerJob& job, const PlanCommunicators& groups, std::int32_t stage,
              JobGraph& graph)
      : job_(job),
        groups_(groups),
        stage_(stage),
        stages_(static_cast<std::int32_t>(job.plan.pp)),
        chunks_(static_cast<std::int32_t>(job.virtual_stages)),
        layers_(static_cast<std::int32_t>(job.model.layers) / (stages_ * chunks_)),
        tp_(static_cast<std::uint64_t>(job.plan.tp)),
        sp_(job.sequence_parallel && tp_ > 1),
        builder_(graph),
        dense_(bucket_rule(job, static_cast<std::uint64_t>(job.plan.dp))),
        expert_(bucket_rule(job, static_cast<std::uint64_t>(job.plan.dp / job.plan.ep))) {
    const PartSize size{.sequences = static_cast<double>(job.micro_batch),
                        .queries = static_cast<double>(job.model.sequence),
                        .keys = static_cast<double>(job.model.sequence),
                        .tp = tp_,
                        .sequence_parallel = sp_,
                        .element_bytes = static_cast<double>(job.element_bytes)};
    const auto ep = static_cast<std::uint64_t>(job.plan.ep);
    attention_ = attention_cost(job.model, size);
    mlp_ = mlp_cost(job.model, size);
    experts_ = experts_cost(job.model, size, ep);
    embedding_ = embedding_cost(job.model, size);
    head_ = head_cost(job.model, size);
    attention_tensors_ = attention_tensors(job.model, tp_);
    mlp_tensors_ = mlp_tensors(job.model, tp_);
    expert_tensors_ = expert_tensors(job.model, tp_, ep);
    embedding_tensors_ = embedding_tensors(job.model, tp_);
    head_tensors_ = head_tensors(job.model, tp_, !job.model.tied || stages_ > 1);
    activation_ = job.tokens() * job.model.hidden * job.element_bytes;
  }

  RankProgram write() {
    const auto micro_batches = static_cast<std::int32_t>(job_.micro_batches());
    for (const PipelinePass& pass :
         pipeline_passes(job_.order, stage_, stages_, chunks_, micro_batches)) {
      // Megatron-LM, DDP and ZeRO-1 accumulate gradients until the last micro-batch.
      reduces_ = job_.zero >= 2 || pass.micro_batch == micro_batches - 1;
      if (pass.forward) {
        forward(pass.chunk);
      } else {
        backward(pass.chunk);
      }
    }
    update();
    return builder_.take();
  }

 private:
  [[nodiscard]] bool begins(std::int32_t chunk) const { return stage_ == 0 && chunk == 0; }
  [[nodiscard]] bool ends(std::int32_t chunk) const {
    return stage_ == stages_ - 1 && chunk == chunks_ - 1;
  }

  void forward(std::int32_t chunk) {
    if (begins(chunk)) {
      gather_root();
      gather_layer(0);
      builder_.wait_for(root_gather_);
      builder_.compute("embedding", embedding_.flop, embedding_.memory_bytes);
      // Without learned positions, Megatron-LM scatters the sum of the parts of the vocabulary
      // (reduce_scatter_embeddings); with them it first adds the positions to all of it.
      const bool scatters = sp_ && !job_.model.positions;
      tp_call(scatters ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, "embedding");
    } else {
      receive("pp recv forward", stage_ == 0 ? stages_ - 1 : stage_ - 1, kForwardTag);
    }
    for (std::int32_t layer = 0; layer < layers_; ++layer) {
      gather_layer(layer + 1);
      wait_for_layer(layer);
      forward_layer("");
    }
    if (ends(chunk)) {
      forward_head();
    } else {
      send("pp send forward", stage_ == stages_ - 1 ? 0 : stage_ + 1, kForwardTag);
    }
  }

  void forward_layer(const std::string& prefix) {
    forward_half(prefix + "attention", attention_);
    if (!job_.model.moe()) {
      forward_half(prefix + "mlp", mlp_);
      return;
    }
    builder_.compute(prefix + "router", mlp_.flop, mlp_.memory_bytes);
    dispatch(prefix + "dispatch");
    builder_.compute(prefix + "experts", experts_.flop, experts_.memory_bytes);
    combine(prefix + "combine");
  }

  // Half of a layer: a column-parallel and a row-parallel product, and what is between them.
  void forward_half(const std::string& name, const PartCost& cost) {
    if (sp_) tp_call(CollectiveKind::AllGather, name);
    builder_.compute(name, cost.flop, cost.memory_bytes);
    tp_call(sp_ ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, name);
  }

  // Logits and cross-entropy of a vocabulary cut into parts: the maximum, the logit of the target
  // and the sum of exponentials of each token are reduced in 4 B
  // (megatron/core/tensor_parallel/cross_entropy.py).
  void forward_head() {
    if (sp_) tp_call(CollectiveKind::AllGather, "logits");
    builder_.compute("logits", head_.flop, head_.memory_bytes);
    for (const char* name : {"loss maximum", "loss target", "loss sum"}) {
      builder_.blocking(CollectiveKind::AllReduce, groups_.tp, "tp", name, 4 * job_.tokens());
    }
  }

  void backward(std::int32_t chunk) {
    const bool last = ends(chunk);
    gather_layer_again(layers_ - 1);
    if (last) {
      backward_half("logits", head_, false);
      // FSDP's root unit, embedding and head, is reduced last.
      if (!fsdp()) ready(dense_, groups_.dp, head_tensors_);
    } else {
      receive("pp recv backward", stage_ == stages_ - 1 ? 0 : stage_ + 1, kBackwardTag);
    }
    for (std::int32_t layer = layers_ - 1; layer >= 0; --layer) {
      gather_layer_again(layer - 1);
      wait_for_layer(layer);
      backward_layer();
      if (fsdp()) flush(dense_, groups_.dp);
    }
    if (begins(chunk)) {
      if (sp_) tp_call(CollectiveKind::AllGather, "embedding backward");
      builder_.compute("embedding backward", 0, 2 * embedding_.memory_bytes);
      ready(dense_, groups_.dp, embedding_tensors_);
      if (fsdp()) ready(dense_, groups_.dp, head_tensors_);
    } else {
      send("pp send backward", stage_ == 0 ? stages_ - 1 : stage_ - 1, kBackwardTag);
    }
    flush(dense_, groups_.dp);
    flush(expert_, groups_.edp);
    dense_.restart();
    expert_.restart();
  }

  void backward_layer() {
    if (job_.recomputation == Recomputation::Full) forward_layer("recompute ");
    if (job_.model.moe()) {
      dispatch("combine backward");
      builder_.compute("experts backward", 2 * experts_.flop, 2 * experts_.memory_bytes);
      ready(job_.plan.ep > 1 ? expert_ : dense_, groups_.edp, expert_tensors_);
      combine("dispatch backward");
      builder_.compute("router backward", 2 * mlp_.flop, 2 * mlp_.memory_bytes);
    } else {
      backward_half("mlp", mlp_, true);
    }
    ready(dense_, groups_.dp, mlp_tensors_);
    PartCost attention = attention_;
    if (job_.recomputation == Recomputation::Selective) {
      attention.flop += attention.scores_flop / 2;  // a backward pass counts it twice
    }
    backward_half("attention", attention, true);
    ready(dense_, groups_.dp, attention_tensors_);
  }

  // Megatron-LM computes the gradient of the column-parallel matrix last, while the gradient of the
  // input is reduced (megatron/core/tensor_parallel/layers.py,
  // LinearWithGradAccumulationAndAsyncCommunication). With sequence parallelism it also gathers the
  // input, of which it only kept its own part, again.
  void backward_half(const std::string& name, const PartCost& cost, bool scattered) {
    const double flop = 2 * cost.flop;
    const double memory = 2 * cost.memory_bytes;
    const CollectiveKind kind = sp_ ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
    const std::string backward = name + " backward";
    if (tp_ == 1) {
      builder_.compute(backward, flop, memory);
      return;
    }
    if (sp_ && scattered) tp_call(CollectiveKind::AllGather, backward);
    std::int32_t input = -1;
    if (sp_) {
      input = builder_.overlapping(CollectiveKind::AllGather, groups_.tp, "tp", name + " input",
                                   activation_, builder_.results());
    }
    if (!job_.tp_overlap) {
      builder_.wait_for(input);
      builder_.compute(backward, flop, memory);
      tp_call(kind, backward);
      return;
    }
    const double weights = cost.flop > 0 ? cost.column_flop / flop : 0;
    builder_.compute(backward, flop - cost.column_flop, memory * (1 - weights));
    const std::int32_t reduced =
        builder_.overlapping(kind, groups_.tp, "tp", backward, activation_, builder_.results());
    builder_.wait_for(input);
    builder_.compute(name + " weights", cost.column_flop, memory * weights);
    builder_.wait_for(reduced);
  }

  void tp_call(CollectiveKind kind, std::string_view name) {
    builder_.blocking(kind, groups_.tp, "tp", name, activation_);
  }

  // Tokens to their experts and back: AllToAll over ep of the tokens that each rank routes, once
  // per expert of a token, then an exchange over tp, since each expert is cut into tp parts
  // (megatron/core/transformer/moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher).
  void dispatch(const std::string& name) {
    const std::uint64_t bytes = activation_ * job_.model.experts_per_token;
    builder_.blocking(CollectiveKind::AllToAll, groups_.ep, "ep", name, bytes / tp_);
    builder_.blocking(CollectiveKind::AllGather, groups_.tp, "tp", name, bytes);
  }
  void combine(const std::string& name) {
    const std::uint64_t bytes = activation_ * job_.model.experts_per_token;
    builder_.blocking(CollectiveKind::ReduceScatter, groups_.tp, "tp", name, bytes);
    builder_.blocking(CollectiveKind::AllToAll, groups_.ep, "ep", name, bytes / tp_);
  }

  // Messages have a stream for each direction and kind, so none waits for another. Unless they
  // overlap, they are posted after the last pass, and the next pass waits for them, as the batches
  // of Megatron-LM's schedules without overlap_p2p_communication.
  [[nodiscard]] bool messages_overlap() const { return job_.overlap_p2p || chunks_ > 1; }
  [[nodiscard]] std::uint64_t message_bytes() const {
    return sp_ ? activation_ / tp_ : activation_;
  }

  void receive(std::string_view name, std::int32_t peer, std::int32_t tag) {
    builder_.wait_for(
        builder_.message(JobOpKind::Recv, groups_.pp, name, message_bytes(), peer, tag,
                         messages_overlap() ? std::vector<std::int32_t>{} : builder_.computed()));
  }
  void send(std::string_view name, std::int32_t peer, std::int32_t tag) {
    const std::int32_t sent = builder_.message(JobOpKind::Send, groups_.pp, name, message_bytes(),
                                               peer, tag, builder_.results());
    if (!messages_overlap()) builder_.wait_for(sent);
  }

  // Parameters in shards: FSDP and ZeRO-3. A layer is gathered while the previous one is computed,
  // forward and, with ZeRO-3, again backward.
  [[nodiscard]] bool fsdp() const { return job_.data_parallel == DataParallelism::Fsdp; }
  [[nodiscard]] std::uint64_t layer_elements() const {
    return total(attention_tensors_) + total(mlp_tensors_) + total(expert_tensors_);
  }
  std::int32_t gather(std::string_view name, std::uint64_t elements) {
    const auto dp = static_cast<std::uint64_t>(job_.plan.dp);
    return builder_.overlapping(CollectiveKind::AllGather, groups_.dp, "dp", name,
                                round_up(elements, dp) * job_.element_bytes, builder_.computed());
  }
  void gather_root() {
    if (!job_.sharded()) return;
    root_gather_ = gather("gather root", total(embedding_tensors_) + total(head_tensors_));
  }
  void gather_layer(std::int32_t layer) {
    if (!job_.sharded() || layer >= layers_) return;
    gathers_.resize(at(layers_), -1);
    gathers_[at(layer)] = gather("gather layer", layer_elements());
  }
  void gather_layer_again(std::int32_t layer) {
    if (job_.zero == 3 && layer >= 0) gather_layer(layer);
  }
  void wait_for_layer(std::int32_t layer) {
    if (job_.sharded()) builder_.wait_for(gathers_[at(layer)]);
  }

  // Gradients that are ready after the last computation, in the opposite order of the parameters.
  void ready(BucketFiller& filler, std::int32_t communicator,
             const std::vector<std::uint64_t>& tensors) {
    if (!reduces_) return;
    for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
      if (const auto bucket = filler.add(*tensor)) close(*bucket, communicator);
    }
  }
  void flush(BucketFiller& filler, std::int32_t communicator) {
    if (const auto bucket = filler.flush()) close(*bucket, communicator);
  }
  void close(std::uint64_t elements, std::int32_t communicator) {
    if (job_.overlap_gradients) {
      reduce(elements, communicator, builder_.computed());
    } else {
      deferred_.emplace_back(elements, communicator);
    }
  }
  void reduce(std::uint64_t elements, std::int32_t communicator,
              const std::vector<std::int32_t>& dependencies) {
    const std::int32_t call = builder_.overlapping(
        job_.zero > 0 ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, communicator,
        "dp", "gradients", elements * job_.bytes_per_gradient(), dependencies);
    if (call < 0) return;
    last_reduction_ = call;
    reduced_.emplace_back(elements, communicator);
  }

  // The end of the step (megatron/core/distributed/finalize_model_grads.py): gradients that
  // sequence parallelism leaves partial, gradients of the shared embedding, Adam, new parameters.
  void update() {
    for (const auto& [elements, communicator] : deferred_) {
      reduce(elements, communicator, builder_.results());
    }
    builder_.wait_for(last_reduction_);
    const std::uint64_t gradient = job_.bytes_per_gradient();
    if (sp_) {
      builder_.blocking(CollectiveKind::AllReduce, groups_.tp, "tp", "norm gradients",
                        partial_elements() * gradient);
    }
    if (stage_ == 0 || stage_ == stages_ - 1) {
      builder_.blocking(CollectiveKind::AllReduce, groups_.embd, "embd", "embedding gradients",
                        embedding_tensors_.front() * gradient);
    }
    std::uint64_t dense = layer_elements() - total(expert_tensors_);
    dense *= static_cast<std::uint64_t>(layers_ * chunks_);
    if (stage_ == 0) dense += total(embedding_tensors_);
    if (stage_ == stages_ - 1) dense += total(head_tensors_);
    const std::uint64_t expert =
        total(expert_tensors_) * static_cast<std::uint64_t>(layers_ * chunks_);
    double parameters = static_cast<double>(dense + expert);
    if (job_.zero > 0) {
      parameters = static_cast<double>(dense) / static_cast<double>(job_.plan.dp) +
                   static_cast<double>(expert) / static_cast<double>(job_.plan.dp / job_.plan.ep);
    }
    const PartCost adam = adam_cost(parameters, static_cast<double>(gradient),
                                    static_cast<double>(job_.element_bytes));
    builder_.compute("optimizer", adam.flop, adam.memory_bytes);
    if (job_.zero == 0 || job_.sharded()) return;
    if (job_.data_parallel == DataParallelism::DeepSpeed) split_parameters(dense + expert);
    for (const auto& [elements, communicator] : reduced_) {
      builder_.overlapping(CollectiveKind::AllGather, communicator, "dp", "parameters",
                           elements * job_.element_bytes, builder_.results());
    }
  }

  // DeepSpeed gathers all parameters in pieces of allgather_bucket_size, 5e8 elements.
  void split_parameters(std::uint64_t elements) {
    constexpr std::uint64_t kPiece = 500'000'000;
    reduced_.clear();
    for (; elements > 0; elements -= std::min(elements, kPiece)) {
      reduced_.emplace_back(
          round_up(std::min(elements, kPiece), 2 * static_cast<std::uint64_t>(job_.plan.dp)),
          groups_.dp);
    }
  }

  // Parameters that every rank of tp has, but of whose gradient it only has the part of its tokens:
  // norms, biases of row-parallel layers, routers.
  [[nodiscard]] std::uint64_t partial_elements() const {
    const TransformerModel& model = job_.model;
    const std::uint64_t norm = model.hidden * (model.biases ? 2 : 1);
    std::uint64_t layer = 2 * norm;
    if (model.biases) layer += (model.moe() ? 1 : 2) * model.hidden;
    if (model.moe()) layer += model.hidden * model.experts;
    const std::uint64_t layers = layer * static_cast<std::uint64_t>(layers_ * chunks_);
    return layers + (stage_ == stages_ - 1 ? norm : 0);
  }

  const TransformerJob& job_;
  const PlanCommunicators& groups_;
  std::int32_t stage_;
  std::int32_t stages_;
  std::int32_t chunks_;
  std::int32_t layers_;  ///< per chunk
  std::uint64_t tp_;
  bool sp_;
  JobProgramBuilder builder_;
  PartCost attention_, mlp_, experts_, embedding_, head_;
  std::vector<std::uint64_t> attention_tensors_, mlp_tensors_, expert_tensors_, embedding_tensors_,
      head_tensors_;
  std::uint64_t activation_ = 0;  ///< bytes of a micro-batch's activations
  bool reduces_ = false;          ///< gradients of the current backward pass are reduced
  BucketFiller dense_;
  BucketFiller expert_;
  std::int32_t root_gather_ = -1;
  std::vector<std::int32_t> gathers_;  ///< last gather of each layer
  std::int32_t last_reduction_ = -1;
  // Buckets in elements, with their communicators: to reduce at the end, and those reduced.
  std::vector<std::pair<std::uint64_t, std::int32_t>> deferred_;
  std::vector<std::pair<std::uint64_t, std::int32_t>> reduced_;
};

}  // namespace

RankProgram stage_program(const TransformerJob& job, const PlanCommunicators& groups,
                          std::int32_t stage, JobGraph& graph) {
  return StageWriter(job, groups, stage, graph).write();
}

}  // namespace cclgym
