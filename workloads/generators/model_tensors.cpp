#include "workloads/generators/model_tensors.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace cclgym {

namespace {

// He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (2015), table 1, with the
// stride in the 3x3 convolution, as in torchvision's resnet50.
ModelShape resnet_50() {
  ModelShape model{.name = "resnet-50",
                   .tensors = {},
                   .layers = {},
                   .hidden = 0,
                   .forward_flop_per_sample = 2 * 4.09e9,  // torchvision: 4.09 GMAC per image
                   .samples_per_batch = 64};
  std::uint64_t layer = 0;
  const auto add = [&](std::uint64_t elements) {
    model.tensors.push_back(elements);
    layer += elements;
  };
  const auto convolution = [&](std::uint64_t in, std::uint64_t out, std::uint64_t kernel) {
    add(in * out * kernel * kernel);
    add(out);  // batch normalisation: weight
    add(out);  // batch normalisation: bias
  };
  const auto close = [&] {
    model.layers.push_back(layer);
    layer = 0;
  };
  convolution(3, 64, 7);
  close();
  std::uint64_t in = 64;
  const std::uint64_t widths[] = {64, 128, 256, 512};
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const std::uint64_t width = widths[stage];
    for (int block = 0; block < blocks[stage]; ++block) {
      convolution(in, width, 1);
      convolution(width, width, 3);
      convolution(width, 4 * width, 1);
      if (block == 0) convolution(in, 4 * width, 1);  // the shortcut
      in = 4 * width;
      close();
    }
  }
  add(in * 1000);
  add(1000);
  close();
  return model;
}

// Devlin, Chang, Lee, Toutanova, "BERT" (2018): 24 layers of width 1024, 16 heads; uncased
// vocabulary of 30,522; with the pooler, without a head.
ModelShape bert_large() {
  const std::uint64_t h = 1024;
  ModelShape model{.name = "bert-large",
                   .tensors = {30522 * h, 512 * h, 2 * h, h, h},
                   .layers = {30522 * h + 512 * h + 2 * h + 2 * h},
                   .hidden = h,
                   .forward_flop_per_sample = 2 * 302.3e6,  // the layers, per token
                   .samples_per_batch = 8 * 512};
  for (int layer = 0; layer < 24; ++layer) {
    const std::vector<std::uint64_t> tensors{
        h * h,     h,     h * h, h, h * h, h,  // query, key, value
        h * h,     h,     h,     h,            // output, its normalisation
        4 * h * h, 4 * h,                      // intermediate
        4 * h * h, h,     h,     h};           // output, its normalisation
    model.tensors.insert(model.tensors.end(), tensors.begin(), tensors.end());
    model.layers.push_back(std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0}));
  }
  model.tensors.insert(model.tensors.end(), {h * h, h});  // pooler
  model.layers.push_back(h * h + h);
  return model;
}

// Tensors of a GPT-2 or GPT-3: layers of width h, a vocabulary of 50,257, and an output layer that
// shares the embedding.
ModelShape gpt(std::string name, int layers, std::uint64_t h, std::uint64_t context) {
  ModelShape model{.name = std::move(name),
                   .tensors = {50257 * h, context * h},
                   .layers = {50257 * h + context * h},
                   .hidden = h,
                   .forward_flop_per_sample = 0,
                   .samples_per_batch = context};
  for (int layer = 0; layer < layers; ++layer) {
    const std::vector<std::uint64_t> tensors{h,         h,                     // normalisation
                                             3 * h * h, 3 * h, h * h,     h,   // attention
                                             h,         h,                     // normalisation
                                             4 * h * h, 4 * h, 4 * h * h, h};  // two layers
    model.tensors.insert(model.tensors.end(), tensors.begin(), tensors.end());
    model.layers.push_back(std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0}));
  }
  model.tensors.insert(model.tensors.end(), {h, h});
  model.layers.push_back(2 * h);
  // Every parameter is used once per token.
  model.forward_flop_per_sample = 2 * static_cast<double>(model.parameters());
  return model;
}

// Radford et al., "Language models are unsupervised multitask learners" (2019), GPT-2 XL: 48 layers
// of width 1600, context 1,024.
ModelShape gpt2_1_5b() {
  ModelShape model = gpt("gpt2-1.5b", 48, 1600, 1024);
  model.forward_flop_per_sample = 2 * 1.5576e9;
  return model;
}

// Brown et al., "Language models are few-shot learners" (2020), table 2.1: 6.7 B has 32 layers of
// width 4,096, and 13 B has 40 layers of width 5,140, which its 40 heads do not divide; Zhang et
// al., "OPT" (2022), table 1, has 5,120. The context is 2,048 tokens, the vocabulary that of GPT-2.
// A batch of 2,048 sequences for all GPUs is an assumption.
ModelShape large_gpt(std::string name, int layers, std::uint64_t h) {
  constexpr std::uint64_t kContext = 2048;
  constexpr std::uint64_t kSequences = 2048;
  ModelShape model = gpt(std::move(name), layers, h, kContext);
  model.samples_of_all = kSequences * kContext;
  model.gradient_bytes = 2;  // bf16
  return model;
}

}  // namespace

std::uint64_t ModelShape::parameters() const {
  return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0});
}

std::uint64_t ModelShape::samples_on_rank(int ranks) const {
  if (samples_of_all == 0) return samples_per_batch;
  return std::max<std::uint64_t>(1, samples_of_all / static_cast<std::uint64_t>(ranks));
}

const std::vector<ModelShape>& model_shapes() {
  static const std::vector<ModelShape> models{resnet_50(), bert_large(), gpt2_1_5b(),
                                              large_gpt("gpt-7b", 32, 4096),
                                              large_gpt("gpt-13b", 40, 5120)};
  return models;
}

const ModelShape& model_shape(std::string_view name) {
  for (const ModelShape& model : model_shapes()) {
    if (model.name == name) return model;
  }
  throw std::logic_error("there is no model '" + std::string(name) + "'");
}

std::vector<std::uint64_t> ddp_buckets(const std::vector<std::uint64_t>& tensors,
                                       std::uint64_t element_bytes, std::uint64_t first_bytes,
                                       std::uint64_t bucket_bytes) {
  std::vector<std::uint64_t> buckets;
  std::uint64_t open = 0;
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    open += *tensor * element_bytes;
    if (open < (buckets.empty() ? first_bytes : bucket_bytes)) continue;
    buckets.push_back(open);
    open = 0;
  }
  if (open > 0) buckets.push_back(open);
  return buckets;
}

}  // namespace cclgym
