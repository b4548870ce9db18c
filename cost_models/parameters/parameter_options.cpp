// The keys of a parameter set: names, units, bounds, defaults.
#include <cstdint>
#include <string>
#include <vector>

#include "core/magnitudes.hpp"
#include "cost_models/parameters/parameter_file.hpp"

namespace cclgym {

namespace {

std::vector<OptionSpec> by_link_kind(const OptionSpec& prototype) {
  std::vector<OptionSpec> specs;
  for (const LinkKind kind : kLinkKinds) {
    OptionSpec spec = prototype;
    spec.name = to_string(kind);
    specs.push_back(spec);
  }
  return specs;
}

}  // namespace

const std::vector<OptionSpec>& alpha_options() {
  static const std::vector<OptionSpec> specs =
      by_link_kind({.kind = OptionKind::Time,
                    .description = "latency of one traversal of a link of this kind whose latency "
                                   "you did not state; without it, the fabric's default",
                    .max = kMostLatency_s});
  return specs;
}

const std::vector<OptionSpec>& link_efficiency_options() {
  static const std::vector<OptionSpec> specs =
      by_link_kind({.kind = OptionKind::Real,
                    .description = "share of the raw bandwidth of a link of this kind that is left "
                                   "for data and protocol flags",
                    .min = 0,
                    .max = 1,
                    .exclusive_min = true,
                    .default_text = "1"});
  return specs;
}

const std::vector<OptionSpec>& protocol_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "step_latency",
       .kind = OptionKind::Time,
       .description = "synchronisation of one step (flag or fence), on top of the links' alpha",
       .max = kMostLatency_s,
       .required = true},
      {.name = "network_latency",
       .kind = OptionKind::Time,
       .description = "what a step costs on top of that if it crosses a network link (proxy, "
                      "rendezvous)",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "tree_latency",
       .kind = OptionKind::Time,
       .description = "what such a step costs on top of that in a tree, where one thread block "
                      "serves several peers",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "efficiency",
       .kind = OptionKind::Real,
       .description = "payload bytes a byte on the wire",
       .min = 0,
       .max = 1,
       .exclusive_min = true,
       .required = true},
      {.name = "thread_block_rate",
       .kind = OptionKind::Rate,
       .description = "wire rate of one thread block with full_threads threads",
       .min = kLeastRate_Bps,
       .max = kMostRate_Bps,
       .required = true},
      {.name = "reduce_rate",
       .kind = OptionKind::Rate,
       .description = "payload rate at which such a block receives and reduces",
       .min = kLeastRate_Bps,
       .max = kMostRate_Bps,
       .required = true},
      {.name = "network_rate",
       .kind = OptionKind::Rate,
       .description =
           "wire rate of one connection that crosses a network link; not given: no limit",
       .min = kLeastRate_Bps,
       .max = kMostRate_Bps},
      {.name = "proxy_message",
       .kind = OptionKind::Time,
       .description = "for so much longer than the model's proxy_message each message of this "
                      "protocol over the network keeps the proxy of either rank busy",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "proxy_inline",
       .kind = OptionKind::Time,
       .description = "and each of at most inline_limit for so much longer",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "proxy_copy",
       .kind = OptionKind::Time,
       .description = "and each that is copied by the host, besides its bytes, for so much longer",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "proxy_rate",
       .kind = OptionKind::Rate,
       .description = "wire rate at which a rank's proxy copies messages over the network, those "
                      "of all its connections together; not given: no limit",
       .min = kLeastRate_Bps,
       .max = kMostRate_Bps},
      {.name = "slot_data",
       .kind = OptionKind::Bytes,
       .description = "data in one slot of a connection's FIFO; tile size and slots `protocol` are "
                      "made of it; 0: messages move whole",
       .min = 0,
       .max = 1ULL << 40,
       .default_text = "0B"},
      {.name = "slots",
       .kind = OptionKind::Integer,
       .description = "slots of the FIFO; 0: any number",
       .min = 0,
       .max = 8,
       .default_text = "0"},
      {.name = "message_slots",
       .kind = OptionKind::Integer,
       .description = "slots that are filled before the receiver is told: a tile is so many slots",
       .min = 1,
       .max = 8,
       .default_text = "1"},
  };
  return specs;
}

