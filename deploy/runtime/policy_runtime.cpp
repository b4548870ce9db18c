// The C functions. They check their arguments and turn exceptions into statuses.
#include "deploy/runtime/policy_runtime.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "deploy/runtime/deployed_network.hpp"

using cclgym::DeployedNetwork;
using cclgym::MaskTree;
using cclgym::PolicyFile;
using cclgym::PolicyFileTable;
using cclgym::PolicyFileText;
using cclgym::UserError;

struct cclgym_policy {  // NOLINT(readability-identifier-naming): the C interface's name
  DeployedNetwork network;
  const cclgym::LaneKernels* kernels;
  std::vector<std::string> features;
  std::vector<std::string> knobs;
  std::vector<std::vector<std::string>> levels;
  std::vector<std::string> rules;  ///< "MACHINE/COLLECTIVE"
  std::vector<MaskTree> trees;
  std::string provenance;
};

namespace {

constexpr std::string_view kMaskRecord = "masks/";

std::vector<std::string> lines_of(const PolicyFile& file, const std::string& record,
                                  std::size_t expected, const std::string& name) {
  const PolicyFileText* text = file.text(record);
  if (text == nullptr) throw UserError(name + ": text '" + record + "' is missing");
  std::vector<std::string> lines;
  std::string_view rest = text->text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (lines.size() != expected) {
    throw UserError(name + ": text '" + record + "' has " + std::to_string(lines.size()) +
                    " lines; expected " + std::to_string(expected));
  }
  return lines;
}

std::unique_ptr<cclgym_policy> make_policy(std::string_view bytes, const std::string& name) {
  const PolicyFile file = cclgym::parse_policy(bytes, name);
  auto policy =
      std::unique_ptr<cclgym_policy>(new cclgym_policy{.network = DeployedNetwork(file, name),
                                                       .kernels = &cclgym::lane_kernels(),
                                                       .features = {},
                                                       .knobs = {},
                                                       .levels = {},
                                                       .rules = {},
                                                       .trees = {},
                                                       .provenance = {}});
  const DeployedNetwork& network = policy->network;
  policy->features = lines_of(file, "features", network.observations(), name);
  policy->knobs = lines_of(file, "knobs", network.knobs(), name);
  std::vector<std::size_t> counts;
  for (std::size_t knob = 0; knob < network.knobs(); ++knob) {
    counts.push_back(network.levels(knob));
    policy->levels.push_back(
        lines_of(file, "levels." + std::to_string(knob), network.levels(knob), name));
  }
  for (const PolicyFileTable& table : file.tables) {
    if (!table.name.starts_with(kMaskRecord)) continue;
    std::string fault;
    policy->trees.push_back(cclgym::read_mask_tree(table.values, counts, fault));
    if (!fault.empty()) throw UserError(name + ": table '" + table.name + "': " + fault);
    policy->rules.push_back(table.name.substr(kMaskRecord.size()));
  }
  if (const PolicyFileText* text = file.text("provenance")) policy->provenance = text->text;
  return policy;
}

void say(std::string_view message, char* error, std::size_t error_bytes) {
  if (error == nullptr || error_bytes == 0) return;
  const std::size_t size = std::min(message.size(), error_bytes - 1);
  std::memcpy(error, message.data(), size);
  error[size] = '\0';
}

template <class Load>
int guarded(const Load& load, cclgym_policy** policy, char* error,
            std::size_t error_bytes) noexcept {
  if (policy == nullptr) {
    say("the place for the policy is null", error, error_bytes);
    return CCLGYM_POLICY_BAD_ARGUMENT;
  }
  *policy = nullptr;
  try {
    *policy = load().release();
    return CCLGYM_POLICY_OK;
  } catch (const std::bad_alloc&) {
    say("out of memory", error, error_bytes);
    return CCLGYM_POLICY_NO_MEMORY;
  } catch (const std::exception& failure) {
    say(failure.what(), error, error_bytes);
  } catch (...) {
    say("unknown error", error, error_bytes);
  }
  return CCLGYM_POLICY_BAD_FILE;
}

}  // namespace

