// Environments and vector environments with numpy arrays on their buffers. cclgym/*.py adds the
// rest of Gymnasium's API.
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <optional>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

#include "core/limits/memory_limit.hpp"
#include "env/gym/threaded_vector_env.hpp"
#include "env/gym/wrappers/wrapper_registry.hpp"
#include "env/registry.hpp"
#include "python/bindings.hpp"
#include "python/history.hpp"
#include "python/vector_infos.hpp"

namespace py = pybind11;

namespace cclgym::bindings {
namespace {

using Actions = py::array_t<std::int64_t, py::array::c_style>;

/// Describes a space as nested tuples, from which Python builds its own.
py::tuple describe(const Space& space) {
  const auto& kind = space.kind();
  if (const auto* box = std::get_if<Box>(&kind)) {
    return py::make_tuple("Box", box->low(), box->high(), py::tuple(py::cast(box->shape())));
  }
  if (const auto* discrete = std::get_if<Discrete>(&kind)) {
    return py::make_tuple("Discrete", discrete->n, discrete->start);
  }
  if (std::holds_alternative<MultiDiscrete>(kind)) {
    std::vector<std::int32_t> sizes;
    std::vector<std::int32_t> starts;
    for (const Discrete& dimension : space.dimensions()) {
      sizes.push_back(dimension.n);
      starts.push_back(dimension.start);
    }
    return py::make_tuple("MultiDiscrete", sizes, starts);
  }
  py::list entries;
  for (const auto& [name, entry] : std::get<Dict>(kind).entries) {
    entries.append(py::make_tuple(name, describe(entry)));
  }
  return py::make_tuple("Dict", entries);
}

/// Wraps memory that `owner` keeps alive in an array of `type`.
template <class Number>
py::array view(const std::vector<Number>& numbers, std::vector<py::ssize_t> shape, py::handle owner,
               const char* type) {
  return py::array(py::dtype(type), std::move(shape), numbers.data(), owner);
}

YamlValue parsed(const std::optional<std::string>& json, const char* what) {
  return json ? parse_yaml(*json, what) : YamlValue();
}

/// An integer of an action. Throws InvalidAction if it is too large for one.
std::int32_t narrowed(std::int64_t value, const EnvironmentSpec& spec) {
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidAction(
        fmt::format("{}: {} is not in {}", spec.name, value, spec.action_space.text()));
  }
  return static_cast<std::int32_t>(value);
}

/// Copies actions from Python's integers into int32.
void narrow(const Actions& from, const EnvironmentSpec& spec, std::vector<std::int32_t>& to) {
  to.resize(static_cast<std::size_t>(from.size()));
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = narrowed(from.data()[i], spec);
}

void describe(py::object& self, const EnvironmentSpec& spec) {
  self.attr("name") = spec.name;
  self.attr("observation_space") = describe(spec.observation_space);
  self.attr("action_space") = describe(spec.action_space);
  self.attr("has_action_mask") = spec.has_action_mask;
  self.attr("info_names") = spec.info_names;
  self.attr("warnings") = spec.warnings;
}

EnvironmentMaker maker(const std::string& name, const std::optional<std::string>& options,
                       const std::optional<std::string>& wrappers) {
  return [make = environment_maker(name, parsed(options, "options")),
          list = parsed(wrappers, "wrappers")] { return wrap_environment(make(), list); };
}

class PythonEnvironment {
 public:
  explicit PythonEnvironment(EnvironmentMaker make)
      : make_(std::move(make)),
        environment_(make_()),
        buffers_(spec()),
        history_(1, !spec().keeps_statistics) {}

  [[nodiscard]] const EnvironmentSpec& spec() const { return environment_->spec(); }
  [[nodiscard]] const OwnedBuffers& buffers() const { return buffers_; }

  void reset(std::optional<std::uint64_t> seed, const std::optional<std::string>& options) {
    History::Reset one{{seed}, {}, options};
    history_.complete(one);
    carry_out(one);
    history_.add(one);
  }
  py::tuple step(const Actions& action) {
    narrow(action, spec(), action_);
    return step();
  }
  /// A step with an action of one integer: as step(), without an array.
  py::tuple step_number(std::int64_t action) {
    action_.resize(1);
    action_[0] = narrowed(action, spec());
    return step();
  }

