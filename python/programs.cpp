// The chunk DSL: programs that are traced in Python, compiled, verified and executed in C++.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <utility>
#include <vector>

#include "collectives/compiler/compile.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/program.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "python/bindings.hpp"
#include "python/python_fabric.hpp"

namespace py = pybind11;

namespace cclgym::bindings {
namespace {

Buffer buffer_named(const std::string& name) {
  for (const Buffer buffer : {Buffer::Input, Buffer::Output, Buffer::Scratch}) {
    if (to_string(buffer) == name) return buffer;
  }
  throw UserError(unknown_name_message("buffer", name, {"input", "output", "scratch"}));
}

/// A builder, shared by the references and scopes that Python keeps.
struct Tracer {
  explicit Tracer(std::string name, Contract contract)
      : builder(std::move(name), std::move(contract)) {}
  ProgramBuilder builder;
};

struct Chunk {
  std::shared_ptr<Tracer> tracer;
  ChunkRef reference;
};

OperationOptions operation_options(std::optional<int> channel) {
  OperationOptions options;
  if (channel) options.channel = *channel;
  return options;
}

/// The scope of `with program.parallelize(n):`.
class Scope {
 public:
  Scope(std::shared_ptr<Tracer> tracer, int instances, std::optional<int> first, int step)
      : tracer_(std::move(tracer)), instances_(instances), first_(first), step_(step) {}
  void enter() {
    ProgramBuilder& builder = tracer_->builder;
    if (first_) {
      open_.reset(new ParallelScope(builder.parallelize(instances_, *first_, step_)));
    } else {
      open_.reset(new ParallelScope(builder.parallelize(instances_)));
    }
  }
  void leave() { open_.reset(); }

