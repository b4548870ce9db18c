// Trained policies in plain code, from policy files (deploy/runtime/policy_runtime.h).
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "deploy/runtime/policy_runtime.h"
#include "python/bindings.hpp"

namespace py = pybind11;

namespace cclgym::bindings {
namespace {

using PolicyPointer = std::shared_ptr<cclgym_policy>;

/// pybind11 cannot name the C type, which is incomplete. The file's bytes are kept for pickles.
struct PythonPolicy {
  PolicyPointer policy;
  std::string file;
};

PythonPolicy load_policy(const std::string& path) {
  std::array<char, 512> error{};
  cclgym_policy* policy = nullptr;
  if (cclgym_policy_load(path.c_str(), &policy, error.data(), error.size()) != CCLGYM_POLICY_OK) {
    throw UserError(error.data());
  }
  PolicyPointer owner(policy, &cclgym_policy_free);
  constexpr std::size_t kLargestFile = std::size_t{1} << 30;
  return {std::move(owner), read_text_file(path, kLargestFile)};
}

PythonPolicy parse_policy(const py::bytes& bytes) {
  std::array<char, 512> error{};
  cclgym_policy* policy = nullptr;
  auto file = static_cast<std::string>(bytes);
  if (cclgym_policy_parse(file.data(), file.size(), &policy, error.data(), error.size()) !=
      CCLGYM_POLICY_OK) {
    throw UserError(error.data());
  }
  return {PolicyPointer(policy, &cclgym_policy_free), std::move(file)};
}

/// A stream of calls, with the state of the policy's memory.
class PolicyStream {
 public:
  explicit PolicyStream(PolicyPointer policy)
      : policy_(std::move(policy)),
        state_(cclgym_policy_state_bytes(policy_.get()) / sizeof(std::max_align_t) + 1) {
    (void)cclgym_policy_state_init(policy_.get(), state_.data(), bytes());
  }

  std::vector<std::int32_t> decide(
      const py::array_t<float, py::array::c_style | py::array::forcecast>& observation, int rules,
      const std::optional<py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>>&
          allowed) {
    std::vector<std::int32_t> action(cclgym_policy_knobs(policy_.get()));
    const int status = cclgym_policy_decide(
        policy_.get(), state_.data(), observation.data(),
        static_cast<std::size_t>(observation.size()), rules, allowed ? allowed->data() : nullptr,
        allowed ? static_cast<std::size_t>(allowed->size()) : 0, action.data(), action.size());
    if (status == CCLGYM_POLICY_OK) return action;
    throw UserError(status == CCLGYM_POLICY_BAD_OBSERVATION
                        ? "the observation has a number that is not finite"
                    : status == CCLGYM_POLICY_NO_LEGAL_ACTION
                        ? "the masks forbid all actions"
                        : "the observation, the rules or the mask have another size than the "
                          "policy's");
  }
  /// The bytes of the memory, for pickles.
  [[nodiscard]] py::bytes state() const {
    return {reinterpret_cast<const char*>(state_.data()), bytes()};
  }
  void set_state(const py::bytes& state) {
    const auto text = static_cast<std::string>(state);
    if (text.size() != bytes()) throw UserError("the state is not one of this policy's streams");
    std::memcpy(state_.data(), text.data(), text.size());
  }
  [[nodiscard]] std::vector<float> logits() const {
    std::vector<float> values(cclgym_policy_logits(policy_.get(), state_.data(), nullptr, 0));
    (void)cclgym_policy_logits(policy_.get(), state_.data(), values.data(), values.size());
    return values;
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return state_.size() * sizeof(std::max_align_t); }

  PolicyPointer policy_;
  std::vector<std::max_align_t> state_;
};

std::vector<std::string> feature_names(const PythonPolicy& self) {
  const PolicyPointer& policy = self.policy;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cclgym_policy_observation_size(policy.get()); ++i) {
    names.emplace_back(cclgym_policy_feature_name(policy.get(), i));
  }
  return names;
}

py::dict knobs_of(const PythonPolicy& self) {
  const PolicyPointer& policy = self.policy;
  py::dict knobs;
  for (std::size_t knob = 0; knob < cclgym_policy_knobs(policy.get()); ++knob) {
    std::vector<std::string> levels;
    for (std::size_t level = 0; level < cclgym_policy_levels(policy.get(), knob); ++level) {
      levels.emplace_back(cclgym_policy_level_name(policy.get(), knob, level));
    }
    knobs[py::str(cclgym_policy_knob_name(policy.get(), knob))] = levels;
  }
  return knobs;
}

std::vector<std::string> rules_of(const PythonPolicy& self) {
  const PolicyPointer& policy = self.policy;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cclgym_policy_rules_count(policy.get()); ++i) {
    names.emplace_back(cclgym_policy_rules_name(policy.get(), i));
  }
  return names;
}

}  // namespace

void bind_policies(py::module_& module) {
  py::class_<PythonPolicy>(module, "Policy")
      .def("feature_names", &feature_names)
      .def("knobs", &knobs_of)
      .def("rules", &rules_of)
      .def("provenance",
           [](const PythonPolicy& self) {
             return std::string(cclgym_policy_provenance(self.policy.get()));
           })
      .def("file", [](const PythonPolicy& self) { return py::bytes(self.file); })
      .def("stream", [](const PythonPolicy& self) { return PolicyStream(self.policy); });
  py::class_<PolicyStream>(module, "PolicyStream")
      .def("decide", &PolicyStream::decide)
      .def("state", &PolicyStream::state)
      .def("set_state", &PolicyStream::set_state)
      .def("logits", &PolicyStream::logits);
  module.def("policy", &load_policy);
  module.def("parse_policy", &parse_policy);
}

}  // namespace cclgym::bindings