  /// Another environment of the same maker, which shares its cache of times, in the same state.
  [[nodiscard]] std::unique_ptr<PythonEnvironment> twin() const {
    auto other = std::make_unique<PythonEnvironment>(make_);
    other->history_ = history_;
    other->repeat();
    return other;
  }
  [[nodiscard]] py::tuple snapshot() const { return history_.state(); }
  void restore(const py::tuple& state) {
    history_.set_state(state, spec().action_space.size());
    repeat();
  }
  py::array conditional_mask(const Actions& prefix) {
    narrow(prefix, spec(), action_);
    return mask_of(spec(), action_, [&](std::span<std::uint8_t> out) {
      environment_->conditional_mask(buffers_.action_mask, action_, out);
    });
  }

  std::string describe_action(const Actions& action) {
    narrow(action, spec(), action_);
    return environment_->describe_action(action_);
  }

  template <class Function>
  static py::array mask_of(const EnvironmentSpec& spec, const std::vector<std::int32_t>& prefix,
                           Function function) {
    const auto dimensions = spec.action_space.dimensions();
    if (prefix.size() >= dimensions.size()) {
      throw InvalidAction(fmt::format("{}: after {} numbers, an action of {} has none left",
                                      spec.name, prefix.size(), spec.action_space.text()));
    }
    for (std::size_t i = 0; i < prefix.size(); ++i) {
      if (prefix[i] < dimensions[i].start || prefix[i] - dimensions[i].start >= dimensions[i].n) {
        throw_invalid_action(spec, prefix, "is not the beginning of an action");
      }
    }
    py::array_t<std::int8_t> mask(dimensions[prefix.size()].n);
    function(std::span(reinterpret_cast<std::uint8_t*>(mask.mutable_data()),
                       static_cast<std::size_t>(mask.size())));
    return mask;
  }

 private:
  void carry_out(const History::Reset& one) {
    const YamlValue values = parsed(one.options, "options");
    const py::gil_scoped_release release;
    environment_->reset(one.seeds[0], values, buffers_.view());
  }
  // Only steps that were carried out are in the history: a refused one changes nothing.
  py::tuple step() {
    StepOutcome outcome;
    {
      const py::gil_scoped_release release;
      outcome = environment_->step(action_, buffers_.view());
      history_.add(action_);
    }
    return py::make_tuple(outcome.reward, outcome.terminated, outcome.truncated);
  }
  void repeat() {
    history_.replay(
        spec().action_space.size(), [&](const History::Reset& one) { carry_out(one); },
        [&](std::span<const std::int32_t> action) {
          (void)environment_->step(action, buffers_.view());
        });
  }

  EnvironmentMaker make_;
  std::unique_ptr<Environment> environment_;
  OwnedBuffers buffers_;
  std::vector<std::int32_t> action_;
  History history_;
};

class PythonVectorEnvironment {
 public:
  using Maker = std::function<std::unique_ptr<VectorEnv>()>;
  explicit PythonVectorEnvironment(Maker make)
      : make_(std::move(make)),
        vector_(make_()),
        history_(vector_->size(), !spec().keeps_statistics) {}

  [[nodiscard]] const VectorEnv& vector() const { return *vector_; }
  [[nodiscard]] const EnvironmentSpec& spec() const { return vector_->single_spec(); }

  void reset(const Seeds& seeds, const std::optional<std::string>& options) {
    reset_some(std::nullopt, seeds, options);
  }
  void reset_some(const std::optional<std::vector<bool>>& mask, const Seeds& seeds,
                  const std::optional<std::string>& options) {
    History::Reset one{seeds, mask, options};
    history_.complete(one);
    carry_out(one);
    history_.add(one);
  }
  // A step that one environment refuses is in the history: the others have stepped. Returns true if
  // a row of the results is that of an episode's last step (VectorBuffers::finished).
  bool step(const Actions& actions) {
    narrow(actions, spec(), actions_);
    const py::gil_scoped_release release;
    const bool whole = actions_.size() == width();
    if (whole && started_) history_.add(actions_);
    vector_->step(actions_);
    const auto& finished = vector_->results().finished;
    return std::ranges::find(finished, std::uint8_t{1}) != finished.end();
  }
  /// infos_of() the results.
  [[nodiscard]] py::tuple infos(bool final) const { return infos_of(*vector_, final); }

