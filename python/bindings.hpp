// The parts of the extension module cclgym._core.
#pragma once

#include <pybind11/pybind11.h>

namespace cclgym::bindings {

void bind_environments(pybind11::module_& module);
void bind_masks(pybind11::module_& module);
void bind_simulations(pybind11::module_& module);
void bind_programs(pybind11::module_& module);
void bind_policies(pybind11::module_& module);
void bind_batches(pybind11::module_& module);

}  // namespace cclgym::bindings
