// A tuner's choices for one communicator, computed when the communicator is created, so that a
// decision is a look-up: it allocates nothing, takes no lock, and is the same on all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "deploy/nccl_plugin/nccl_names.hpp"
#include "deploy/runtime/policy_file.hpp"

namespace cclgym {

inline constexpr int kMostTunerChannels = 64;  ///< NCCL keeps them in 7 bits

/// The choice for a call, as NCCL's numbers.
struct TunerChoice {
  std::int8_t algorithm = -1;  ///< -1: the call is left to NCCL
  std::int8_t protocol = -1;
  std::uint8_t channels = 0;      ///< 0: NCCL's choice
  std::uint32_t chunk_bytes = 0;  ///< 0: NCCL's choice
  friend bool operator==(const TunerChoice&, const TunerChoice&) = default;
};

/// NCCL's table of predicted times, as it is in memory: [algorithms][protocols].
struct CostTable {
  float* entries = nullptr;
  int algorithms = 0;
  int protocols = 0;

  /// True if the combination may be chosen (NCCL marks others by negative numbers).
  [[nodiscard]] bool legal(int algorithm, int protocol) const {
    return algorithm >= 0 && algorithm < algorithms && protocol >= 0 && protocol < protocols &&
           entries[algorithm * protocols + protocol] >= 0;
  }
  /// Makes the combination the cheapest.
  void take(int algorithm, int protocol) const { entries[algorithm * protocols + protocol] = 0; }
};

/// A source of choices. Immutable.
class TunerChoices {
 public:
  TunerChoices() = default;
  virtual ~TunerChoices() = default;
  TunerChoices(const TunerChoices&) = delete;
  TunerChoices& operator=(const TunerChoices&) = delete;

  /// Wanted choices for a call, best first; the first that NCCL supports applies. May be empty.
  [[nodiscard]] virtual std::span<const TunerChoice> wanted(int collective, std::uint64_t bytes,
                                                            int pipe_ops) const = 0;
  /// Chunk for calls of an algorithm and protocol with `channel_bytes` bytes per channel, B; 0:
  /// NCCL's choice.
  [[nodiscard]] virtual std::uint32_t chunk_bytes(int /*collective*/, int /*algorithm*/,
                                                  int /*protocol*/,
                                                  std::uint64_t /*channel_bytes*/) const {
    return 0;
  }
  /// The source of the choices, in one line for the log.
  [[nodiscard]] virtual std::string description() const = 0;
};

/// The first of `wanted` that the table allows; algorithm -1 if there is none, or if a choice that
/// leaves the call to NCCL comes first.
[[nodiscard]] TunerChoice first_legal(std::span<const TunerChoice> wanted, const CostTable& costs);

/// The choices of a policy on one machine: for every size of its grid, all choices in the network's
/// order of preference, so that one remains no matter which combinations NCCL lacks.
class PolicyChoices : public TunerChoices {
 public:
  /// `name` is used in messages. Throws UserError if the file has no machine with `ranks` ranks on
  /// `nodes` nodes, is damaged, or has knobs that a tuner of NCCL does not have.
  PolicyChoices(const PolicyFile& file, const std::string& name, std::size_t ranks,
                std::size_t nodes);

  [[nodiscard]] std::span<const TunerChoice> wanted(int collective, std::uint64_t bytes,
                                                    int pipe_ops) const override;
  [[nodiscard]] std::uint32_t chunk_bytes(int collective, int algorithm, int protocol,
                                          std::uint64_t channel_bytes) const override;
  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] const std::string& machine() const { return machine_; }

 private:
  class Asking;
  struct Grid {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint32_t> ends;  ///< by size: end of its part of `choices`
    std::vector<TunerChoice> choices;
  };
  struct Chunk {
    std::uint64_t channel_bytes = 0;
    std::uint32_t chunk_bytes = 0;
  };
  using ChunksByProtocol = std::array<std::vector<Chunk>, CCLGYM_NCCL_PROTOCOLS>;

  void add_chunks(std::size_t collective);

  std::array<Grid, kNcclCollectiveNames.size()> grids_;
  /// Chunks by collective, algorithm and protocol; each list is ascending by channel_bytes.
  std::array<std::array<ChunksByProtocol, CCLGYM_NCCL_ALGORITHMS>, kNcclCollectiveNames.size()>
      chunks_;
  std::string machine_;
  std::string description_;
};

}  // namespace cclgym
