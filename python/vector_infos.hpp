// Infos of a vector of environments as arrays by name, as Gymnasium arranges them.
#pragma once

#include <cmath>
#include <cstddef>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <vector>

#include "env/gym/vector_env.hpp"

namespace cclgym::bindings {

/// Infos of the last reset or step, or with `final` those of the episodes that it ended, which the
/// other environments lack. Returns the numbers of the names that some environment has, then two
/// arrays of shape (these names, environments): values, 0 where an environment has none, and bools
/// that tell which environments have one.
inline pybind11::tuple infos_of(const VectorEnv& vector, bool final) {
  const VectorBuffers& results = vector.results();
  const std::vector<double>& rows = final ? results.final_infos : results.infos;
  const std::size_t count = vector.size();
  const std::size_t names = vector.single_spec().info_names.size();
  const auto has = [&](std::size_t environment, std::size_t name) {
    return (!final || results.finished[environment] != 0) &&
           !std::isnan(rows[environment * names + name]);
  };
  pybind11::list kept;
  std::vector<std::size_t> numbers;
  for (std::size_t name = 0; name < names; ++name) {
    std::size_t environment = 0;
    while (environment < count && !has(environment, name)) ++environment;
    if (environment == count) continue;
    kept.append(name);
    numbers.push_back(name);
  }
  const std::vector<pybind11::ssize_t> shape{static_cast<pybind11::ssize_t>(numbers.size()),
                                             static_cast<pybind11::ssize_t>(count)};
  pybind11::array_t<double> values(shape);
  pybind11::array_t<bool> have(shape);
  double* value = values.mutable_data();
  bool* there = have.mutable_data();
  for (const std::size_t name : numbers) {
    for (std::size_t environment = 0; environment < count; ++environment) {
      *there = has(environment, name);
      *value++ = *there++ ? rows[environment * names + name] : 0.0;
    }
  }
  return pybind11::make_tuple(kept, values, have);
}

}  // namespace cclgym::bindings
