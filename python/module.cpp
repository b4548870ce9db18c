// The extension module cclgym._core. Package cclgym is written around it in Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "core/error.hpp"
#include "env/gym/env_error.hpp"
#include "python/bindings.hpp"

namespace py = pybind11;

namespace cclgym::bindings {
namespace {

/// Class `name` of module `gymnasium.error`, if installed, as base class of exceptions.
py::object gymnasium_error(const char* name, PyObject* otherwise) {
  try {
    return py::module_::import("gymnasium.error").attr(name);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return py::reinterpret_borrow<py::object>(otherwise);
  }
}

}  // namespace
}  // namespace cclgym::bindings

PYBIND11_MODULE(_core, module) {
  using namespace cclgym;
  using namespace cclgym::bindings;
  module.doc() = "cclgym in C++; use package cclgym";
  module.attr("__version__") = CCLGYM_VERSION;
  py::register_exception<WorkLost>(module, "WorkLost", PyExc_RuntimeError);
  // The last exception registered is tried first.
  py::register_exception<UserError>(module, "UserError", PyExc_ValueError);
  py::register_exception<SimulationStalled>(module, "SimulationStalled", PyExc_RuntimeError);
  py::register_exception<InvalidMask>(module, "InvalidMask", PyExc_ValueError);
  py::register_exception<InvalidAction>(module, "InvalidAction",
                                        gymnasium_error("InvalidAction", PyExc_ValueError));
  py::register_exception<ResetNeeded>(module, "ResetNeeded",
                                      gymnasium_error("ResetNeeded", PyExc_RuntimeError));
  module.def("unknown_name", &unknown_name_message);
  bind_environments(module);
  bind_masks(module);
  bind_simulations(module);
  bind_programs(module);
  bind_batches(module);
  bind_policies(module);
}
