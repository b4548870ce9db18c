// Records of the keys of job files.
#include <algorithm>
#include <fmt/format.h>

#include "workloads/readers/job_file.hpp"

namespace cclgym {

namespace {

constexpr double kMaxIndex = 2147483647;

OptionSpec rank_list(const std::string& name, const std::string& description) {
  return {.name = name,
          .kind = OptionKind::Integer,
          .shape = OptionShape::OneOrList,
          .description = description,
          .min = 0,
          .max = kMaxIndex};
}

OptionSpec small_integer(const std::string& name, const std::string& description) {
  return {.name = name,
          .kind = OptionKind::Integer,
          .description = description,
          .min = 0,
          .max = kMaxIndex};
}

OptionSpec payload(const std::string& name, const std::string& description) {
  return {.name = name,
          .kind = OptionKind::Bytes,
          .description = description,
          .min = 1,
          .max = static_cast<double>(kMostCallBytes)};
}

// The spellings of a collective that nccl-tests and people use.
std::vector<std::string> spellings(std::string_view collective) {
  if (collective == "allreduce") return {"all_reduce", "all-reduce"};
  if (collective == "allgather") return {"all_gather", "all-gather"};
  if (collective == "reducescatter") return {"reduce_scatter", "reduce-scatter"};
  if (collective == "alltoall") return {"all_to_all", "all-to-all"};
  if (collective == "alltonext") return {"all_to_next", "all-to-next"};
  return {};
}

std::vector<OptionSpec> op_options() {
  std::vector<OptionSpec> specs{
      {.name = "compute",
       .kind = OptionKind::Time,
       .description = "computation of this duration on a GPU that does nothing else"},
      {.name = "flop",
       .kind = OptionKind::Real,
       .description = "computation of this many floating-point operations (roofline)",
       .unit = "FLOP",
       .min = 0},
      {.name = "memory",
       .kind = OptionKind::Bytes,
       .description = "bytes that a computation reads from and writes to the GPU's memory "
                      "(roofline), with `flop` or alone"},
  };
  for (const CollectiveKind kind : all_collectives()) {
    OptionSpec spec = payload(std::string(to_string(kind)),
                              fmt::format("{} of this collective size", to_string(kind)));
    spec.aliases = spellings(spec.name);
    specs.push_back(spec);
  }
  specs.push_back(payload("send", "message of this size to rank `to`"));
  specs.push_back(payload("recv", "message of this size from rank `from`"));
  specs.push_back({.name = "repeat",
                   .kind = OptionKind::Integer,
                   .description = "number of repetitions of the operations `ops`",
                   .min = 1,
                   .max = kMaxIndex});
  specs.push_back({.name = "ops",
                   .kind = OptionKind::Mapping,
                   .shape = OptionShape::List,
                   .description = "operations that are repeated, with `repeat`"});
  specs.push_back({.name = "name",
                   .description = "name, which need not be unique; not given: the collective, "
                                  "compute, send or recv"});
  specs.push_back(
      {.name = "label", .description = "second name for `after`, where names are not unique"});
  specs.push_back(
      {.name = "on", .description = "communicator of the communication; not given: the only one"});
  specs.push_back(small_integer("root",
                                "index of the root in its process group, of a broadcast, "
                                "reduce, gather or scatter; not given: 0"));
  specs.push_back(small_integer("to", "index of the receiver in the process group"));
  specs.push_back(small_integer("from", "index of the sender in the process group"));
  specs.push_back(small_integer("tag",
                                "only sends and recvs with the same tag match; not given: "
                                "0"));
  specs.push_back({.name = "stream",
                   .description = "stream, whose operations run one after another; not given: "
                                  "`compute`, or the name of the communicator"});
  specs.push_back({.name = "after",
                   .shape = OptionShape::OneOrList,
                   .description = "names or labels of operations of the program that must be done "
                                  "first"});
  return specs;
}

}  // namespace

const std::vector<OptionSpec>& job_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "job", .description = "name of the job", .default_text = "job"},
      {.name = "ranks",
       .kind = OptionKind::Integer,
       .description = "number of ranks",
       .min = 1,
       .max = 1 << 18},
      {.name = "communicators",
       .kind = OptionKind::Mapping,
       .description = "kinds of process groups, by name"},
      {.name = "programs",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "programs of the ranks; each rank has one"},
      {.name = "generate",
       .kind = OptionKind::Mapping,
       .description = "generator of the job, instead of `ranks` and `programs`"},
  };
  return specs;
}

const std::vector<OptionSpec>& job_communicator_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "groups",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "process groups, each a list or a range of ranks in the order of their "
                      "indices in the group; a rank is in at most one"},
      {.name = "tuner",
       .description = "tuner or configuration (`ring/LL128/8`) of its calls; not given: that of "
                      "the job"},
  };
  return specs;
}

const std::vector<OptionSpec>& job_program_options() {
  static const std::vector<OptionSpec> specs = [] {
    std::vector<OptionSpec> list{
        rank_list("ranks", "ranks that run the program: one, a list, or a range such as `0..3`"),
        {.name = "ops",
         .kind = OptionKind::Mapping,
         .shape = OptionShape::List,
         .description = "operations; an empty list for idle ranks"},
    };
    for (OptionSpec& spec : list) spec.required = true;
    return list;
  }();
  return specs;
}

const std::vector<OptionSpec>& job_op_options() {
  static const std::vector<OptionSpec> specs = op_options();
  return specs;
}

}  // namespace cclgym
