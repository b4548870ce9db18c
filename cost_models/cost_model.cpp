#include "cost_models/cost_model.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fmt/format.h>

#include "core/units.hpp"

namespace cclgym {

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::LL:
      return "LL";
    case Protocol::LL128:
      return "LL128";
    case Protocol::Simple:
      return "Simple";
  }
  return "?";
}

const std::vector<Protocol>& all_protocols() {
  static const std::vector<Protocol> protocols{Protocol::LL, Protocol::LL128, Protocol::Simple};
  return protocols;
}

std::optional<Protocol> parse_protocol(std::string_view name) {
  const auto same_letter = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  for (const Protocol protocol : all_protocols()) {
    const std::string_view candidate = to_string(protocol);
    if (std::equal(candidate.begin(), candidate.end(), name.begin(), name.end(), same_letter)) {
      return protocol;
    }
  }
  return std::nullopt;
}

std::string CostModel::label() const {
  return misfit.empty() ? name : fmt::format("{} ({})", name, misfit);
}

int CostModel::resident_thread_blocks(int threads) const {
  const int blocks_per_sm = threads > 0 ? std::max(1, resident_threads / threads) : 1;
  return max_thread_blocks * blocks_per_sm;
}

std::string CostModel::canonical_text() const {
  std::string text = fmt::format("model {}\n", hockney ? "hockney" : "protocol");
  const auto add = [&text](std::string_view key, double value) {
    text += fmt::format("{} {}\n", key, format_double(value));
  };
  for (std::size_t kind = 0; kind < alpha_s.size(); ++kind) {
    add(fmt::format("alpha{}", kind), alpha_s[kind].value_or(-1));
    add(fmt::format("link_efficiency{}", kind), link_efficiency[kind]);
  }
  for (std::size_t p = 0; p < protocols.size(); ++p) {
    add(fmt::format("step_latency{}", p), protocols[p].step_latency_s);
    add(fmt::format("network_latency{}", p), protocols[p].network_latency_s);
    add(fmt::format("tree_latency{}", p), protocols[p].tree_latency_s);
    add(fmt::format("efficiency{}", p), protocols[p].efficiency);
    add(fmt::format("thread_block_rate{}", p), protocols[p].thread_block_rate_Bps);
    add(fmt::format("reduce_rate{}", p), protocols[p].reduce_rate_Bps);
    add(fmt::format("network_rate{}", p), protocols[p].network_rate_Bps);
    add(fmt::format("proxy_message{}", p), protocols[p].proxy_message_s);
    add(fmt::format("proxy_inline{}", p), protocols[p].proxy_inline_s);
    add(fmt::format("proxy_copy{}", p), protocols[p].proxy_copy_s);
    add(fmt::format("proxy_rate{}", p), protocols[p].proxy_rate_Bps);
    add(fmt::format("slot_data{}", p), static_cast<double>(protocols[p].slot_bytes));
    add(fmt::format("slots{}", p), protocols[p].slots);
    add(fmt::format("message_slots{}", p), protocols[p].message_slots);
  }
  add("full_threads", full_threads);
  add("half_rate_threads", half_rate_threads);
  add("instruction_overhead", instruction_overhead_s);
  add("local_copy_rate", local_copy_rate_Bps);
  add("local_reduce_rate", local_reduce_rate_Bps);
  add("kernel_launch", kernel_launch_s);
  add("channel_overhead", channel_overhead_s);
  add("interpreter_launch", interpreter_launch_s);
  add("interpreter_block", interpreter_block_s);
  add("interpreter_step", interpreter_step_s);
  add("kernel_gap", kernel_gap_s);
  add("max_thread_blocks", max_thread_blocks);
  add("resident_threads", resident_threads);
  add("start_skew", start_skew_s);
  add("switch_efficiency", switch_efficiency);
  add("switch_latency", switch_latency_s);
  add("proxy_message", proxy_message_s);
  add("inline_limit", static_cast<double>(inline_limit_bytes));
  add("copy_limit", static_cast<double>(copy_limit_bytes));
  add("copy_latency", copy_latency_s);
  add("eager_limit", static_cast<double>(eager_limit_bytes));
  add("rendezvous_latency", rendezvous_latency_s);
  add("proxy_rendezvous", proxy_rendezvous_s);
  add("network_burst", static_cast<double>(network_burst_bytes));
  add("connection_rate", connection_rate_Bps);
  return text;
}

}  // namespace cclgym
