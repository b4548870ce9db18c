// Feeds arbitrary bytes to the policy reader and its runtime. Files are tried unchanged and, since
// the checksum would hide the rest from a fuzzer, again with size and checksum corrected. An
// accepted file must be written to the same bytes again and give only legal decisions, without
// memory errors.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "deploy/runtime/policy_file.hpp"
#include "deploy/runtime/policy_runtime.h"
#include "fuzz_support.hpp"

namespace {

using namespace cclgym;

void check_policy_message(std::string_view message) {
  if (message.empty() || message.size() > 1000) std::abort();
  for (const char c : message) {
    if (static_cast<unsigned char>(c) < 0x20) std::abort();
  }
}

bool try_policy(std::string_view bytes) {
  try {
    if (format_policy(parse_policy(bytes, "fuzz")) != bytes) std::abort();
    return true;
  } catch (const UserError& error) {
    check_policy_message(error.what());
    return false;
  }
}

void run_policy(std::string_view bytes) {
  cclgym_policy* policy = nullptr;
  char error[1200] = "";
  const int status = cclgym_policy_parse(bytes.data(), bytes.size(), &policy, error, sizeof(error));
  if (status != CCLGYM_POLICY_OK) {
    if (policy != nullptr) std::abort();
    check_policy_message(error);
    return;
  }
  const std::size_t knobs = cclgym_policy_knobs(policy);
  std::vector<char> state(cclgym_policy_state_bytes(policy));
  if (cclgym_policy_state_init(policy, state.data(), state.size()) != CCLGYM_POLICY_OK)
    std::abort();
  std::vector<float> observation(cclgym_policy_observation_size(policy));
  for (std::size_t i = 0; i < observation.size(); ++i) {
    observation[i] = static_cast<float>(i % 5) - 2;
  }
  std::vector<std::int32_t> action(knobs);
  const int rules = static_cast<int>(std::min<std::size_t>(cclgym_policy_rules_count(policy), 4));
  std::vector<std::uint8_t> allowed(cclgym_policy_logits(policy, nullptr, nullptr, 0), 1);
  for (int call = -1; call < rules; ++call) {
    for (int masked = 0; masked < 2; ++masked) {
      if (masked == 1) allowed[allowed.size() / 2] = 0;
      const int outcome =
          cclgym_policy_decide(policy, state.data(), observation.data(), observation.size(), call,
                               allowed.data(), allowed.size(), action.data(), knobs);
      if (outcome == CCLGYM_POLICY_NO_LEGAL_ACTION && masked == 1) continue;
      if (outcome != CCLGYM_POLICY_OK) std::abort();
      for (std::size_t knob = 0; knob < knobs; ++knob) {
        if (action[knob] < 0 ||
            static_cast<std::size_t>(action[knob]) >= cclgym_policy_levels(policy, knob)) {
          std::abort();
        }
      }
    }
  }
  cclgym_policy_free(policy);
}

}  // namespace

FUZZ_TARGET(policy) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (try_policy(bytes)) run_policy(bytes);
  if (size < 32) return 0;
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xffU);
    }
  };
  put(16, bytes.size(), 8);
  put(12, crc32_of(std::string_view(bytes).substr(16)), 4);
  if (try_policy(bytes)) run_policy(bytes);
  return 0;
}
