// The functions of the algorithm library for shipped algorithms, by name.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/library/algorithm_library.hpp"

namespace cclgym {

inline const std::vector<AlgorithmEntry>& shipped_algorithms() {
  return AlgorithmLibrary::shipped().entries();
}
inline const AlgorithmEntry& shipped_algorithm(std::string_view name) {
  return AlgorithmLibrary::shipped().at(name);
}
inline std::optional<std::string> check_ranks(std::string_view name, int ranks) {
  return check_ranks(shipped_algorithm(name), ranks);
}
inline std::shared_ptr<const ThreadBlockProgram> build_algorithm(std::string_view name,
                                                                 const AlgorithmRequest& request) {
  return build_algorithm(shipped_algorithm(name), request);
}
inline Program trace_algorithm(std::string_view name, const AlgorithmRequest& request) {
  return trace_algorithm(shipped_algorithm(name), request);
}
inline std::optional<ProgramOutline> outline_algorithm(std::string_view name,
                                                       const AlgorithmRequest& request) {
  return outline_algorithm(shipped_algorithm(name), request);
}
inline int thread_blocks_per_gpu(std::string_view name, const AlgorithmRequest& request) {
  return thread_blocks_per_gpu(shipped_algorithm(name), request);
}
inline CompileOptions deployed_compile_options(std::string_view name) {
  return deployed_compile_options(shipped_algorithm(name));
}

}  // namespace cclgym
