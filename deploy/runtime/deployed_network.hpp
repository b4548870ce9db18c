// The network of a policy file, in a memory layout for fast decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "deploy/runtime/lane_kernels.hpp"
#include "deploy/runtime/mask_tree.hpp"
#include "deploy/runtime/policy_file.hpp"

namespace cclgym {

/// Limits of a policy file.
inline constexpr std::size_t kMostObservations = 65536;
inline constexpr std::size_t kMostUnits = 4096;
inline constexpr std::size_t kMostEncoderLayers = 16;

/// Reason why there is no decision.
enum class DecisionFault : std::uint8_t { None, Observation, NoLegalAction };

/// Immutable; decide may be called from any number of threads, each with its own state.
///
/// The caller owns the memory of the state of a stream of calls: the LSTM's h and c, which persist
/// from call to call, followed by scratch memory for a decision.
class DeployedNetwork {
 public:
  /// Throws UserError "NAME: …" if records are missing or inconsistent.
  DeployedNetwork(const PolicyFile& file, const std::string& name);

  [[nodiscard]] std::size_t observations() const { return observations_; }
  [[nodiscard]] std::size_t knobs() const { return heads_.size(); }
  [[nodiscard]] std::size_t levels(std::size_t knob) const { return heads_[knob].levels; }
  /// Total number of levels of all knobs.
  [[nodiscard]] std::size_t logits() const { return logits_; }

  /// Number of floats in a state.
  [[nodiscard]] std::size_t state_size() const { return state_size_; }
  void init_state(float* state) const;
  /// See cclgym_policy_decide. `rules` is null or a tree over all knobs; `allowed` is null or has
  /// logits() bytes. On a fault, the state's h and c and `action` are unchanged.
  DecisionFault decide(const LaneKernels& kernels, float* state, const float* observation,
                       const MaskTree* rules, const std::uint8_t* allowed,
                       std::int32_t* action) const;
  /// The logits of the last decision, of all knobs in turn; 0 for knobs with a single legal level.
  void last_logits(const float* state, std::span<float> out) const;

 private:
  class Builder;
  struct Layer {
    std::size_t inputs = 0;
    std::size_t rows = 0;     ///< a multiple of kLane
    std::size_t bias = 0;     ///< index in weights_
    std::size_t weights = 0;  ///< index in weights_
  };
  struct Head {
    Layer hidden;
    Layer out;
    std::vector<std::size_t> choices;  ///< by earlier knob: index in weights_ of its padded rows
    std::size_t levels = 0;
    std::size_t first_logit = 0;  ///< index among the logits of all knobs
    std::size_t logits_at = 0;    ///< index in a state
  };

  [[nodiscard]] AffineLayer at(const Layer& layer) const {
    return {layer.inputs, layer.rows, weights_.data() + layer.bias,
            weights_.data() + layer.weights};
  }
  /// Computes z from the normalised observation, and the next c and h.
  void advance(const LaneKernels& kernels, float* state) const;
  /// Computes the logits of a knob; returns the likeliest level of `legal`.
  std::size_t evaluate_head(const LaneKernels& kernels, float* state, std::size_t knob,
                            const std::int32_t* action, std::uint32_t legal) const;
  [[nodiscard]] std::uint32_t allowed_levels(std::size_t knob, const std::uint8_t* allowed) const;
  [[nodiscard]] std::size_t likeliest(const float* logits, std::uint32_t legal) const;

  std::size_t observations_ = 0;
  std::size_t lstm_ = 0;
  std::size_t units_ = 0;  ///< units of the LSTM, padded
  std::size_t logits_ = 0;
  float limit_ = 0;
  std::vector<Layer> encoder_;
  Layer gates_;
  std::vector<Head> heads_;
  std::size_t shift_ = 0;
  std::size_t scale_ = 0;
  LaneVector weights_;

  // Indices in a state.
  std::size_t h_ = 0;
  std::size_t c_ = 0;
  std::size_t next_c_ = 0;
  std::size_t input_ = 0;   ///< the normalised observation
  std::size_t buffer_ = 0;  ///< two buffers of buffer_size_, which the encoder's layers alternate
  std::size_t buffer_size_ = 0;
  std::size_t recurrent_ = 0;  ///< [e h], the input of the LSTM; then z = [e h']
  std::size_t gate_ = 0;
  std::size_t state_size_ = 0;
};

}  // namespace cclgym
