// Draws under an action mask, without numpy's overhead.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "python/bindings.hpp"

namespace py = pybind11;

namespace cclgym::bindings {
namespace {

using Mask = py::array_t<std::int8_t, py::array::c_style>;
using Numbers = py::array_t<std::int64_t, py::array::c_style>;

/// Bytes of a mask that are 1, or -1 if one is neither 0 nor 1.
std::int64_t count_legal(const std::int8_t* mask, py::ssize_t length) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(mask);
  const auto size = static_cast<std::size_t>(length);
  std::uint8_t all = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    all |= bytes[i];
    count += bytes[i];
  }
  return all > 1 ? -1 : count;
}

/// Index of the byte that is 1 and has `skip` such bytes before it; -1 if there is none.
std::int64_t nth_legal(const std::int8_t* bytes, py::ssize_t size, std::int64_t skip) {
  py::ssize_t i = 0;
  const auto pass_runs = [&](auto run, const auto& count) {
    for (; i + run <= size; i += run) {
      const std::int64_t some = count(bytes + i);
      if (skip < some) return;
      skip -= some;
    }
  };
  constexpr py::ssize_t kLong = 64;
  pass_runs(kLong, [](const std::int8_t* run) {
    std::int64_t some = 0;
    for (py::ssize_t k = 0; k < kLong; ++k) some += run[k];
    return some;
  });
  pass_runs(py::ssize_t{8}, [](const std::int8_t* run) {
    std::uint64_t word = 0;
    std::memcpy(&word, run, sizeof word);
    // The product's highest byte is the sum of all bytes.
    return static_cast<std::int64_t>((word * 0x0101010101010101U) >> 56U);
  });
  for (; i < size; ++i) {
    if (bytes[i] != 0 && skip-- == 0) return i;
  }
  return -1;
}

/// count_legal of each row of a matrix of masks, and the least and the largest of these counts.
py::tuple count_legal_rows(const Mask& masks) {
  if (masks.ndim() != 2) throw py::value_error("count_legal_rows: expected a matrix of masks");
  Numbers counts(masks.shape(0));
  std::int64_t* const out = counts.mutable_data();
  for (py::ssize_t row = 0; row < masks.shape(0); ++row) {
    out[row] = count_legal(masks.data(row, 0), masks.shape(1));
  }
  const auto [least, most] = std::minmax_element(out, out + counts.size());
  return py::make_tuple(counts, *least, *most);
}

/// nth_legal of each row of a matrix of masks.
Numbers nth_legal_rows(const Mask& masks, const Numbers& skips) {
  if (masks.ndim() != 2 || skips.ndim() != 1 || skips.shape(0) != masks.shape(0)) {
    throw py::value_error("nth_legal_rows: expected a matrix of masks, and a number for each row");
  }
  Numbers found(masks.shape(0));
  std::int64_t* const out = found.mutable_data();
  for (py::ssize_t row = 0; row < masks.shape(0); ++row) {
    out[row] = nth_legal(masks.data(row, 0), masks.shape(1), skips.data()[row]);
  }
  return found;
}

}  // namespace

void bind_masks(py::module_& module) {
  module.def("count_legal", [](const Mask& mask) { return count_legal(mask.data(), mask.size()); });
  module.def("nth_legal", [](const Mask& mask, std::int64_t skip) {
    return nth_legal(mask.data(), mask.size(), skip);
  });
  module.def("count_legal_rows", &count_legal_rows);
  module.def("nth_legal_rows", &nth_legal_rows);
}

}  // namespace cclgym::bindings
