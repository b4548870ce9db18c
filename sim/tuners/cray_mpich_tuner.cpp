#include "sim/tuners/cray_mpich_tuner.hpp"

#include <array>
#include <bit>
#include <fmt/core.h>

#include "core/error.hpp"
#include "sim/dispatchers/dispatcher.hpp"

namespace cclgym {

namespace {

constexpr std::uint64_t kLongGather = 524288;  // MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE, B
constexpr std::uint64_t kShortGather = 81920;  // MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE, B
constexpr std::uint64_t kLongReduce = 524288;  // MPIR_CVAR_REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE

constexpr std::array kMpichAlgorithms{"ring", "recursive", "bruck"};

bool is_power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

// `nics`: the GPUs of the fabric have a choice of NICs.
std::string spelled_levels(std::string_view algorithm, bool nics) {
  return fmt::format("hierarchical:nodes:{}:avoided:reduce=host{}", algorithm,
                     nics ? ":nic=single-nic" : "");
}

std::string_view mpich_name(CollectiveKind collective, int ranks, std::uint64_t bytes) {
  const bool power = is_power_of_two(ranks);
  switch (collective) {
    case CollectiveKind::AllGather:
      if (bytes < kLongGather && power) return "recursive";
      return bytes < kShortGather ? "bruck" : "ring";
    case CollectiveKind::ReduceScatter:
      if (bytes >= kLongReduce) return "ring";  // for pairwise exchange
      // With other numbers of ranks MPICH halves among the largest power of two of them.
      return power ? "recursive" : "bruck";
    default:
      return power ? "recursive" : "bruck";  // Rabenseifner
  }
}

class CrayMpichTuner final : public Tuner {
 public:
  explicit CrayMpichTuner(const TunerSite& site)
      : ranks_(site.fabric->ranks()), nics_(site.fabric->bindable()), library_(site.algorithms) {
    for (const std::string_view algorithm : kMpichAlgorithms) {
      library_.add_spelled(spelled_levels(algorithm, nics_), site.where);
    }
  }

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return pccl_has(collective);
  }
  [[nodiscard]] AlgorithmLibrary algorithms() const override { return library_; }

  [[nodiscard]] Config choose(const Call& call) const override {
    if (!chooses_for(call.collective)) {
      throw UserError(fmt::format(
          "cray-mpich chooses for allgather, reducescatter and allreduce, not for {}; name an "
          "algorithm",
          to_string(call.collective)));
    }
    return {.algorithm = cray_mpich_algorithm(call.collective, ranks_, call.bytes, nics_)};
  }

  [[nodiscard]] std::string description() const override {
    return "MPICH's choice over MPI messages, with one NIC for each direction and reductions on "
           "the host";
  }

 private:
  int ranks_;
  bool nics_;
  AlgorithmLibrary library_;
};

}  // namespace

std::string cray_mpich_algorithm(CollectiveKind collective, int ranks, std::uint64_t bytes,
                                 bool nics) {
  return spelled_levels(mpich_name(collective, ranks, bytes), nics);
}

std::unique_ptr<const Tuner> make_cray_mpich_tuner(std::string_view argument,
                                                   const TunerSite& site) {
  if (!argument.empty()) {
    throw UserError(site.where, fmt::format("{}; expected 'cray-mpich' alone, without a release",
                                            quoted(fmt::format("cray-mpich:{}", argument))));
  }
  return std::make_unique<const CrayMpichTuner>(site);
}

}  // namespace cclgym
