#include "deploy/nccl_plugin/tuner_testing.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <stdexcept>

#include "agents/export/policy_export.hpp"
#include "deploy/sample_policy.hpp"
#include "support/places.hpp"

namespace cclgym::test {

namespace {

constexpr std::uint32_t kCalls = 5;
constexpr std::uint32_t kFeatures = 20;

std::mutex lines_mutex;
std::vector<std::string>& lines() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace

std::string Plugin::path() { return build_path("libnccl-tuner-cclgym.so"); }

Plugin::Plugin() : library_(::dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) throw std::runtime_error(::dlerror());
}
Plugin::~Plugin() { ::dlclose(library_); }
void* Plugin::symbol(const std::string& name) const { return ::dlsym(library_, name.c_str()); }

void record_line(int level, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
                 const char* format, ...) {
  char text[2000];
  va_list arguments;
  va_start(arguments, format);
  (void)std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  const std::lock_guard lock(lines_mutex);
  lines().push_back((level == CCLGYM_NCCL_LOG_WARN ? "WARN " : "INFO ") + std::string(text));
}
std::vector<std::string> recorded_lines() {
  const std::lock_guard lock(lines_mutex);
  return lines();
}
void clear_lines() {
  const std::lock_guard lock(lines_mutex);
  lines().clear();
}

Variable::Variable(const char* name, const std::string& value) : name_(name) {
  ::setenv(name, value.c_str(), 1);
}
Variable::~Variable() { ::unsetenv(name_); }

AnyTuner::AnyTuner(const Plugin& plugin, int version, std::size_t ranks, std::size_t nodes,
                   cclgym_nccl_logger logger, cclgym_nccl_constants* constants)
    : version_(version) {
  const std::string name = "ncclTunerPlugin_v" + std::to_string(version);
  if (plugin.symbol(name) == nullptr) throw std::runtime_error(name + " is not exported");
  if (version == 2) {
    v2_ = *plugin.table<cclgym_nccl_tuner_v2>(name);
    end_ = v2_.destroy;
    status_ = v2_.init(ranks, nodes, logger, &context_);
  } else if (version == 3) {
    v3_ = *plugin.table<cclgym_nccl_tuner_v3>(name);
    end_ = v3_.destroy;
    status_ = v3_.init(ranks, nodes, logger, &context_);
  } else if (version == 4) {
    const auto& v4 = *plugin.table<cclgym_nccl_tuner_v4>(name);
    v6_.get_coll_info = v4.get_coll_info;
    end_ = v4.destroy;
    status_ = v4.init(ranks, nodes, logger, &context_);
  } else {
    if (version == 6) v6_ = *plugin.table<cclgym_nccl_tuner_v6>(name);
    const auto& v5 = *plugin.table<cclgym_nccl_tuner_v5>(name);
    v6_.get_coll_info = v5.get_coll_info;
    end_ = v5.finalize;
    cclgym_nccl_nvlink_domains domains{1, static_cast<int>(ranks), static_cast<int>(ranks)};
    status_ = v5.init(&context_, 0x1234, ranks, nodes, logger, &domains, constants);
  }
}
AnyTuner::~AnyTuner() { (void)end_(context_); }

int AnyTuner::decide(int collective, std::size_t bytes, float* table, int algorithms,
                     int registered, int* channels) const {
  // Like NCCL, passes a contiguous table with the type of a table of pointers.
  auto** costs = reinterpret_cast<float**>(table);
  if (version_ == 3) {
    return v3_.get_coll_info(context_, collective, bytes, 1, costs, algorithms,
                             CCLGYM_NCCL_PROTOCOLS, channels);
  }
  return v6_.get_coll_info(context_, collective, bytes, 1, costs, algorithms, CCLGYM_NCCL_PROTOCOLS,
                           registered, channels);
}
int AnyTuner::decide_v2(int collective, std::size_t bytes, int* algorithm, int* protocol,
                        int* channels) const {
  return v2_.get_coll_info(context_, collective, bytes, 1, 1, 1, algorithm, protocol, channels);
}
int AnyTuner::chunk(int collective, std::size_t bytes, int algorithm, int protocol, int channels,
                    std::size_t* chunk) const {
  return v6_.get_chunk_size(context_, collective, bytes, algorithm, protocol, channels, chunk);
}

NcclTable::NcclTable(Random& random, double impossible) {
  for (float& entry : entries) {
    entry = random.uniform() < impossible ? -1.0F : static_cast<float>(random.uniform(5, 5000));
  }
}

std::vector<DeployedMachine> random_machines(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sizes, std::uint64_t seed) {
  Random random(seed);
  std::vector<DeployedMachine> machines;
  for (const auto& [ranks, nodes] : sizes) {
    DeployedMachine& machine = machines.emplace_back();
    machine.label = "machine " + std::to_string(ranks) + "x" + std::to_string(nodes);
    machine.ranks = ranks;
    machine.nodes = nodes;
    for (auto& grid : machine.grids) {
      grid = DeployedGrid{deployed_sizes(), kCalls, kFeatures, {}};
      for (std::size_t i = 0; i < grid->sizes.size() * kCalls * kFeatures; ++i) {
        grid->seen.push_back(static_cast<float>(random.uniform(-1.5, 1.5)));
      }
    }
  }
  return machines;
}

PolicyFile random_deployed_policy(std::uint64_t seed, const std::vector<DeployedMachine>& machines,
                                  bool chunks) {
  std::vector<PolicyKnob> knobs{
      {"algorithm", {"nccl-default", "ring", "tree", "pat", "naive", "nvls", "nvls-tree"}},
      {"protocol", {"LL", "LL128", "Simple"}},
      {"channels", {"1", "2", "4", "8", "16", "24", "32"}}};
  if (chunks) {
    knobs.push_back({"chunk", {"protocol", "whole", "32KiB", "128KiB", "512KiB", "2MiB"}});
  }
  PolicyShape shape{
      .observations = kFeatures, .encoder = {24}, .lstm = 12, .head = 10, .value = 2, .levels = {}};
  for (const PolicyKnob& knob : knobs) shape.levels.push_back(knob.levels.size());
  PolicyWeights weights = sample_weights(shape, seed);
  weights.knobs = knobs;
  // All actions except "whole" chunks. Algorithms that NCCL does not have are combined with the
  // first level of all other knobs.
  std::vector<std::int32_t> actions;
  const auto levels = [&](std::size_t k) { return static_cast<std::int32_t>(shape.levels[k]); };
  for (std::int32_t a = 0; a < levels(0); ++a) {
    const bool whole = a == 0 || a == 4;
    for (std::int32_t p = 0; p < (whole ? 1 : levels(1)); ++p) {
      for (std::int32_t c = 0; c < (whole ? 1 : levels(2)); ++c) {
        for (std::int32_t k = 0; k < (whole || !chunks ? 1 : levels(3)); ++k) {
          if (k == 1) continue;
          actions.insert(actions.end(), {a, p, c});
          if (chunks) actions.push_back(k);
        }
      }
    }
  }
  std::vector<PolicyRules> rules;
  for (const DeployedMachine& machine : machines) {
    for (const std::string_view collective : kNcclCollectiveNames) {
      rules.push_back({machine.label, std::string(collective), actions});
    }
  }
  PolicyFile file = to_policy_file(weights, rules);
  set_machines(file, machines);
  return file;
}

}  // namespace cclgym::test
