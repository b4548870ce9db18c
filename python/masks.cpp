// Draws under an action mask, without numpy's overhead.
#include <cstdint>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "python/bindings.hpp"

namespace py = pybind11;

namespace cclgym::bindings {
namespace {

/// Bytes of a mask that are 1, or -1 if one is neither 0 nor 1.
std::int64_t count_legal(const py::array_t<std::int8_t, py::array::c_style>& mask) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(mask.data());
  const auto size = static_cast<std::size_t>(mask.size());
  std::uint8_t all = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    all |= bytes[i];
    count += bytes[i];
  }
  return all > 1 ? -1 : count;
}

/// Index of the byte that is 1 and has `skip` such bytes before it; -1 if there is none.
std::int64_t nth_legal(const py::array_t<std::int8_t, py::array::c_style>& mask,
                       std::int64_t skip) {
  const std::int8_t* const bytes = mask.data();
  const py::ssize_t size = mask.size();
  constexpr py::ssize_t kRun = 64;
  py::ssize_t i = 0;
  for (; i + kRun <= size; i += kRun) {
    std::int64_t some = 0;
    for (py::ssize_t k = 0; k < kRun; ++k) some += bytes[i + k];
    if (skip < some) break;
    skip -= some;
  }
  for (; i < size; ++i) {
    if (bytes[i] != 0 && skip-- == 0) return i;
  }
  return -1;
}

}  // namespace

void bind_masks(py::module_& module) {
  module.def("count_legal", &count_legal);
  module.def("nth_legal", &nth_legal);
}

}  // namespace cclgym::bindings
