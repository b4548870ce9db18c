#include "sim/tuners/openmpi_default_tuner.hpp"

#include <fmt/core.h>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "collectives/library/algorithm_library.hpp"
#include "core/error.hpp"
#include "sim/tuners/openmpi_algorithms.hpp"

namespace cclgym {

namespace {

// A rule for calls with fewer ranks and fewer bytes than these; the first matching rule applies.
struct Rule {
  std::int64_t ranks_below;
  std::int64_t bytes_below;
  int number;
};
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

// Thresholds of ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, the same in OpenMPI 4.1.4 and
// 5.0.7, for commutative operations. Bytes are Call::bytes, except that for AllGather and AllToAll
// they are the bytes of a slice.
constexpr Rule kAllReduce[] = {
    {4, 8, 4},        {4, 4096, 3},    {4, 8192, 4},     {4, 16384, 3},    {4, 65536, 4},
    {4, 262144, 5},   {4, kAny, 6},    {8, 16, 4},       {8, 8192, 3},     {8, kAny, 6},
    {16, 8192, 3},    {16, kAny, 6},   {32, 64, 5},      {32, 4096, 3},    {32, kAny, 6},
    {64, 128, 5},     {64, kAny, 6},   {128, 262144, 3}, {128, kAny, 6},   {256, 131072, 2},
    {256, 262144, 3}, {256, kAny, 6},  {512, 4096, 2},   {512, kAny, 6},   {2048, 2048, 2},
    {2048, 16384, 3}, {2048, kAny, 6}, {4096, 2048, 2},  {4096, 4096, 5},  {4096, 16384, 3},
    {4096, kAny, 6},  {kAny, 2048, 2}, {kAny, 16384, 5}, {kAny, 32768, 3}, {kAny, kAny, 6}};
constexpr Rule kAllGather[] = {
    {3, kAny, 6},     {32, kAny, 3},     {64, 1024, 3},    {64, 65536, 5},    {64, kAny, 4},
    {128, 512, 3},    {128, 65536, 5},   {128, kAny, 4},   {256, 512, 3},     {256, 131072, 5},
    {256, 524288, 4}, {256, 1048576, 5}, {256, kAny, 4},   {512, 32, 3},      {512, 128, 2},
    {512, 1024, 3},   {512, 131072, 5},  {512, 524288, 4}, {512, 1048576, 5}, {512, kAny, 4},
    {1024, 64, 3},    {1024, 256, 2},    {1024, 2048, 3},  {1024, kAny, 5},   {2048, 4, 3},
    {2048, 8, 2},     {2048, 16, 3},     {2048, 32, 2},    {2048, 256, 3},    {2048, 512, 2},
    {2048, 4096, 3},  {2048, kAny, 5},   {4096, 32, 2},    {4096, 128, 3},    {4096, 512, 2},
    {4096, 4096, 3},  {4096, kAny, 5},   {kAny, 2, 3},     {kAny, 8, 2},      {kAny, 16, 3},
    {kAny, 512, 2},   {kAny, 4096, 3},   {kAny, kAny, 5}};
constexpr Rule kReduceScatter[] = {
    {4, 65536, 3},    {4, 131072, 4},   {4, kAny, 3},    {8, 8, 1},      {8, 262144, 2},
    {8, kAny, 3},     {32, 262144, 2},  {32, kAny, 3},   {64, 64, 1},    {64, 2048, 2},
    {64, 524288, 4},  {64, kAny, 3},    {128, 256, 1},   {128, 512, 2},  {128, 2048, 4},
    {128, 4096, 2},   {128, kAny, 4},   {256, 256, 1},   {256, 512, 2},  {256, kAny, 4},
    {512, 256, 1},    {512, 1024, 2},   {512, kAny, 4},  {1024, 512, 1}, {1024, 2048, 2},
    {1024, 8192, 4},  {1024, 16384, 2}, {1024, kAny, 4}, {2048, 512, 1}, {2048, 4096, 2},
    {2048, 16384, 4}, {2048, 32768, 2}, {2048, kAny, 4}, {4096, 512, 1}, {4096, 4096, 2},
    {4096, kAny, 4},  {kAny, 1024, 1},  {kAny, 8192, 2}, {kAny, kAny, 4}};
constexpr Rule kBroadcast[] = {
    {4, 32, 3},      {4, 256, 5},       {4, 512, 3},       {4, 1024, 7},      {4, 32768, 1},
    {4, 131072, 5},  {4, 262144, 2},    {4, 524288, 1},    {4, 1048576, 6},   {4, kAny, 5},
    {8, 64, 5},      {8, 128, 6},       {8, 2048, 5},      {8, 8192, 6},      {8, 1048576, 1},
    {8, kAny, 2},    {16, 8, 7},        {16, 64, 5},       {16, 4096, 7},     {16, 16384, 5},
    {16, 32768, 6},  {16, kAny, 1},     {32, 4096, 7},     {32, 1048576, 6},  {32, kAny, 8},
    {64, 2048, 6},   {64, kAny, 7},     {128, kAny, 7},    {256, 2, 6},       {256, 16384, 5},
    {256, 32768, 1}, {256, 65536, 5},   {256, kAny, 7},    {1024, 16384, 7},  {1024, 32768, 4},
    {1024, kAny, 7}, {2048, 524288, 7}, {2048, kAny, 8},   {4096, 262144, 7}, {4096, kAny, 8},
    {kAny, 8192, 7}, {kAny, 16384, 5},  {kAny, 262144, 7}, {kAny, kAny, 8}};
constexpr Rule kReduce[] = {
    {4, 8, 7},        {4, 16, 4},      {4, 32, 3},       {4, 262144, 1},  {4, 524288, 3},
    {4, 1048576, 2},  {4, kAny, 3},    {8, 4096, 4},     {8, 65536, 2},   {8, 262144, 5},
    {8, 524288, 1},   {8, 1048576, 5}, {8, kAny, 1},     {16, 8192, 4},   {16, kAny, 5},
    {32, 4096, 4},    {32, kAny, 5},   {256, kAny, 5},   {512, 8192, 5},  {512, 16384, 6},
    {512, kAny, 5},   {2048, kAny, 5}, {4096, 512, 5},   {4096, 1024, 6}, {4096, 8192, 5},
    {4096, 16384, 6}, {4096, kAny, 5}, {kAny, 16, 5},    {kAny, 32, 6},   {kAny, 1024, 5},
    {kAny, 2048, 6},  {kAny, 8192, 5}, {kAny, 16384, 6}, {kAny, kAny, 5}};
constexpr Rule kAllToAll[] = {
    {3, 2, 2},         {3, 4, 5},         {3, 16, 2},       {3, 64, 5},       {3, 256, 2},
    {3, 4096, 5},      {3, 32768, 2},     {3, 262144, 4},   {3, 1048576, 5},  {3, kAny, 2},
    {8, 8192, 4},      {8, 16384, 1},     {8, 65536, 4},    {8, 524288, 1},   {8, 1048576, 2},
    {8, kAny, 1},      {16, 262144, 4},   {16, kAny, 1},    {32, 4, 4},       {32, 512, 3},
    {32, 8192, 4},     {32, 32768, 1},    {32, 262144, 4},  {32, 524288, 1},  {32, kAny, 4},
    {64, 512, 3},      {64, 524288, 1},   {64, kAny, 4},    {128, 1024, 3},   {128, 2048, 1},
    {128, 4096, 4},    {128, 262144, 1},  {128, kAny, 2},   {256, 1024, 3},   {256, 2048, 4},
    {256, 262144, 1},  {256, kAny, 2},    {512, 1024, 3},   {512, 8192, 4},   {512, 32768, 1},
    {512, kAny, 2},    {1024, 512, 3},    {1024, 8192, 4},  {1024, 16384, 1}, {1024, 131072, 4},
    {1024, 262144, 1}, {1024, kAny, 2},   {2048, 512, 3},   {2048, 1024, 4},  {2048, 2048, 1},
    {2048, 16384, 4},  {2048, 262144, 1}, {2048, kAny, 4},  {4096, 1024, 3},  {4096, 4096, 4},
    {4096, 8192, 1},   {4096, 131072, 4}, {4096, kAny, 1},  {kAny, 2048, 3},  {kAny, 8192, 4},
    {kAny, 16384, 1},  {kAny, 32768, 4},  {kAny, 65536, 1}, {kAny, kAny, 4}};

constexpr int kRecursiveDoubling = 3;
constexpr int kRing = 4;
constexpr std::uint64_t kElementBytes = 4;

std::span<const Rule> rules_of(CollectiveKind collective) {
  switch (collective) {
    case CollectiveKind::AllReduce:
      return kAllReduce;
    case CollectiveKind::AllGather:
      return kAllGather;
    case CollectiveKind::ReduceScatter:
      return kReduceScatter;
    case CollectiveKind::Broadcast:
      return kBroadcast;
    case CollectiveKind::Reduce:
      return kReduce;
    case CollectiveKind::AllToAll:
      return kAllToAll;
    default:
      return {};
  }
}

// The library's substitutes for algorithms that it does not have at all or not for this number of
// ranks. The first substitute that can run is used.
struct Nearest {
  CollectiveKind collective;
  int number;
  std::string_view algorithm;
};
constexpr Nearest kNearest[] = {
    {CollectiveKind::AllReduce, 2, "tree"},
    {CollectiveKind::AllReduce, kRecursiveDoubling, "tree"},
    {CollectiveKind::AllReduce, 5, "ring"},  // the library's ring has no segments
    {CollectiveKind::AllReduce, 6, "ring"},
    {CollectiveKind::AllGather, 3, "bruck"},
    {CollectiveKind::AllGather, 5, "ring"},
    {CollectiveKind::AllGather, 6, "ring"},  // equivalent on two ranks
    {CollectiveKind::ReduceScatter, 2, "ring"},
    {CollectiveKind::ReduceScatter, 4, "ring"},
    {CollectiveKind::Broadcast, 4, "binary-tree"},
    {CollectiveKind::Broadcast, 8, "scatter-allgather-ring"},
    {CollectiveKind::Reduce, 6, "binary-tree"},
    {CollectiveKind::Reduce, 7, "binomial-tree"},
    {CollectiveKind::AllToAll, 5, "naive"},  // equivalent on two ranks
};

std::string_view program_of(CollectiveKind collective, int number, int ranks) {
  // OpenMPI's default choice requests chains without a number, which means one chain.
  const bool chain = number == 2 && (collective == CollectiveKind::Broadcast ||
                                     collective == CollectiveKind::Reduce);
  if (chain) return "pipeline";
  const OpenMpiAlgorithm* own = find_openmpi_algorithm(collective, number);
  if (own != nullptr && own->takes_segments(0) &&
      !check_ranks(AlgorithmLibrary::shipped().at(own->algorithm), ranks)) {
    return own->algorithm;
  }
  for (const Nearest& nearest : kNearest) {
    if (nearest.collective == collective && nearest.number == number) return nearest.algorithm;
  }
  throw std::logic_error(
      fmt::format("no program for OpenMPI's {} {}", to_string(collective), number));
}

class OpenMpiDefaultTuner : public Tuner {
 public:
  explicit OpenMpiDefaultTuner(int ranks) : ranks_(ranks) {}