  [[nodiscard]] std::unique_ptr<PythonVectorEnvironment> twin() const {
    auto other = std::make_unique<PythonVectorEnvironment>(make_);
    other->history_ = history_;
    other->repeat();
    return other;
  }
  [[nodiscard]] py::tuple snapshot() const { return history_.state(); }
  void restore(const py::tuple& state) {
    history_.set_state(state, width());
    repeat();
  }
  py::array conditional_mask(std::size_t environment, const Actions& prefix) {
    if (environment >= vector_->size())
      throw py::index_error("the environment's index is out of range");
    narrow(prefix, spec(), prefix_);
    return PythonEnvironment::mask_of(spec(), prefix_, [&](std::span<std::uint8_t> out) {
      vector_->conditional_mask(environment, prefix_, out);
    });
  }
  std::string describe_action(const Actions& action) {
    narrow(action, spec(), prefix_);
    return vector_->describe_action(prefix_);
  }

 private:
  [[nodiscard]] std::size_t width() const { return vector_->size() * spec().action_space.size(); }
  void carry_out(const History::Reset& one) {
    const YamlValue values = parsed(one.options, "options");
    const py::gil_scoped_release release;
    if (one.mask) {
      vector_->reset_some(std::vector<std::uint8_t>(one.mask->begin(), one.mask->end()), one.seeds,
                          values);
    } else {
      vector_->reset(one.seeds, values);
    }
    started_ = true;
  }
  void repeat() {
    history_.replay(
        width(), [&](const History::Reset& one) { carry_out(one); },
        [&](std::span<const std::int32_t> actions) {
          try {
            vector_->step(actions);
          } catch (const std::exception&) {  // as the first time
          }
        });
  }

  Maker make_;
  std::unique_ptr<VectorEnv> vector_;
  History history_;
  bool started_ = false;
  std::vector<std::int32_t> actions_;
  std::vector<std::int32_t> prefix_;
};

/// Throws ResourceError if the memory is too small for the buffers of so many environments.
void require_room_for(std::size_t environments, const EnvironmentSpec& spec) {
  const std::size_t results = spec.observation_space.size() * sizeof(float) +
                              spec.action_space.mask_size() +
                              spec.info_names.size() * sizeof(double);
  // Results are kept twice: those of the last step of an episode, too.
  const std::size_t each = 2 * results + sizeof(EnvironmentMaker) + sizeof(Environment);
  require_memory(static_cast<double>(environments) * static_cast<double>(each),
                 fmt::format("num_envs {}: the vector of {}", environments, spec.name),
                 "fewer environments need less");
}

PythonVectorEnvironment::Maker vector_maker(const std::string& name,
                                            const std::optional<std::string>& options,
                                            const std::optional<std::string>& wrappers,
                                            std::size_t environments, std::size_t workers,
                                            const std::string& autoreset) {
  for (const Autoreset mode : {Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled}) {
    if (to_string(mode) != autoreset) continue;
    const EnvironmentMaker make = maker(name, options, wrappers);
    require_room_for(environments, make()->spec());
    const auto makers = same_makers(environments, make);
    return [makers, workers, mode]() -> std::unique_ptr<VectorEnv> {
      if (workers == 0) return std::make_unique<SyncVectorEnv>(makers, mode);
      return std::make_unique<ThreadedVectorEnv>(makers, workers, mode);
    };
  }
  throw UserError(
      unknown_name_message("autoreset_mode", autoreset, {"NextStep", "SameStep", "Disabled"}));
}

/// The environment, and arrays on its buffers. These are not attributes of the object, since they
/// keep it alive.
py::tuple with_views(std::unique_ptr<PythonEnvironment> made) {
  py::object self = py::cast(std::move(made));
  auto& environment = self.cast<PythonEnvironment&>();
  describe(self, environment.spec());
  const OwnedBuffers& buffers = environment.buffers();
  const auto shape = [](const auto& numbers) {
    return std::vector<py::ssize_t>{static_cast<py::ssize_t>(numbers.size())};
  };
  return py::make_tuple(self, view(buffers.observation, shape(buffers.observation), self, "f4"),
                        view(buffers.action_mask, shape(buffers.action_mask), self, "i1"),
                        view(buffers.info, shape(buffers.info), self, "f8"));
}

py::tuple with_views(std::unique_ptr<PythonVectorEnvironment> made) {
  py::object self = py::cast(std::move(made));
  const VectorEnv& vector = self.cast<PythonVectorEnvironment&>().vector();
  describe(self, vector.single_spec());
  const VectorBuffers& buffers = vector.results();
  py::dict views;
  const auto add = [&](const char* key, const auto& numbers, const char* type) {
    const auto rows = static_cast<py::ssize_t>(vector.size());
    const auto columns = static_cast<py::ssize_t>(numbers.size()) / rows;
    views[key] = view(numbers, {rows, columns}, self, type);
  };
  const auto add_flat = [&](const char* key, const auto& numbers, const char* type) {
    views[key] = view(numbers, {static_cast<py::ssize_t>(numbers.size())}, self, type);
  };
  add("observations", buffers.observations, "f4");
  add("action_masks", buffers.action_masks, "i1");
  add("infos", buffers.infos, "f8");
  add("final_observations", buffers.final_observations, "f4");
  add("final_action_masks", buffers.final_action_masks, "i1");
  add("final_infos", buffers.final_infos, "f8");
  add_flat("rewards", buffers.rewards, "f8");
  add_flat("terminated", buffers.terminated, "?");
  add_flat("truncated", buffers.truncated, "?");
  add_flat("finished", buffers.finished, "?");
  return py::make_tuple(self, views);
}

}  // namespace

