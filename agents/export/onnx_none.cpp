// Replaces onnx_protobuf.cpp if ONNX was not found.
#include "agents/export/onnx_model.hpp"
#include "core/error.hpp"

namespace cclgym {

void need_onnx() {
  throw UserError(
      "cannot write ONNX: this build has no ONNX: run scripts/setup onnx (libonnx-dev, "
      "libprotobuf-dev), then configure and build again");
}

std::string onnx_model(const PolicyWeights& /*weights*/,
                       const std::vector<PolicyRules>& /*rules*/) {
  need_onnx();
  return {};
}

}  // namespace cclgym
