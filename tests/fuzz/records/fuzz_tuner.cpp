// Feeds arbitrary bytes to the tuner plugin's initialisation for a communicator: a deployed policy,
// a CSV of choices, a file of constants. Policies are tried again with size and checksum corrected,
// since the checksum would hide the rest from a fuzzer. An accepted input must only choose
// combinations that a table allows.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "deploy/nccl_plugin/deployed_policy.hpp"
#include "deploy/nccl_plugin/tuner_choices.hpp"
#include "deploy/nccl_plugin/tuner_constants.hpp"
#include "deploy/nccl_plugin/tuner_rows.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace cclgym;

void check_choices(const TunerChoices& choices) {
  float table[CCLGYM_NCCL_ALGORITHMS * CCLGYM_NCCL_PROTOCOLS];
  for (int i = 0; i < CCLGYM_NCCL_ALGORITHMS * CCLGYM_NCCL_PROTOCOLS; ++i) {
    table[i] = i % 3 == 0 ? -1.0F : static_cast<float>(i);
  }
  const CostTable costs{table, CCLGYM_NCCL_ALGORITHMS, CCLGYM_NCCL_PROTOCOLS};
  for (int collective = -1; collective < 7; ++collective) {
    for (std::uint64_t bytes = 1; bytes < (std::uint64_t{1} << 40U); bytes *= 13) {
      for (const TunerChoice& choice : choices.wanted(collective, bytes, 1)) {
        if (choice.channels > kMostTunerChannels) std::abort();
        if (choice.chunk_bytes != 0 && choice.chunk_bytes < 4096) std::abort();
      }
      const TunerChoice choice = first_legal(choices.wanted(collective, bytes, 1), costs);
      if (choice.algorithm >= 0 && !costs.legal(choice.algorithm, choice.protocol)) std::abort();
      const std::uint32_t chunk = choices.chunk_bytes(collective, 1, 2, bytes);
      if (chunk != 0 && chunk < 4096) std::abort();
    }
  }
}

template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const UserError& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.size() > 4000) std::abort();
  }
}

void read_policy(std::string_view bytes) {
  attempt([&] {
    const PolicyFile file = parse_policy(bytes, "fuzz");
    for (const DeployedMachine& machine : read_machines(file, "fuzz")) {
      attempt([&] { check_choices(PolicyChoices(file, "fuzz", machine.ranks, machine.nodes)); });
    }
  });
}

}  // namespace

FUZZ_TARGET(tuner) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  attempt([&] { check_choices(RowChoices(bytes, "fuzz", 8, 1)); });
  attempt([&] {
    cclgym_nccl_constants constants{};
    parse_tuner_constants(bytes, "fuzz").apply(constants);
  });
  read_policy(bytes);
  if (size < 32) return 0;
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xffU);
    }
  };
  put(16, bytes.size(), 8);
  put(12, crc32_of(std::string_view(bytes).substr(16)), 4);
  read_policy(bytes);
  return 0;
}
