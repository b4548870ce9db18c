// Questions and answers at the rendezvous of ranks, and what its server knows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cclgym {

/// In the byte order of the machine: all ranks of a job have the same.
inline constexpr std::uint64_t kRendezvousMark = 0x31524D5947434C43;  // "CLCGYMR1"

/// "I am this rank of this group, and listen there."
struct RendezvousQuestion {
  std::uint64_t mark = kRendezvousMark;
  std::uint64_t group = 0;
  std::uint64_t node = 0;
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::uint32_t address = 0;  ///< IPv4, in the byte order of the network
  std::uint32_t port = 0;
};
static_assert(sizeof(RendezvousQuestion) == 40);

struct RendezvousPlace {
  std::uint64_t node = 0;
  std::uint32_t address = 0;
  std::uint32_t port = 0;
  friend bool operator==(const RendezvousPlace&, const RendezvousPlace&) = default;
};

struct RendezvousAnswer {
  std::uint64_t token = 0;
  std::vector<RendezvousPlace> places{};  ///< by rank; empty while ranks are missing
};

/// Reads the answer to a rank of `ranks`; nullopt if it is incomplete, or `broken`.
[[nodiscard]] std::optional<RendezvousAnswer> read_answer(std::string_view bytes,
                                                          std::int32_t ranks, bool& broken);

class RendezvousBook {
 public:
  using Clock = std::chrono::steady_clock;
  /// Answer to a question's bytes; empty if they are not a rank's question.
  [[nodiscard]] std::string answer(std::string_view question, Clock::time_point now);
  /// Forgets groups about which nobody has asked for long.
  void forget_old(Clock::time_point now);
  [[nodiscard]] std::size_t groups() const { return groups_.size(); }

  std::atomic<std::uint64_t> questions = 0;  ///< number of ranks' questions
  std::atomic<std::uint64_t> strangers = 0;  ///< number of questions that were none

 private:
  struct Group {
    std::int32_t ranks = 0;
    std::uint64_t token = 0;
    std::map<std::int32_t, RendezvousPlace> places{};
    Clock::time_point asked{};
  };
  void forget(std::map<std::uint64_t, Group>::iterator group);

  std::map<std::uint64_t, Group> groups_;
  std::size_t places_ = 0;  ///< number of places of all groups
  std::random_device random_;
};

}  // namespace cclgym
