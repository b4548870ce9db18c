// NCCL's tuner plugin: all exported tables, v2 to v6. No function throws, and all return success:
// NCCL treats an error of a tuner as an error of the collective. When in doubt, the plugin leaves
// the cost table unchanged, and NCCL chooses. init computes the state of a communicator's tuner,
// which never changes without a closed loop: NCCL 2.30 also asks about calls that it does not make.
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "deploy/nccl_plugin/communicator_loop.hpp"
#include "deploy/nccl_plugin/nccl_tuner_abi.h"
#include "deploy/nccl_plugin/plugin_log.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"
#include "deploy/nccl_plugin/tuner_constants.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "deploy/runtime/policy_file.hpp"

namespace {

using namespace cclgym;

constexpr std::size_t kMostCsvBytes = std::size_t{16} << 20;

struct Tuner {
  std::unique_ptr<const TunerChoices> choices;
  /// True if NCCL_ALGO or NCCL_PROTO is set. From v3 on NCCL marks the combinations that they
  /// exclude; v2 has no such marks.
  bool user_chooses = false;
  /// Null unless CCLGYM_LOOP is set, and before v5. `choices` may be null with a loop.
  std::shared_ptr<CommunicatorLoop> loop{};
};

std::unique_ptr<const TunerChoices> read_choices(std::size_t ranks, std::size_t nodes,
                                                 const PluginLog& log) {
  const char* policy = plugin_variable("CCLGYM_POLICY");
  const char* csv = plugin_variable("CCLGYM_TUNER_CSV");
  if (policy != nullptr) {
    const std::string bytes = read_regular_file(policy, kMostPolicyBytes);
    auto choices =
        std::make_unique<PolicyChoices>(parse_policy(bytes, policy), policy, ranks, nodes);
    constexpr char kHex[] = "0123456789abcdef";
    const std::uint32_t checksum = crc32_of(bytes);
    std::string said = choices->description() + ", CRC-32 ";
    for (int shift = 28; shift >= 0; shift -= 4) said += kHex[(checksum >> shift) & 0xfU];
    if (csv != nullptr) said += "; CCLGYM_TUNER_CSV is ignored";
    log.info(said.c_str());
    return choices;
  }
  if (csv == nullptr) return nullptr;
  auto choices =
      std::make_unique<RowChoices>(read_regular_file(csv, kMostCsvBytes), csv, ranks, nodes);
  for (const std::string& line : choices->skipped()) log.warn(line.c_str());
  log.info(choices->description().c_str());
  return choices;
}

// `constants` is null before v5.
void change_constants(std::size_t ranks, std::size_t nodes, cclgym_nccl_constants* constants,
                      const PluginLog& log) {
  const char* path = plugin_variable("CCLGYM_TUNER_CONSTANTS");
  if (path == nullptr) return;
  if (constants == nullptr) {
    log.warn("CCLGYM_TUNER_CONSTANTS needs NCCL 2.28 or newer: NCCL's own constants stay");
    return;
  }
  const TunerConstants read = parse_tuner_constants(read_regular_file(path, kMostCsvBytes), path);
  const std::string name = path;
  if (!read.fits(ranks, nodes)) {
    log.info((name + ": constants for another number of ranks and nodes").c_str());
    return;
  }
  read.apply(*constants);
  log.info((name + ": " + std::to_string(read.values.size()) + " constants of NCCL's model set")
               .c_str());
}

// The loop of a communicator; null if it is not wanted. NCCL tells the communicator from v5 on.
std::shared_ptr<CommunicatorLoop> loop_of(std::optional<std::uint64_t> communicator,
                                          std::size_t ranks, const PluginLog& log) {
  if (!loop_wanted() || ranks < 2) return nullptr;
  if (!communicator) {
    log.warn("closed loop off: CCLGYM_LOOP needs NCCL 2.28 or newer");
    return nullptr;
  }
  auto loop = CommunicatorLoop::of(*communicator);
  return loop->add_tuner(ranks, log) ? loop : nullptr;
}

// Runs `work`; an exception becomes a line in the log, and NCCL keeps its own choices.
template <class Work>
void guarded(const PluginLog& log, const Work& work) noexcept {
  try {
    try {
      work();
    } catch (const std::exception& error) {
      log.warn((std::string(error.what()) + ": NCCL's own choices stay").c_str());
    }
  } catch (...) {
    log.warn("out of memory: NCCL's own choices stay");
  }
}

// `communicator` is missing before v5.
int init(std::optional<std::uint64_t> communicator, std::size_t ranks, std::size_t nodes,
         cclgym_nccl_logger logger, void** context, cclgym_nccl_constants* constants) noexcept {
  const PluginLog log(logger);
  if (context == nullptr) return CCLGYM_NCCL_SUCCESS;
  *context = nullptr;
  guarded(log, [&] { change_constants(ranks, nodes, constants, log); });
  std::unique_ptr<const TunerChoices> choices;
  guarded(log, [&] { choices = read_choices(ranks, nodes, log); });
  guarded(log, [&] {
    auto tuner = std::make_unique<Tuner>();
    tuner->user_chooses =
        plugin_variable("NCCL_ALGO") != nullptr || plugin_variable("NCCL_PROTO") != nullptr;
    tuner->choices = std::move(choices);
    tuner->loop = loop_of(communicator, ranks, log);
    if (tuner->choices == nullptr && tuner->loop == nullptr) return;
    *context = tuner.release();
  });
  return CCLGYM_NCCL_SUCCESS;
}

int destroy(void* context) noexcept {
  delete static_cast<Tuner*>(context);
  return CCLGYM_NCCL_SUCCESS;
}

int init_v2(std::size_t ranks, std::size_t nodes, cclgym_nccl_logger logger, void** context) {
  return init(std::nullopt, ranks, nodes, logger, context, nullptr);
}

int init_v5(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
            cclgym_nccl_logger logger, cclgym_nccl_nvlink_domains* /*domains*/,
            cclgym_nccl_constants* constants) {
  return init(communicator, ranks, nodes, logger, context, constants);
}

// v2 does not tell which combinations NCCL supports. Ring supports all collectives and Tree every
// AllReduce, both with LL and Simple. It is unknown whether LL128 is safe and whether switches can
// reduce.
int get_coll_info_v2(void* context, int collective, std::size_t bytes, int /*collnet_support*/,
                     int /*nvls_support*/, int pipe_ops, int* algorithm, int* protocol,
                     int* channels) {
  const auto* tuner = static_cast<const Tuner*>(context);
  if (tuner == nullptr || tuner->user_chooses || algorithm == nullptr || protocol == nullptr) {
    return CCLGYM_NCCL_SUCCESS;
  }
  const auto wanted = tuner->choices->wanted(collective, bytes, pipe_ops);
  if (wanted.empty()) return CCLGYM_NCCL_SUCCESS;
  const TunerChoice& choice = wanted.front();
  const bool certain =
      (choice.algorithm == CCLGYM_NCCL_RING ||
       (choice.algorithm == CCLGYM_NCCL_TREE && collective == CCLGYM_NCCL_ALLREDUCE)) &&
      choice.protocol != CCLGYM_NCCL_LL128;
  if (!certain) return CCLGYM_NCCL_SUCCESS;
  *algorithm = choice.algorithm;
  *protocol = choice.protocol;
  if (channels != nullptr && choice.channels > 0) *channels = choice.channels;
  return CCLGYM_NCCL_SUCCESS;
}

int get_coll_info_v3(void* context, int collective, std::size_t bytes, int pipe_ops, float** costs,
                     int algorithms, int protocols, int* channels) {
  const auto* tuner = static_cast<const Tuner*>(context);
  if (tuner == nullptr || costs == nullptr) return CCLGYM_NCCL_SUCCESS;
  const CostTable table{reinterpret_cast<float*>(costs), algorithms, protocols};
  if (tuner->loop != nullptr &&
      tuner->loop->ask(collective, bytes, pipe_ops, table, tuner->choices.get(), channels) !=
          CommunicatorLoop::Answer::None) {
    return CCLGYM_NCCL_SUCCESS;
  }
  if (tuner->choices == nullptr) return CCLGYM_NCCL_SUCCESS;
  const TunerChoice choice =
      first_legal(tuner->choices->wanted(collective, bytes, pipe_ops), table);
  if (choice.algorithm < 0) return CCLGYM_NCCL_SUCCESS;
  table.take(choice.algorithm, choice.protocol);
  if (channels != nullptr && choice.channels > 0) *channels = choice.channels;
  return CCLGYM_NCCL_SUCCESS;
}

// `registered_buffers` is not used: each rank knows only its own value, and all ranks must make the
// same decision.
int get_coll_info_v4(void* context, int collective, std::size_t bytes, int pipe_ops, float** costs,
                     int algorithms, int protocols, int /*registered_buffers*/, int* channels) {
  return get_coll_info_v3(context, collective, bytes, pipe_ops, costs, algorithms, protocols,
                          channels);
}

int get_chunk_size(void* context, int collective, std::size_t bytes, int algorithm, int protocol,
                   int channels, std::size_t* chunk) {
  const auto* tuner = static_cast<const Tuner*>(context);
  if (tuner == nullptr || tuner->choices == nullptr || chunk == nullptr) return CCLGYM_NCCL_SUCCESS;
  const std::uint64_t channel_bytes = bytes / static_cast<std::size_t>(channels > 1 ? channels : 1);
  const std::uint32_t wanted =
      tuner->choices->chunk_bytes(collective, algorithm, protocol, channel_bytes);
  if (wanted > 0) *chunk = wanted;
  return CCLGYM_NCCL_SUCCESS;
}

constexpr const char* kName = "cclgym";

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names that NCCL looks for
extern "C" {
[[gnu::visibility("default")]] extern const cclgym_nccl_tuner_v2 ncclTunerPlugin_v2;
[[gnu::visibility("default")]] extern const cclgym_nccl_tuner_v3 ncclTunerPlugin_v3;
[[gnu::visibility("default")]] extern const cclgym_nccl_tuner_v4 ncclTunerPlugin_v4;
[[gnu::visibility("default")]] extern const cclgym_nccl_tuner_v5 ncclTunerPlugin_v5;
[[gnu::visibility("default")]] extern const cclgym_nccl_tuner_v6 ncclTunerPlugin_v6;
const cclgym_nccl_tuner_v2 ncclTunerPlugin_v2{kName, init_v2, get_coll_info_v2, destroy};
const cclgym_nccl_tuner_v3 ncclTunerPlugin_v3{kName, init_v2, get_coll_info_v3, destroy};
const cclgym_nccl_tuner_v4 ncclTunerPlugin_v4{kName, init_v2, get_coll_info_v4, destroy};
const cclgym_nccl_tuner_v5 ncclTunerPlugin_v5{kName, init_v5, get_coll_info_v4, destroy};
const cclgym_nccl_tuner_v6 ncclTunerPlugin_v6{kName, init_v5, get_coll_info_v4, destroy,
                                              get_chunk_size};
}
// NOLINTEND(readability-identifier-naming)