const std::vector<OptionSpec>& cost_model_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "name", .description = "name of the set, in tables and results", .required = true},
      {.name = "description", .description = "what the set describes"},
      {.name = "fitted_to",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "the measured rows that the values come from, see below; []: none"},
      {.name = "kernel_launch",
       .kind = OptionKind::Time,
       .description = "from the call to the first instruction",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "channel_overhead",
       .kind = OptionKind::Time,
       .description = "launch cost of each channel of a program that NCCL has built in, on top of "
                      "kernel_launch",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "interpreter_launch",
       .kind = OptionKind::Time,
       .description =
           "launch cost of MSCCL's interpreter, which runs all other programs, on top of "
           "kernel_launch",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "interpreter_block",
       .kind = OptionKind::Time,
       .description = "launch cost of each thread block of the interpreter",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "interpreter_step",
       .kind = OptionKind::Time,
       .description = "what the interpreter adds to every instruction",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "kernel_gap",
       .kind = OptionKind::Time,
       .description = "between two kernels of one program on a GPU",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "start_skew",
       .kind = OptionKind::Time,
       .description = "mean of the exponential delay by which each rank starts late, drawn afresh "
                      "for every repetition from the seed; 0: all ranks start at once",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "max_thread_blocks",
       .kind = OptionKind::Integer,
       .description = "thread blocks that a GPU can run at once, one for each SM; configurations "
                      "that need more are refused; 0: no limit",
       .min = 0,
       .max = 1'000'000,
       .default_text = "0"},
      {.name = "resident_threads",
       .kind = OptionKind::Integer,
       .description = "threads that fit on an SM: blocks of half as many share one; 0: a block "
                      "fills an SM however few threads it has",
       .min = 0,
       .max = 4096,
       .default_text = "0"},
      {.name = "instruction_overhead",
       .kind = OptionKind::Time,
       .description = "fixed cost of every instruction of a thread block",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "full_threads",
       .kind = OptionKind::Integer,
       .description = "threads with which a block reaches its rates; fewer scale them down",
       .min = 32,
       .max = 1024,
       .default_text = "512"},
      {.name = "half_rate_threads",
       .kind = OptionKind::Integer,
       .description = "h, where t threads scale rates as t / (t + h); 0: linearly",
       .min = 0,
       .max = 1'000'000,
       .default_text = "0"},
      {.name = "local_copy_rate",
       .kind = OptionKind::Rate,
       .description = "rate of a copy inside a GPU by one block with full_threads threads",
       .min = kLeastRate_Bps,
       .max = kMostRate_Bps,
       .required = true},
      {.name = "local_reduce_rate",
       .kind = OptionKind::Rate,
       .description =
           "rate of a reduction inside a GPU by such a block; not given: local_copy_rate",
       .min = kLeastRate_Bps,
       .max = kMostRate_Bps},
      {.name = "proxy_message",
       .kind = OptionKind::Time,
       .description = "for this long a message over the network keeps the proxy of either rank "
                      "busy, the host thread that serves all of the rank's connections",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "inline_limit",
       .kind = OptionKind::Bytes,
       .description = "messages over the network up to this size (bytes on the wire) go inside "
                      "the command to the NIC, for which the host fetches them: proxy_inline of "
                      "the protocol",
       .min = 0,
       .max = 1ULL << 40,
       .default_text = "0B"},
      {.name = "copy_limit",
       .kind = OptionKind::Bytes,
       .description = "larger messages over the network (bytes on the wire) are copied by the "
                      "host: they cost copy_latency, and are held to network_rate and proxy_rate",
       .min = 0,
       .max = 1ULL << 40,
       .default_text = "0B"},
      {.name = "copy_latency",
       .kind = OptionKind::Time,
       .description = "what such a copy takes before its first byte",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "eager_limit",
       .kind = OptionKind::Bytes,
       .description = "larger messages over the network (bytes on the wire) are announced before "
                      "they are sent, which costs rendezvous_latency",
       .min = 0,
       .max = 1ULL << 40,
       .default_text = "0B"},
      {.name = "rendezvous_latency",
       .kind = OptionKind::Time,
       .description = "announcement of such a message, and the answer",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "proxy_rendezvous",
       .kind = OptionKind::Time,
       .description = "for so much longer than proxy_message such a message keeps the proxies busy",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "network_burst",
       .kind = OptionKind::Bytes,
       .description = "what a link of the network passes at once before its rate holds: the token "
                      "bucket of a rate limiter, full when a call begins",
       .min = 0,
       .max = 1ULL << 40,
       .default_text = "0B"},
      {.name = "connection_rate",
       .kind = OptionKind::Rate,
       .description = "wire rate of both directions together of the messages over the network "
                      "between two ranks; not given: without limit",
       .min = kLeastRate_Bps,
       .max = kMostRate_Bps},
      {.name = "switch_efficiency",
       .kind = OptionKind::Real,
       .description = "share of the rate of GPU links that data can have which switches copy or "
                      "add, on top of link_efficiency",
       .min = 0,
       .max = 1,
       .exclusive_min = true,
       .default_text = "1"},
      {.name = "switch_latency",
       .kind = OptionKind::Time,
       .description = "synchronisation of a step in which switches of a server copy or add, in "
                      "place of the protocol's step_latency",
       .max = kMostLatency_s,
       .default_text = "0us"},
      {.name = "alpha", .kind = OptionKind::Mapping, .description = "by link kind, see below"},
      {.name = "link_efficiency",
       .kind = OptionKind::Mapping,
       .description = "by link kind, see below"},
      {.name = "protocols",
       .kind = OptionKind::Mapping,
       .description = "LL, LL128 and Simple, see below",
       .required = true},
  };
  return specs;
}

}  // namespace cclgym
