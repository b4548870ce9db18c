#include "calibration/cuda/nccl/nccl_team.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fmt/core.h>
#include <system_error>
#include <thread>

#include "calibration/cuda/nccl/nccl_cells.hpp"
#include "calibration/cuda/nccl/nccl_team_parts.hpp"
#include "calibration/cuda/worker_lines.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"

namespace cclgym {

namespace fs = std::filesystem;

namespace {

void set_variable(const char* name, const std::string& value) {
  if (::setenv(name, value.c_str(), 1) != 0) {
    throw std::system_error(errno, std::generic_category(), "setenv");
  }
}

fs::path new_folder() {
  std::string path = (fs::temp_directory_path() / "cclgym-nccl-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    throw UserError(
        fmt::format("{}: cannot make a folder: {}", path, std::generic_category().message(errno)));
  }
  return path;
}

}  // namespace

NcclTeam::NcclTeam(TeamOptions options, TeamPeers& peers, Busy busy)
    : options_(std::move(options)), peers_(peers), busy_(std::move(busy)) {
  if (options_.mode != TeamMode::Gpus) {
    if (!peers_.alone()) {
      throw UserError(
          fmt::format("--mode: {} processes were started, but modes copies and shared have all "
                      "ranks in one; --mode=gpus takes several",
                      peers_.processes()));
    }
    // Read when CUDA starts. Ranks on one device have thread blocks that wait for each other, so no
    // launch may wait for the host or for the end of another kernel.
    set_variable("CUDA_DEVICE_MAX_CONNECTIONS", "32");
    set_variable("CUDA_MODULE_LOADING", "EAGER");
  }
  const int devices = device_count();
  std::vector<int> own;
  if (options_.mode == TeamMode::Gpus) {
    own = devices_of_process(devices, peers_);
    if (options_.ranks == 0 && peers_.alone()) options_.ranks = devices;
    if (options_.ranks > devices && peers_.alone()) {
      throw UserError(
          fmt::format("--ranks={}: {} GPUs are visible; --mode=copies puts several "
                      "ranks on one",
                      options_.ranks, devices));
    }
  } else if (options_.ranks == 0) {
    options_.ranks = 4;
  }
  if (peers_.alone()) {
    if (options_.ranks < 2) {
      throw UserError("collectives need two ranks: --mode=copies puts several on one GPU");
    }
    own.resize(static_cast<std::size_t>(options_.ranks), 0);
  }
  check(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  folder_ = new_folder();
  csv_path_ = (folder_ / "choices.csv").string();
  log_path_ = (folder_ / "nccl-0.log").string();
  meeting_ = std::make_unique<Meeting>(own.size());
  write_choices({}, {});
  set_environment();
  open_libraries();
  for (const int device : own) {
    auto rank = std::make_unique<Rank>();
    rank->device = device;
    check(cudaSetDevice(rank->device), "cudaSetDevice");
    rank->stream = std::make_unique<CudaStream>();
    rank->begin = std::make_unique<CudaEvent>();
    rank->end = std::make_unique<CudaEvent>();
    rank->wrong = CudaMemory(MemoryPlace::Device, sizeof(unsigned long long));
    rank->start = CudaMemory(MemoryPlace::Device, sizeof(unsigned long long));
    ranks_.push_back(std::move(rank));
  }
  if (options_.mode == TeamMode::Copies) first_communicator_of_each_copy();
}

void NcclTeam::join() {
  const TeamSpan span = span_of_process(ranks_.size(), peers_);
  first_rank_ = span.first;
  const int total = static_cast<int>(span.total);
  if (options_.ranks != 0 && options_.ranks != total) {
    throw UserError(fmt::format("--ranks={}: {} processes have {} GPUs; leave it out",
                                options_.ranks, peers_.processes(), total));
  }
  options_.ranks = total;
}

NcclTeam::~NcclTeam() {
  while (!communicators_.empty()) destroy_oldest();
  if (starts_) destroy(*starts_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

const NcclVersion& NcclTeam::version() const { return libraries_.front()->version; }

// Each copy of the library believes that it is on a host of its own.
int NcclTeam::nodes() const {
  return options_.mode == TeamMode::Copies ? options_.ranks : peers_.nodes();
}

int NcclTeam::most_channels() const {
  constexpr int kMostOfNccl = 64;
  if (options_.mode == TeamMode::Gpus) return 0;
  return std::clamp(sms_ / options_.ranks, 1, kMostOfNccl);
}

void NcclTeam::set_environment() {
  // This variable would override the tuner.
  ::unsetenv("NCCL_ALGO");
  ::unsetenv("NCCL_PROTO");
  ::unsetenv("CCLGYM_POLICY");
  set_variable("NCCL_DEBUG", "INFO");
  set_variable("NCCL_DEBUG_SUBSYS", "INIT,TUNING");
  set_variable("NCCL_DEBUG_FILE", log_path_);
  set_variable("NCCL_TUNER_PLUGIN", options_.tuner.empty() ? "none" : options_.tuner);
  set_variable("CCLGYM_TUNER_CSV", csv_path_);
  if (options_.mode == TeamMode::Gpus) return;
  // No connection is made and no memory allocated while a rank waits on the device.
  set_variable("NCCL_RUNTIME_CONNECT", "0");
  set_variable("NCCL_CGA_CLUSTER_SIZE", "0");
  set_variable("NCCL_MNNVL_ENABLE", "0");
  set_variable("NCCL_RAS_ENABLE", "0");
  set_variable("NCCL_NVLS_ENABLE", "0");
  if (options_.mode == TeamMode::Shared) {
    set_variable("NCCL_MULTI_RANK_GPU_ENABLE", "1");
    set_variable("NCCL_MAX_CTAS", std::to_string(most_channels()));
    return;
  }
  set_variable("NCCL_SOCKET_IFNAME", "lo");
  set_variable("NCCL_NET", "Socket");
  // NCCL leaves out LL128 over sockets unless all three protocols are named. The tuner still
  // chooses among them.
  if (options_.ll128_everywhere) set_variable("NCCL_PROTO", "LL,LL128,Simple");
}

void NcclTeam::open_libraries() {
  const std::size_t copies =
      options_.mode == TeamMode::Copies ? static_cast<std::size_t>(options_.ranks) : 1;
  for (std::size_t i = 0; i < copies; ++i) {
    std::string path = options_.nccl;
    if (copies > 1) {
      const fs::path copy = folder_ / fmt::format("libnccl-{}.so", i);
      std::error_code error;
      fs::copy_file(options_.nccl, copy, error);
      if (error) {
        throw UserError(fmt::format("{}: cannot copy it to {}: {} (TMPDIR names another place)",
                                    options_.nccl, copy.string(), error.message()));
      }
      path = copy.string();
    }
    busy_("opening " + path);
    libraries_.push_back(std::make_unique<NcclLibrary>(path));
    if (copies > 1) {
      // The open library needs no name: its 200 MB disappear however this process ends.
      std::error_code ignored;
      fs::remove(path, ignored);
    }
  }
  constexpr NcclVersion kMultiRank{2, 30, 0};
  if (options_.mode == TeamMode::Shared && version() < kMultiRank) {
    throw UserError(
        fmt::format("{} is NCCL {}; --mode=shared needs 2.30 or newer, --mode=copies "
                    "any release",
                    options_.nccl, version().to_string()));
  }
}

// A copy reads its host's name, its log file and its other variables once, in its first
// communicator. Starting the copies one after the other gives each its own.
void NcclTeam::first_communicator_of_each_copy() {
  check(cudaSetDevice(0), "cudaSetDevice");
  for (std::size_t i = 0; i < libraries_.size(); ++i) {
    set_variable("NCCL_HOSTID", fmt::format("cclgym-host-{}", i));
    set_variable("NCCL_DEBUG_FILE",
                 i == 0 ? log_path_ : (folder_ / fmt::format("nccl-{}.log", i)).string());
    busy_(fmt::format("the first communicator of copy {}", i));
    const NcclLibrary& library = *libraries_[i];
    ncclUniqueId id{};
    library.check(library.get_unique_id(&id), "ncclGetUniqueId");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclComm_t alone = nullptr;
    library.check(library.comm_init_rank_config(&alone, 1, id, 0, &config),
                  "ncclCommInitRankConfig of one rank");
    library.check(library.comm_destroy(alone), "ncclCommDestroy");
  }
}

// The tuner plugin reads its choices when a communicator is made. Variables keep their values where
// possible, because NCCL's threads may be reading the environment.
void NcclTeam::write_choices(const TeamConfig& config, const std::string& policy) {
  std::string text =
      "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  if (config.algorithm == "policy") {
    if (policy.starts_with("CCLGYMPO")) {
      const std::string path = (folder_ / "tuner.policy").string();
      write_text_file(path, policy);
      set_variable("CCLGYM_POLICY", path);
    } else {
      text = policy;
    }
  } else if (config.algorithm != "default") {
    text = tuner_csv_for(config.algorithm, config.protocol, config.channels);
  }
  write_text_file(csv_path_, text);
}

void NcclTeam::destroy(const Communicator& communicator) {
  busy_("destroying a communicator");
  in_all_ranks([&](std::size_t rank) {
    library(rank).check(library(rank).comm_destroy(communicator.ranks[rank]), "ncclCommDestroy");
  });
}

void NcclTeam::destroy_oldest() {
  destroy(communicators_.front());
  communicators_.pop_front();
}

// True if some process has little memory left. Processes must destroy the same communicators.
bool NcclTeam::crowded() {
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check(cudaSetDevice(ranks_.front()->device), "cudaSetDevice");
  check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  return peers_.any(free_bytes < all_bytes / 4);
}

NcclTeam::Communicator& NcclTeam::communicator(const TeamConfig& config) {
  const auto known = std::find_if(communicators_.begin(), communicators_.end(),
                                  [&](const Communicator& one) { return one.config == config; });
  if (known != communicators_.end()) {
    communicators_.splice(communicators_.end(), communicators_, known);
    return communicators_.back();
  }
  // A communicator's buffers take memory per channel: old ones make room.
  while (!communicators_.empty() &&
         (communicators_.size() >= options_.communicators || crowded())) {
    destroy_oldest();
  }
  communicators_.push_back(new_communicator(config));
  return communicators_.back();
}

NcclTeam::Communicator NcclTeam::new_communicator(const TeamConfig& config) {
  constexpr std::size_t kMostPolicyBytes = std::size_t{64} << 20;
  std::string policy;
  if (config.algorithm == "policy") {
    // Only the node of process 0 needs the file.
    policy = peers_.from_first(peers_.first() ? read_text_file(options_.policy, kMostPolicyBytes)
                                              : std::string());
  }
  write_choices(config, policy);
  Communicator made{.config = config, .ranks = std::vector<ncclComm_t>(ranks_.size(), nullptr)};
  ncclUniqueId id{};
  busy_(fmt::format("a communicator for {}/{}/{}", config.algorithm, config.protocol,
                    config.channels));
  if (peers_.first()) library(0).check(library(0).get_unique_id(&id), "ncclGetUniqueId");
  const std::string bytes =
      peers_.from_first(std::string(reinterpret_cast<const char*>(&id), sizeof id));
  std::copy_n(bytes.data(), std::min(bytes.size(), sizeof id), reinterpret_cast<char*>(&id));
  in_all_ranks([&](std::size_t rank) {
    ncclConfig_t settings = NCCL_CONFIG_INITIALIZER;
    // Requests this number of channels even if NCCL's search found fewer.
    if (config.channels > 0) {
      settings.minCTAs = config.channels;
      settings.maxCTAs = config.channels;
    } else if (most_channels() > 0) {
      settings.maxCTAs = most_channels();
    }
    library(rank).check(
        library(rank).comm_init_rank_config(&made.ranks[rank], options_.ranks, id,
                                            static_cast<int>(first_rank_ + rank), &settings),
        "ncclCommInitRankConfig");
  });
  ::unsetenv("CCLGYM_POLICY");
  return made;
}

void NcclTeam::need_buffers(std::uint64_t bytes) {
  std::string refusal;
  for (const auto& rank : ranks_) {
    if (rank->send.bytes() >= bytes) continue;
    check(cudaSetDevice(rank->device), "cudaSetDevice");
    rank->send = {};
    rank->receive = {};
    try {
      rank->send = CudaMemory(MemoryPlace::Device, bytes);
      rank->receive = CudaMemory(MemoryPlace::Device, bytes);
    } catch (const CudaError& error) {
      if (error.error() != cudaErrorMemoryAllocation) throw;
      rank->send = {};
      refusal = fmt::format("no memory for two buffers of {} B on each of {} ranks", bytes,
                            ranks_.size());
      break;
    }
  }
  // No process begins a call that another one refuses.
  refusal = shared_error(refusal, peers_);
  if (!refusal.empty()) throw CellRefused(refusal);
}

void NcclTeam::in_all_ranks(const std::function<void(std::size_t)>& work) {
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        check(cudaSetDevice(ranks_[rank]->device), "cudaSetDevice");
        work(rank);
      } catch (...) {
        if (meeting_->fail()) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

const NcclLibrary& NcclTeam::library(std::size_t rank) const {
  return *libraries_[libraries_.size() == 1 ? 0 : rank];
}

}  // namespace cclgym