 private:
  std::shared_ptr<Tracer> tracer_;
  int instances_;
  std::optional<int> first_;
  int step_;
  std::unique_ptr<ParallelScope> open_;
};

/// The outputs of a custom collective, by rank and index; a missing one may hold anything.
using Required = std::map<std::pair<int, int>, std::vector<std::pair<int, int>>>;

std::shared_ptr<Tracer> custom_tracer(const std::string& name, int ranks, std::vector<int> inputs,
                                      std::vector<int> outputs, const Required& required) {
  const auto post = [required](int rank, int index) -> std::optional<RequiredValue> {
    const auto found = required.find({rank, index});
    if (found == required.end()) return std::nullopt;
    RequiredValue value;
    for (const auto& [from, chunk] : found->second) value.push_back({from, chunk});
    std::ranges::sort(value);
    return value;
  };
  return std::make_shared<Tracer>(
      name, Contract::custom(name, ranks, std::move(inputs), std::move(outputs), post));
}

Compiled compile_traced(const Program& program, int instances, int slots, bool fuse,
                        bool share_blocks, bool keep_order, const std::string& policy) {
  CompileOptions options{.fuse = fuse,
                         .share_blocks = share_blocks,
                         .keep_order = keep_order,
                         .slots = slots,
                         .instances = instances};
  if (policy == "batched") {
    options.policy = InstancePolicy::Batched;
  } else if (policy != "interleaved") {
    throw UserError(unknown_name_message("policy", policy, {"interleaved", "batched"}));
  }
  const py::gil_scoped_release release;
  return {std::make_shared<const ThreadBlockProgram>(compile(program, options))};
}

std::vector<std::string> problems_of(const ThreadBlockProgram& program, int slots) {
  const py::gil_scoped_release release;
  return verify(program, {.slots = slots}).problems;
}

std::vector<std::string> problems_executing(const ThreadBlockProgram& program, int interleavings,
                                            std::uint64_t seed, int slots) {
  const py::gil_scoped_release release;
  return execute(program, {.interleavings = interleavings, .seed = seed, .slots = slots}).problems;
}

std::string xml_of(const ThreadBlockProgram& program, const std::string& protocol,
                   const std::string& dialect) {
  XmlSettings settings;
  settings.protocol = protocol;
  const auto found = parse_xml_dialect(dialect);
  if (!found) throw UserError(unknown_name_message("dialect", dialect, {"microsoft", "azure"}));
  settings.dialect = *found;
  return to_msccl_xml(program, settings);
}

}  // namespace

void bind_programs(py::module_& module) {
  py::class_<Tracer, std::shared_ptr<Tracer>>(module, "Tracer")
      .def("chunk",
           [](const std::shared_ptr<Tracer>& self, int rank, const std::string& buffer, int index,
              int count) {
             return Chunk{self, self->builder.chunk(rank, buffer_named(buffer), index, count)};
           })
      .def("parallelize",
           [](const std::shared_ptr<Tracer>& self, int instances, std::optional<int> first,
              int step) { return std::make_unique<Scope>(self, instances, first, step); })
      .def("next_kernel", [](Tracer& self) { self.builder.next_kernel(); })
      .def("gate", [](Tracer& self, int rank, int after) { self.builder.gate(rank, after); })
      .def("finish", [](Tracer& self) { return self.builder.finish(); });
  module.def("tracer", [](const std::string& name, const std::string& collective, int ranks,
                          int chunks, bool in_place, int root) {
    return std::make_shared<Tracer>(
        name, Contract::make(collective_named(collective, {}), ranks, chunks, in_place, root));
  });
  module.def("custom_tracer", &custom_tracer);
  py::class_<Chunk>(module, "Chunk")
      .def_property_readonly("rank", [](const Chunk& self) { return self.reference.rank(); })
      .def_property_readonly(
          "buffer",
          [](const Chunk& self) { return std::string(to_string(self.reference.buffer())); })
      .def_property_readonly("index", [](const Chunk& self) { return self.reference.index(); })
      .def_property_readonly("count", [](const Chunk& self) { return self.reference.count(); })
      .def(
          "copy",
          [](const Chunk& self, int rank, const std::string& buffer, int index,
             std::optional<int> channel) {
            return Chunk{self.tracer, self.reference.copy(rank, buffer_named(buffer), index,
                                                          operation_options(channel))};
          },
          py::arg("rank"), py::arg("buffer"), py::arg("index"), py::kw_only(),
          py::arg("channel") = py::none())
      .def(
          "reduce",
          [](const Chunk& self, const Chunk& other, std::optional<int> channel) {
            return Chunk{self.tracer,
                         self.reference.reduce(other.reference, operation_options(channel))};
          },
          py::arg("other"), py::kw_only(), py::arg("channel") = py::none());
  py::class_<Scope>(module, "Scope")
      .def("__enter__", &Scope::enter)
      .def("__exit__", [](Scope& self, const py::args&) { self.leave(); });
  py::class_<Program>(module, "TracedProgram")
      .def_readonly("name", &Program::name)
      .def("operations",
           [](const Program& self) {
             std::vector<std::string> lines;
             for (const Operation& operation : self.operations)
               lines.push_back(describe(operation));
             return lines;
           })
      .def("problems", [](const Program& self) { return verify(self).problems; })
      .def("compile", &compile_traced);
  py::class_<Compiled>(module, "CompiledProgram")
      .def_property_readonly("name", [](const Compiled& self) { return self.program->name; })
      .def_property_readonly("ranks",
                             [](const Compiled& self) { return self.program->contract.ranks(); })
      .def_property_readonly("channels",
                             [](const Compiled& self) { return self.program->channels; })
      .def_property_readonly("thread_blocks",
                             [](const Compiled& self) { return self.program->thread_blocks(); })
      .def_property_readonly("instructions",
                             [](const Compiled& self) { return self.program->instructions(); })
      .def("problems",
           [](const Compiled& self, int slots) { return problems_of(*self.program, slots); })
      .def("problems_executing",
           [](const Compiled& self, int interleavings, std::uint64_t seed, int slots) {
             return problems_executing(*self.program, interleavings, seed, slots);
           })
      .def("xml",
           [](const Compiled& self, const std::string& protocol, const std::string& dialect) {
             return xml_of(*self.program, protocol, dialect);
           });
  module.def("read_program", [](const std::string& path) {
    return Compiled{std::make_shared<const ThreadBlockProgram>(read_msccl_xml_file(path).program)};
  });
}

}  // namespace cclgym::bindings