extern "C" {

int cclgym_policy_load(const char* path, cclgym_policy** policy, char* error, size_t error_bytes) {
  if (path == nullptr) {
    say("the path is null", error, error_bytes);
    if (policy != nullptr) *policy = nullptr;
    return CCLGYM_POLICY_BAD_ARGUMENT;
  }
  return guarded(
      [&] {
        const std::string name(path);
        return make_policy(cclgym::read_regular_file(name, cclgym::kMostPolicyBytes), name);
      },
      policy, error, error_bytes);
}

int cclgym_policy_parse(const void* bytes, size_t size, cclgym_policy** policy, char* error,
                        size_t error_bytes) {
  if (bytes == nullptr) {
    say("the policy's bytes are null", error, error_bytes);
    if (policy != nullptr) *policy = nullptr;
    return CCLGYM_POLICY_BAD_ARGUMENT;
  }
  return guarded(
      [&] {
        return make_policy({static_cast<const char*>(bytes), size}, "policy");
      },
      policy, error, error_bytes);
}

void cclgym_policy_free(cclgym_policy* policy) { delete policy; }

size_t cclgym_policy_observation_size(const cclgym_policy* policy) {
  return policy == nullptr ? 0 : policy->network.observations();
}

const char* cclgym_policy_feature_name(const cclgym_policy* policy, size_t feature) {
  if (policy == nullptr || feature >= policy->features.size()) return nullptr;
  return policy->features[feature].c_str();
}

size_t cclgym_policy_knobs(const cclgym_policy* policy) {
  return policy == nullptr ? 0 : policy->network.knobs();
}

size_t cclgym_policy_levels(const cclgym_policy* policy, size_t knob) {
  if (policy == nullptr || knob >= policy->levels.size()) return 0;
  return policy->levels[knob].size();
}

const char* cclgym_policy_knob_name(const cclgym_policy* policy, size_t knob) {
  if (policy == nullptr || knob >= policy->knobs.size()) return nullptr;
  return policy->knobs[knob].c_str();
}

const char* cclgym_policy_level_name(const cclgym_policy* policy, size_t knob, size_t level) {
  if (policy == nullptr || knob >= policy->levels.size()) return nullptr;
  if (level >= policy->levels[knob].size()) return nullptr;
  return policy->levels[knob][level].c_str();
}

const char* cclgym_policy_provenance(const cclgym_policy* policy) {
  return policy == nullptr ? "" : policy->provenance.c_str();
}

int cclgym_policy_rules(const cclgym_policy* policy, const char* machine, const char* collective) {
  if (policy == nullptr || machine == nullptr || collective == nullptr) return -1;
  const std::string_view first(machine);
  const std::string_view second(collective);
  for (std::size_t i = 0; i < policy->rules.size(); ++i) {
    const std::string_view name = policy->rules[i];
    if (name.size() == first.size() + 1 + second.size() && name.starts_with(first) &&
        name.ends_with(second) && name[first.size()] == '/') {
      return static_cast<int>(i);
    }
  }
  return -1;
}

size_t cclgym_policy_rules_count(const cclgym_policy* policy) {
  return policy == nullptr ? 0 : policy->rules.size();
}

const char* cclgym_policy_rules_name(const cclgym_policy* policy, size_t rules) {
  if (policy == nullptr || rules >= policy->rules.size()) return nullptr;
  return policy->rules[rules].c_str();
}

size_t cclgym_policy_state_bytes(const cclgym_policy* policy) {
  return policy == nullptr ? 0 : policy->network.state_size() * sizeof(float);
}

int cclgym_policy_state_init(const cclgym_policy* policy, void* state, size_t state_bytes) {
  if (policy == nullptr || state == nullptr || state_bytes < cclgym_policy_state_bytes(policy)) {
    return CCLGYM_POLICY_BAD_ARGUMENT;
  }
  policy->network.init_state(static_cast<float*>(state));
  return CCLGYM_POLICY_OK;
}

int cclgym_policy_decide(const cclgym_policy* policy, void* state, const float* observation,
                         size_t observation_size, int rules, const uint8_t* allowed,
                         size_t allowed_size, int32_t* action, size_t knobs) {
  if (policy == nullptr || state == nullptr || observation == nullptr || action == nullptr ||
      observation_size != policy->network.observations() || knobs != policy->network.knobs() ||
      rules < -1 || (rules >= 0 && static_cast<std::size_t>(rules) >= policy->trees.size()) ||
      (allowed != nullptr && allowed_size != policy->network.logits())) {
    return CCLGYM_POLICY_BAD_ARGUMENT;
  }
  const MaskTree* tree = rules < 0 ? nullptr : &policy->trees[static_cast<std::size_t>(rules)];
  switch (policy->network.decide(*policy->kernels, static_cast<float*>(state), observation, tree,
                                 allowed, action)) {
    case cclgym::DecisionFault::None:
      return CCLGYM_POLICY_OK;
    case cclgym::DecisionFault::Observation:
      return CCLGYM_POLICY_BAD_OBSERVATION;
    case cclgym::DecisionFault::NoLegalAction:
      return CCLGYM_POLICY_NO_LEGAL_ACTION;
  }
  return CCLGYM_POLICY_BAD_ARGUMENT;
}

size_t cclgym_policy_logits(const cclgym_policy* policy, const void* state, float* logits,
                            size_t size) {
  if (policy == nullptr) return 0;
  if (state != nullptr && logits != nullptr) {
    policy->network.last_logits(static_cast<const float*>(state), {logits, size});
  }
  return policy->network.logits();
}

}  // extern "C"