void bind_environments(py::module_& module) {
  py::class_<PythonEnvironment>(module, "Environment", py::dynamic_attr())
      .def("reset", &PythonEnvironment::reset)
      .def("step", py::overload_cast<const Actions&>(&PythonEnvironment::step))
      .def("step_number", &PythonEnvironment::step_number)
      .def("conditional_mask", &PythonEnvironment::conditional_mask)
      .def("describe_action", &PythonEnvironment::describe_action)
      .def("twin", [](const PythonEnvironment& self) { return with_views(self.twin()); })
      .def("snapshot", &PythonEnvironment::snapshot)
      .def("restore", &PythonEnvironment::restore);
  module.def("make", [](const std::string& name, const std::optional<std::string>& options,
                        const std::optional<std::string>& wrappers) {
    std::unique_ptr<PythonEnvironment> made;
    {
      const py::gil_scoped_release release;
      made = std::make_unique<PythonEnvironment>(maker(name, options, wrappers));
    }
    return with_views(std::move(made));
  });
  py::class_<PythonVectorEnvironment>(module, "VectorEnvironment", py::dynamic_attr())
      .def("reset", &PythonVectorEnvironment::reset)
      .def("reset_some", &PythonVectorEnvironment::reset_some)
      .def("step", &PythonVectorEnvironment::step)
      .def("infos", &PythonVectorEnvironment::infos)
      .def("conditional_mask", &PythonVectorEnvironment::conditional_mask)
      .def("describe_action", &PythonVectorEnvironment::describe_action)
      .def("twin", [](const PythonVectorEnvironment& self) { return with_views(self.twin()); })
      .def("snapshot", &PythonVectorEnvironment::snapshot)
      .def("restore", &PythonVectorEnvironment::restore);
  module.def("make_vector", [](const std::string& name, const std::optional<std::string>& options,
                               const std::optional<std::string>& wrappers, std::size_t environments,
                               std::size_t workers, const std::string& autoreset) {
    std::unique_ptr<PythonVectorEnvironment> made;
    {
      const py::gil_scoped_release release;
      made = std::make_unique<PythonVectorEnvironment>(
          vector_maker(name, options, wrappers, environments, workers, autoreset));
    }
    return with_views(std::move(made));
  });
  module.def("environments", [] {
    py::dict entries;
    for (const EnvironmentEntry& entry : environment_entries()) {
      entries[py::str(entry.name)] = entry.description;
    }
    return entries;
  });
  module.def("wrappers", [] {
    py::dict entries;
    for (const WrapperEntry& entry : wrapper_entries()) {
      entries[py::str(entry.name)] = entry.description;
    }
    return entries;
  });
}

}  // namespace cclgym::bindings