  [[nodiscard]] bool chooses_for(CollectiveKind collective) const override {
    return find_openmpi_collective(collective) != nullptr;
  }

  [[nodiscard]] Config choose(const Call& call) const override {
    const int number = openmpi_default_algorithm(call.collective, ranks_, call.bytes);
    if (number == 0) {
      throw UserError(fmt::format("OpenMPI has no default choice for {}; name an algorithm",
                                  to_string(call.collective)));
    }
    return {.algorithm = std::string(program_of(call.collective, number, ranks_))};
  }

  [[nodiscard]] std::string description() const override {
    return "default choice of OpenMPI 4.1 and 5.0 (coll_tuned_decision_fixed)";
  }

 private:
  int ranks_;
};

bool is_release(std::string_view text) {
  for (const std::string_view known : {"4.1", "5.0"}) {
    if (text == known) return true;
    if (!text.starts_with(known) || text.size() < known.size() + 2) continue;
    const std::string_view rest = text.substr(known.size());
    if (rest[0] == '.' && rest.find_first_not_of("0123456789", 1) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

int openmpi_default_algorithm(CollectiveKind collective, int ranks, std::uint64_t bytes) {
  const bool by_slice =
      collective == CollectiveKind::AllGather || collective == CollectiveKind::AllToAll;
  const std::uint64_t size = by_slice ? bytes / static_cast<std::uint64_t>(ranks) : bytes;
  for (const Rule& rule : rules_of(collective)) {
    const bool fits =
        ranks < rule.ranks_below &&
        (rule.bytes_below == kAny || size < static_cast<std::uint64_t>(rule.bytes_below));
    if (!fits) continue;
    // coll_base_allreduce.c: the ring needs at least one element per rank.
    const bool ring = collective == CollectiveKind::AllReduce &&
                      (rule.number == kRing || rule.number == kRing + 1);
    const bool too_few = bytes / kElementBytes < static_cast<std::uint64_t>(ranks);
    return ring && too_few ? kRecursiveDoubling : rule.number;
  }
  return 0;
}

std::unique_ptr<const Tuner> make_openmpi_default_tuner(std::string_view argument,
                                                        const TunerSite& site) {
  if (!argument.empty() && !is_release(argument)) {
    throw UserError(site.where, fmt::format("OpenMPI release {}; expected 4.1, 5.0 or one of their "
                                            "releases, such as 4.1.4",
                                            quoted(argument)));
  }
  return std::make_unique<const OpenMpiDefaultTuner>(site.fabric->ranks());
}

}  // namespace cclgym
