// A direct link between two GPUs of a node.
#pragma once

namespace cclgym {

/// Two GPUs of a node with a direct link of `units` units.
struct GpuPair {
  int a;
  int b;
  int units;
};

}  // namespace cclgym
