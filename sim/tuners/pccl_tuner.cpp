#include "sim/tuners/pccl_tuner.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "cost_models/nccl/nccl_comm_for.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "cost_models/rccl/rccl_default.hpp"
#include "sim/dispatchers/dispatcher.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

// NCCL or RCCL inside a node; neither if a node has a single GPU.
class LibraryInNode {
 public:
  explicit LibraryInNode(const Fabric& fabric) {
    const GpuModel* gpu = find_gpu_model(fabric.gpu_model());
    if (fabric.ranks_per_server() == 1) return;
    if (gpu != nullptr && gpu->vendor == GpuVendor::Amd) {
      rccl_ = rccl_comm_for(fabric, 1);
    } else {
      nccl_.emplace(kNewestNccl, nccl_comm_of_node(fabric, kNewestNccl));
    }
  }

  [[nodiscard]] Config config(const Call& call) const {
    const auto collective = nccl_collective(call.collective);
    Config config;
    if (!collective || (!rccl_ && !nccl_)) return config;
    NcclAlgorithmSet rings;
    rings.set(static_cast<std::size_t>(NcclAlgorithm::Ring));
    const NcclChoice choice = rccl_ ? rccl_choice(*rccl_, *collective, call.bytes)
                                    : nccl_->choose(*collective, call.bytes, rings);
    config.protocol = choice.protocol;
    config.channels = choice.channels;
    config.threads = choice.threads;
    return config;
  }

  [[nodiscard]] std::string_view name() const { return rccl_ ? "RCCL" : "NCCL"; }

 private:
  std::optional<RcclComm> rccl_;
  std::optional<NcclDefault> nccl_;
};

class LevelsTuner final : public Tuner {
 public:
  LevelsTuner(std::string algorithm, const TunerSite& site)
      : algorithm_(std::move(algorithm)),
        nodes_(static_cast<unsigned>(site.fabric->servers())),
        library_(*site.fabric) {}

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return pccl_has(collective);
  }

  [[nodiscard]] Config choose(const Call& call) const override {
    if (!chooses_for(call.collective)) {
      throw UserError(fmt::format("PCCL has allgather, reducescatter and allreduce, not {}",
                                  to_string(call.collective)));
    }
    Config config = library_.config(call);
    // Recursive doubling needs a power of two of nodes.
    config.algorithm = std::has_single_bit(nodes_) ? algorithm_ : "pccl-ring";
    return config;
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("{} with the channels of {} inside a node", algorithm_, library_.name());
  }

 private:
  std::string algorithm_;
  unsigned nodes_;
  LibraryInNode library_;
};

std::string machine_text(std::string_view fabric, int gpus) {
  return fmt::format("'{}' with {} GPU{} a node", fabric, gpus, gpus == 1 ? "" : "s");
}

class DispatcherTuner final : public Tuner {
 public:
  DispatcherTuner(std::string path, const TunerSite& site)
      : path_(std::move(path)),
        ranks_(site.fabric->ranks()),
        dispatcher_(load_dispatcher(path_)),
        library_(site.algorithms) {
    check_machine(site);
    check_collectives(site);
    for (const std::string& backend : dispatcher_.backends) {
      if (backend.starts_with("pccl:") && backend != "pccl:ring" && backend != "pccl:rec") {
        throw UserError({.file = path_},
                        fmt::format("backend {} is a dispatcher itself", quoted(backend)));
      }
      TunerSite of_backend = site;
      of_backend.where = {.file = path_};
      backends_.push_back(make_tuner(backend, of_backend));
      library_.add_all(backends_.back()->algorithms());
    }
  }

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return dispatcher_.find(collective) != nullptr;
  }
  [[nodiscard]] AlgorithmLibrary algorithms() const override { return library_; }

  [[nodiscard]] Config choose(const Call& call) const override {
    const CollectiveDispatcher* part = dispatcher_.find(call.collective);
    if (part == nullptr) throw UserError(missing(call.collective));
    return backends_[part->choose(call.bytes, ranks_)]->choose(call);
  }

  [[nodiscard]] std::string description() const override {
    return fmt::format("{}: a support vector machine over {} backends, trained on {}", path_,
                       dispatcher_.backends.size(), dispatcher_.experiment);
  }

 private:
  [[nodiscard]] std::string missing(CollectiveKind collective) const {
    return fmt::format("dispatcher {} has no {}; it has {}", quoted(path_, 200),
                       to_string(collective), dispatcher_.collectives_text());
  }

  void check_machine(const TunerSite& site) const {
    const Fabric& fabric = *site.fabric;
    const int gpus = fabric.ranks_per_server().value_or(0);
    const bool part_of_node = fabric.servers() == 1 && gpus < dispatcher_.gpus_per_node;
    if (fabric.name() == dispatcher_.fabric &&
        (gpus == dispatcher_.gpus_per_node || part_of_node)) {
      return;
    }
    throw UserError(site.where,
                    fmt::format("dispatcher {} is for {}; the fabric is {}", quoted(path_, 200),
                                machine_text(dispatcher_.fabric, dispatcher_.gpus_per_node),
                                machine_text(fabric.name(), gpus)));
  }

  // Experiments leave out a collective, but not all of them.
  void check_collectives(const TunerSite& site) const {
    if (site.collectives.empty() || std::ranges::any_of(site.collectives, [&](CollectiveKind kind) {
          return chooses_for(kind);
        })) {
      return;
    }
    throw UserError(site.where, missing(site.collectives.front()));
  }

  std::string path_;
  int ranks_;
  Dispatcher dispatcher_;
  AlgorithmLibrary library_;
  std::vector<std::unique_ptr<const Tuner>> backends_;
};

}  // namespace

std::string dispatcher_path(std::string_view name, const SourceLocation& where) {
  constexpr std::string_view kPrefix = "pccl:";
  if (!name.starts_with(kPrefix) || name == "pccl:ring" || name == "pccl:rec") return {};
  return (std::filesystem::path(where.file).parent_path() /
          std::filesystem::path(name.substr(kPrefix.size())))
      .string();
}

std::unique_ptr<const Tuner> make_pccl_tuner(std::string_view argument, const TunerSite& site) {
  if (argument.empty()) {
    throw UserError(site.where,
                    "'pccl' needs a backend or a file; expected pccl:ring, pccl:rec or e.g. "
                    "pccl:frontier.yaml");
  }
  if (argument == "ring" || argument == "rec") {
    try {
      return std::make_unique<const LevelsTuner>(fmt::format("pccl-{}", argument), site);
    } catch (const UserError& error) {
      throw UserError(site.where, error.what());
    }
  }
  const std::string path = dispatcher_path(fmt::format("pccl:{}", argument), site.where);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw UserError(site.where,
                    fmt::format("dispatcher {} does not exist; expected pccl:ring, pccl:rec or the "
                                "path of a file",
                                quoted(path, 200)));
  }
  return std::make_unique<const DispatcherTuner>(path, site);
}

}  // namespace cclgym
