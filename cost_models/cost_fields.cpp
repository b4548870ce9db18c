#include "cost_models/cost_fields.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "core/magnitudes.hpp"

namespace cclgym {

namespace {

// Value of `required` for parameters that a parameter set must state.
constexpr bool kRequired = true;

// Start of a fit. `fitted` parameters are fitted by default, `fittable` parameters on demand.
struct FitStart {
  double value;
  bool by_default;
};
constexpr FitStart fitted(double start) { return {start, true}; }
constexpr FitStart fittable(double start) { return {start, false}; }

FitRange fit_range(double min, double max, FitStart start) {
  return {.min = min, .max = max, .start = start.value, .by_default = start.by_default};
}

// `member` is anything that Field accepts.
template <class Record, class Member>
CostField<Record> field(OptionSpec spec, Member member, int hash_place,
                        std::optional<FitRange> fit = std::nullopt) {
  return {.field = {std::move(spec), member}, .hash_place = hash_place, .fit = fit};
}

template <class Record>
CostField<Record> time(const char* key, double Record::*member, int hash_place, FitStart start,
                       const char* description, bool required = false) {
  return field<Record>({.name = key,
                        .kind = OptionKind::Time,
                        .description = description,
                        .max = kMostLatency_s,
                        .required = required,
                        .default_text = required ? "" : "0us"},
                       member, hash_place, fit_range(1e-9, 1e-3, start));
}

// A rate; unlimited if it is not given.
template <class Record>
CostField<Record> rate(const char* key, double Record::*member, int hash_place, FitStart start,
                       const char* description, bool required = false) {
  return field<Record>({.name = key,
                        .kind = OptionKind::Rate,
                        .description = description,
                        .min = kLeastRate_Bps,
                        .max = kMostRate_Bps,
                        .required = required},
                       member, hash_place, fit_range(1e7, 1e12, start));
}

template <class Record>
CostField<Record> share(const char* key, double Record::*member, int hash_place, FitStart start,
                        const char* description, bool required = false) {
  return field<Record>({.name = key,
                        .kind = OptionKind::Real,
                        .description = description,
                        .min = 0,
                        .max = 1,
                        .exclusive_min = true,
                        .required = required,
                        .default_text = required ? "" : "1"},
                       member, hash_place, fit_range(0.1, 1, start));
}

template <class Record>
CostField<Record> size(const char* key, std::uint64_t Record::*member, int hash_place,
                       const char* description) {
  return field<Record>({.name = key,
                        .kind = OptionKind::Bytes,
                        .description = description,
                        .min = 0,
                        .max = 1ULL << 40,
                        .default_text = "0B"},
                       member, hash_place);
}

template <class Record>
CostField<Record> count(const char* key, int Record::*member, int hash_place, int min, int max,
                        const char* default_text, const char* description) {
  return field<Record>({.name = key,
                        .kind = OptionKind::Integer,
                        .description = description,
                        .min = min,
                        .max = max,
                        .default_text = default_text},
                       member, hash_place);
}

template <class Record>
CostField<Record> newer(CostField<Record> field) {
  field.newer = true;
  return field;
}

template <class Record>
CostField<Record> network(CostField<Record> field) {
  field.network = true;
  return field;
}

CostField<CostModel> alpha(LinkKind kind, FitStart start) {
  const auto index = static_cast<std::size_t>(kind);
  return field<CostModel>(
      {.name = std::string(to_string(kind)),
       .kind = OptionKind::Time,
       .description = "latency of one traversal of a link of this kind without a stated latency; "
                      "not given: the fabric's default",
       .max = kMostLatency_s},
      [index](auto& model) -> auto& { return model.alpha_s[index]; }, static_cast<int>(index),
      fit_range(1e-9, 1e-3, start));
}

CostField<CostModel> link_efficiency(LinkKind kind, FitStart start) {
  const auto index = static_cast<std::size_t>(kind);
  return field<CostModel>(
      {.name = std::string(to_string(kind)),
       .kind = OptionKind::Real,
       .description = "share of the raw bandwidth of a link of this kind that is left for data and "
                      "protocol flags",
       .min = 0,
       .max = 1,
       .exclusive_min = true,
       .default_text = "1"},
      [index](auto& model) -> auto& { return model.link_efficiency[index]; },
      static_cast<int>(index), fit_range(0.02, 1, start));
}

}  // namespace

const std::vector<CostField<CostModel>>& cost_model_fields() {
  using M = CostModel;
  static const std::vector<CostField<CostModel>> fields{
      time("kernel_launch", &M::kernel_launch_s, 5, fitted(6e-6),
           "time from the call to the first instruction"),
      time("channel_overhead", &M::channel_overhead_s, 6, fitted(1e-6),
           "launch cost per channel of a program that is built into NCCL, on top of kernel_launch"),
      time("interpreter_launch", &M::interpreter_launch_s, 7, fitted(5e-6),
           "launch cost of MSCCL's interpreter, which runs all other programs, on top of "
           "kernel_launch"),
      time("interpreter_block", &M::interpreter_block_s, 8, fitted(0.05e-6),
           "launch cost per thread block of the interpreter"),
      time("interpreter_step", &M::interpreter_step_s, 9, fitted(0.05e-6),
           "time that the interpreter adds to every instruction"),
      time("kernel_gap", &M::kernel_gap_s, 10, fittable(2e-6),
           "time between two kernels of one program on a GPU"),
      time("start_skew", &M::start_skew_s, 13, fittable(1e-6),
           "mean of the exponential delay by which each rank starts late, drawn anew for every "
           "repetition from the seed; 0: all ranks start at once"),
      count("max_thread_blocks", &M::max_thread_blocks, 11, 0, 1'000'000, "0",
            "thread blocks that a GPU can run at once, one per SM; configurations that need more "
            "are refused; 0: no limit"),
      count("resident_threads", &M::resident_threads, 12, 0, 4096, "0",
            "threads that fit on an SM: thread blocks of half as many share one; 0: a thread block "
            "fills an SM however few threads it has"),
      time("instruction_overhead", &M::instruction_overhead_s, 2, fittable(0.05e-6),
           "fixed cost of every instruction of a thread block"),
      count("full_threads", &M::full_threads, 0, 32, 1024, "512",
            "threads with which a thread block reaches its rates; fewer scale them down"),
      count("half_rate_threads", &M::half_rate_threads, 1, 0, 1'000'000, "0",
            "h, where t threads scale rates as t / (t + h); 0: linearly"),
      rate("local_copy_rate", &M::local_copy_rate_Bps, 3, fittable(20e9),
           "rate of a copy inside a GPU by one thread block with full_threads threads", kRequired),
      rate("local_reduce_rate", &M::local_reduce_rate_Bps, 4, fitted(20e9),
           "rate of a reduction inside a GPU by such a thread block; not given: local_copy_rate"),
      network(
          time("proxy_message", &M::proxy_message_s, 16, fittable(1e-6),
               "time for which a message over the network keeps the proxy of either rank busy (the "
               "host thread that serves all connections of the rank)")),
      network(size(
          "inline_limit", &M::inline_limit_bytes, 17,
          "messages over the network up to this size (bytes on the wire) go inside the command to "
          "the NIC, for which the host fetches them: proxy_inline of the protocol")),
      network(
          size("copy_limit", &M::copy_limit_bytes, 18,
               "larger messages over the network (bytes on the wire) are copied by the host with a "
               "call: they cost copy_latency, and are held to network_rate")),
      network(time("copy_latency", &M::copy_latency_s, 19, fittable(1e-6),
                   "time that the host's copy of a message takes before its first byte")),
      network(size(
          "copy_end", &M::copy_end_bytes, 25,
          "messages above this size are not moved by the host, because they are announced and the "
          "NIC puts them where they belong; 0: no such size")),
      network(
          size("eager_limit", &M::eager_limit_bytes, 20,
               "larger messages over the network (bytes on the wire) are announced before they are "
               "sent, which costs rendezvous_latency")),
      network(time(
          "rendezvous_latency", &M::rendezvous_latency_s, 21, fittable(5e-6),
          "time for the announcement of a message larger than eager_limit, and for the answer")),
      network(time(
          "proxy_rendezvous", &M::proxy_rendezvous_s, 22, fittable(5e-6),
          "time, on top of proxy_message, for which a message larger than eager_limit keeps the "
          "proxies busy")),
      network(
          size("network_burst", &M::network_burst_bytes, 23,
               "bytes that a link of the network passes at once before its rate holds: the token "
               "bucket of a rate limiter, full when a call begins")),
      network(
          rate("connection_rate", &M::connection_rate_Bps, 24, fittable(1e9),
               "wire rate of both directions together of the messages over the network between two "
               "ranks; not given: no limit")),
      share("switch_efficiency", &M::switch_efficiency, 14, fittable(0.8),
            "share of the rate of GPU links that is left for data which switches copy or add, on "
            "top of link_efficiency"),
      time("switch_latency", &M::switch_latency_s, 15, fittable(10e-6),
           "synchronisation of a step in which switches of a node copy or add, in place of the "
           "protocol's step_latency"),
      newer(share(
          "peer_efficiency", &M::peer_efficiency, 26, fittable(0.9),
          "share of the rates inside a node that is left to messages which a GPU exchanges with "
          "very many peers at once; with k peers, 1 - (1 - peer_efficiency) (k - 1) / k")),
      newer(field<M>(
          {.name = "even_efficiency",
           .kind = OptionKind::Real,
           .description = "share of the rates that is left where the thread blocks of a GPU could "
                          "send exactly as much as its link inside the node carries, or those of "
                          "all GPUs of a NIC as much as the NIC",
           .min = 0.5,
           .max = 1,
           .default_text = "1"},
          &M::even_efficiency, 27, fit_range(0.5, 1, fittable(0.9)))),
      newer(share("exchange_share", &M::exchange_share, 28, fittable(0.6),
                  "share of its rate that a thread block of NCCL's sends has for a message inside "
                  "a node while it receives another one; below 1, it moves at most 14 GB/s to "
                  "another node meanwhile")),
  };
  return fields;
}

const std::vector<CostField<ProtocolCost>>& protocol_fields() {
  using P = ProtocolCost;
  static const std::vector<CostField<ProtocolCost>> fields{
      time("step_latency", &P::step_latency_s, 0, fitted(0.5e-6),
           "synchronisation of one step (flag or fence), on top of the links' alpha", kRequired),
      network(time("network_latency", &P::network_latency_s, 1, fitted(1e-6),
                   "cost of a step that crosses a network link (proxy, rendezvous), on top of "
                   "step_latency")),
      network(time(
          "tree_latency", &P::tree_latency_s, 2, fittable(1e-6),
          "cost of such a step in a tree, where one thread block serves several peers, on top of "
          "network_latency")),
      share("efficiency", &P::efficiency, 3, fittable(0.9), "payload bytes per byte on the wire",
            kRequired),
      rate("thread_block_rate", &P::thread_block_rate_Bps, 4, fitted(15e9),
           "wire rate of one thread block with full_threads threads", kRequired),
      rate("reduce_rate", &P::reduce_rate_Bps, 5, fitted(10e9),
           "payload rate at which such a thread block receives and reduces", kRequired),
      network(rate("network_rate", &P::network_rate_Bps, 6, fitted(10e9),
                   "wire rate of one connection that crosses a network link; not given: no limit")),
      network(time(
          "proxy_message", &P::proxy_message_s, 7, fittable(1e-6),
          "time, on top of the model's proxy_message, for which a message of this protocol over "
          "the network keeps the proxy of either rank busy")),
      network(time("proxy_inline", &P::proxy_inline_s, 8, fittable(10e-6),
                   "time, on top of that, for a message of at most inline_limit")),
      network(time("proxy_copy", &P::proxy_copy_s, 9, fittable(1e-6),
                   "time, on top of that, for a message that the host copies, besides its bytes")),
      network(rate(
          "proxy_rate", &P::proxy_rate_Bps, 10, fittable(5e9),
          "wire rate at which a rank's proxy moves messages over the network of at most copy_end, "
          "those of all its connections together; not given: no limit")),
      network(time(
          "rendezvous_latency", &P::rendezvous_latency_s, 14, fittable(5e-6),
          "time for the announcement of a message larger than eager_limit, on top of the model's "
          "rendezvous_latency, which LL does not have")),
      size("slot_data", &P::slot_bytes, 11,
           "data in one slot of a connection's FIFO; tile size and slots `protocol` are made of "
           "it; 0: messages move whole"),
      count("slots", &P::slots, 12, 0, 8, "0", "slots of the FIFO; 0: any number"),
      count("message_slots", &P::message_slots, 13, 1, 8, "1",
            "slots that are filled before the receiver is told: the length of a tile"),
  };
  return fields;
}

const std::vector<CostField<CostModel>>& alpha_fields() {
  static const std::vector<CostField<CostModel>> fields{
      alpha(LinkKind::NvLink, fittable(0.15e-6)), alpha(LinkKind::Pcie, fittable(0.35e-6)),
      network(alpha(LinkKind::Network, fittable(0.8e-6))),
      alpha(LinkKind::Generic, fittable(0.5e-6))};
  return fields;
}

const std::vector<CostField<CostModel>>& link_efficiency_fields() {
  static const std::vector<CostField<CostModel>> fields{
      link_efficiency(LinkKind::NvLink, fitted(0.9)),
      link_efficiency(LinkKind::Pcie, fittable(0.9)),
      network(link_efficiency(LinkKind::Network, fitted(0.9))),
      link_efficiency(LinkKind::Generic, fittable(0.9))};
  return fields;
}

const std::vector<CostField<MpiCost>>& mpi_fields() {
  using M = MpiCost;
  static const std::vector<CostField<MpiCost>> fields{
      time("message", &M::message_s, 0, fittable(3e-6),
           "time for which the host works on a message before it leaves"),
      time("latency", &M::latency_s, 1, fittable(5e-6),
           "time from a message's last byte until the receiver's host knows of it, on top of the "
           "links' alpha"),
      size("eager_limit", &M::eager_limit_bytes, 2,
           "larger messages are announced before they are sent, which costs rendezvous_latency"),
      time("rendezvous_latency", &M::rendezvous_latency_s, 3, fittable(5e-6),
           "time for the announcement of a message larger than eager_limit, and for the answer"),
      rate("rate", &M::rate_Bps, 4, fittable(20e9),
           "wire rate of one message; not given: that of the links"),
      time("reduce_launch", &M::reduce_launch_s, 5, fittable(8e-6),
           "launch of the kernel that adds a message to the receiver's data, and the wait for it"),
      rate("reduce_rate", &M::reduce_rate_Bps, 6, fittable(200e9),
           "payload rate of that kernel, which uses the whole GPU; not given: no limit"),
      rate("host_copy_rate", &M::host_copy_rate_Bps, 7, fittable(25e9),
           "rate of copies between the memories of GPU and host, for programs that reduce on the "
           "host; not given: no limit"),
      rate("host_reduce_rate", &M::host_reduce_rate_Bps, 8, fittable(5e9),
           "payload rate at which the host adds; not given: no limit"),
      count("match_limit", &M::match_limit, 9, 0, 1'000'000, "0",
            "on a connection that carries more messages in a kernel, each costs match_overflow; 0: "
            "never"),
      time("match_overflow", &M::match_overflow_s, 10, fittable(10e-6),
           "time that such a message takes longer"),
  };
  return fields;
}

const std::vector<CostField<MatchingCost>>& matching_fields() {
  using M = MatchingCost;
  static const std::vector<CostField<MatchingCost>> fields{
      count("limit", &M::limit, 0, 0, 1'000'000, "0",
            "on a connection over the network that carries more messages in a kernel, each costs "
            "more; 0: never"),
      time("overflow", &M::overflow_s, 1, fittable(10e-6), "time that such a message takes longer"),
      time("overflow_added", &M::overflow_added_s, 2, fittable(50e-6),
           "time that such a message takes longer if its receiver adds it"),
  };
  return fields;
}

}  // namespace cclgym
