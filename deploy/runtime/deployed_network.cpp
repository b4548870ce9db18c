#include "deploy/runtime/deployed_network.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cclgym {

namespace {

// Whole lanes, which need no call of a function.
void copy_lanes(const float* from, std::size_t size, float* to) {
  for (std::size_t i = 0; i < size; i += kLane)
    std::memcpy(to + i, from + i, sizeof(float) * kLane);
}

}  // namespace

void DeployedNetwork::init_state(float* state) const { std::fill_n(state, state_size_, 0.0F); }

void DeployedNetwork::advance(const LaneKernels& kernels, float* state) const {
  const float* input = state + input_;
  for (std::size_t i = 0; i < encoder_.size(); ++i) {
    const bool last = i + 1 == encoder_.size();
    // The LSTM and the heads read the units of the last layer first. h overwrites the padding lanes
    // after them.
    float* out = last ? state + recurrent_ : state + buffer_ + (i % 2) * buffer_size_;
    kernels.affine(at(encoder_[i]), input, out, true);
    input = out;
  }
  if (lstm_ == 0) return;
  float* h = state + recurrent_ + gates_.inputs - lstm_;
  copy_lanes(state + h_, units_, h);
  kernels.affine(at(gates_), state + recurrent_, state + gate_, false);
  kernels.cell(state + gate_, state + c_, state + next_c_, h, units_);
}

std::size_t DeployedNetwork::evaluate_head(const LaneKernels& kernels, float* state,
                                           std::size_t knob, const std::int32_t* action,
                                           std::uint32_t legal) const {
  const Head& head = heads_[knob];
  const float* choices[kMostKnobs];
  for (std::size_t j = 0; j < knob; ++j) {
    choices[j] =
        weights_.data() + head.choices[j] + static_cast<std::size_t>(action[j]) * head.hidden.rows;
  }
  return kernels.knob(
      {.hidden = at(head.hidden), .out = at(head.out), .choices = choices, .count = knob},
      state + recurrent_, state + head.logits_at, legal);
}

std::uint32_t DeployedNetwork::allowed_levels(std::size_t knob, const std::uint8_t* allowed) const {
  const Head& head = heads_[knob];
  const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << head.levels) - 1);
  if (allowed == nullptr) return all;
  std::uint32_t bits = 0;
  for (std::size_t level = 0; level < head.levels; ++level) {
    if (allowed[head.first_logit + level] != 0) bits |= std::uint32_t{1} << level;
  }
  return bits;
}

std::size_t DeployedNetwork::likeliest(const float* logits, std::uint32_t legal) const {
  auto best = static_cast<std::size_t>(std::countr_zero(legal));
  for (std::uint32_t rest = legal & (legal - 1); rest != 0; rest &= rest - 1) {
    const auto level = static_cast<std::size_t>(std::countr_zero(rest));
    if (logits[level] > logits[best]) best = level;
  }
  return best;
}

DecisionFault DeployedNetwork::decide(const LaneKernels& kernels, float* state,
                                      const float* observation, const MaskTree* rules,
                                      const std::uint8_t* allowed, std::int32_t* action) const {
  if (!kernels.normalise(observation, weights_.data() + shift_, weights_.data() + scale_, limit_,
                         state + input_, observations_)) {
    return DecisionFault::Observation;
  }
  const std::size_t knobs = heads_.size();
  std::uint32_t levels[kMostKnobs];  // that `allowed` allows
  for (std::size_t knob = 0; knob < knobs; ++knob) {
    levels[knob] = allowed_levels(knob, allowed);
    // Checked first: otherwise the search below would try all combinations of the earlier knobs.
    if (levels[knob] == 0) return DecisionFault::NoLegalAction;
  }
  advance(kernels, state);

  std::int32_t chosen[kMostKnobs] = {};
  std::uint32_t left[kMostKnobs];  // levels of a knob that may still be tried
  std::size_t node[kMostKnobs];
  const auto enter = [&](std::size_t knob) {
    left[knob] = levels[knob];
    if (rules != nullptr) {
      node[knob] = knob == 0 ? 0
                             : mask_child((*rules)[node[knob - 1]],
                                          static_cast<std::size_t>(chosen[knob - 1]));
      left[knob] &= (*rules)[node[knob]].levels;
    }
    if ((left[knob] & (left[knob] - 1)) != 0) {
      chosen[knob] =
          static_cast<std::int32_t>(evaluate_head(kernels, state, knob, chosen, left[knob]));
    } else {
      // A single legal level needs no logits.
      chosen[knob] = std::countr_zero(left[knob]);
      std::fill_n(state + heads_[knob].logits_at, heads_[knob].levels, 0.0F);
    }
  };
  enter(0);
  for (std::size_t knob = 0; knob < knobs;) {
    if (left[knob] == 0) {
      // `allowed` forbids all levels that the rules allow here: return to the previous choice.
      if (knob == 0) return DecisionFault::NoLegalAction;
      --knob;
      left[knob] &= ~(std::uint32_t{1} << static_cast<std::size_t>(chosen[knob]));
      if (left[knob] != 0) {
        const float* logits = state + heads_[knob].logits_at;
        chosen[knob] = static_cast<std::int32_t>(likeliest(logits, left[knob]));
      }
      continue;
    }
    if (++knob < knobs) enter(knob);
  }
  for (std::size_t knob = 0; knob < knobs; ++knob) action[knob] = chosen[knob];
  if (lstm_ > 0) {
    copy_lanes(state + recurrent_ + gates_.inputs - lstm_, units_, state + h_);
    copy_lanes(state + next_c_, units_, state + c_);
  }
  return DecisionFault::None;
}

void DeployedNetwork::last_logits(const float* state, std::span<float> out) const {
  for (const Head& head : heads_) {
    for (std::size_t level = 0; level < head.levels; ++level) {
      const std::size_t place = head.first_logit + level;
      if (place < out.size()) out[place] = state[head.logits_at + level];
    }
  }
}

}  // namespace cclgym
