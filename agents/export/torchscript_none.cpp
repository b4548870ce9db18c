// Replaces torchscript_torch.cpp if LibTorch was not found.
#include "agents/export/torchscript.hpp"
#include "agents/network/policy_gradient.hpp"
#include "core/error.hpp"

namespace cclgym {

std::string torchscript_module(const PolicyWeights& /*weights*/,
                               const std::vector<PolicyRules>& /*rules*/) {
  throw UserError("cannot write TorchScript: " + training_library());
}

ScriptedCalls run_torchscript(const std::string& /*path*/, const std::string& /*rules*/,
                              std::span<const float> /*observations*/) {
  throw UserError("cannot read TorchScript: " + training_library());
}

}  // namespace cclgym
