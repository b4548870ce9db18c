// Replaces policy_gradient_torch.cpp if LibTorch was not found.
#include "agents/network/policy_gradient.hpp"
#include "core/error.hpp"

namespace cclgym {

bool training_available() { return false; }

std::string training_library() {
  return "this build has no LibTorch: run scripts/setup agents (libtorch-dev, libopenblas-dev), "
         "then configure and build again";
}

PolicyGradient policy_gradient(const PolicyWeights& /*weights*/, const SequenceBatch& /*batch*/,
                               const LossOptions& /*options*/, std::size_t /*threads*/) {
  throw UserError("training is not possible: " + training_library());
}

PolicyOutputs policy_outputs(const PolicyWeights& /*weights*/, const SequenceBatch& /*batch*/) {
  throw UserError("training is not possible: " + training_library());
}

}  // namespace cclgym
