#include "experiments/measured/measured_run.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "core/counted.hpp"
#include "core/split.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "experiments/sweep/experiment_options.hpp"

namespace cclgym {

namespace {

// Largest number of ranks on one device.
int copies_of(const std::map<std::string, int>& places) {
  int most = 0;
  for (const auto& [place, count] : places) most = std::max(most, count);
  return most;
}

struct Host {
  int ranks = 0;
  std::map<std::string, int> places;
};

// Number of nodes of a group of devices. Throws UserError if their ranks differ.
int nodes_of(const std::vector<const MeasuredDevice*>& group, const SourceLocation& where) {
  std::map<std::string, Host> hosts;
  for (const MeasuredDevice* device : group) {
    Host& host = hosts[device->host];
    ++host.ranks;
    ++host.places[device->place];
  }
  int nodes = 0;
  std::optional<std::pair<std::string, int>> first;
  for (const auto& [name, host] : hosts) {
    // Containers of several nodes may share a name. Then each device occurs once a container.
    const int containers = copies_of(host.places);
    const int ranks = host.ranks / containers;
    const bool even =
        host.ranks % containers == 0 &&
        std::ranges::all_of(host.places, [&](const auto& one) { return one.second == containers; });
    if (!even) {
      throw UserError(where, fmt::format("{} has {} on devices that occur up to {} times; expected "
                                         "each device as often as the others",
                                         quoted(name), counted(host.ranks, "rank"), containers));
    }
    if (first && first->second != ranks) {
      throw UserError(where, fmt::format("the ranks do not fill the nodes evenly: {} on {}, but {} "
                                         "on {}; expected as many on every node",
                                         first->second, quoted(first->first), ranks, quoted(name)));
    }
    first = {name, ranks};
    nodes += containers;
  }
  return nodes;
}

// True if the group's hosts may be `nodes` nodes: containers that share a name show as many devices
// of each number as they are, on buses of their own.
bool may_share_names(const std::vector<const MeasuredDevice*>& group, int hosts, int nodes) {
  std::map<std::string, int> numbers;
  for (const MeasuredDevice* device : group) {
    ++numbers[device->host + ' ' + device->place.substr(0, device->place.find('['))];
  }
  return nodes % hosts == 0 && std::ranges::all_of(numbers, [&](const auto& number) {
           return number.second % (nodes / hosts) == 0;
         });
}

// An option must not contradict the output.
void require_as_said(std::string_view name, int printed, const std::optional<int>& option,
                     const SourceLocation& where) {
  if (!option || *option == printed) return;
  const std::string_view one = name.substr(0, name.size() - 1);
  throw UserError(where, fmt::format("the list of devices has {}, but --{} says {}; leave it out",
                                     counted(printed, one), name, *option));
}

// Times of one rank tell nothing about calls of several, even if mpirun started eight such runs.
[[noreturn]] void refuse_lone_ranks(std::size_t processes, const SourceLocation& where,
                                    const std::optional<int>& said) {
  std::string expected;
  if (said) {
    expected = fmt::format(", but --ranks says {}; expected the lines of all {}", *said, *said);
  } else if (processes == 1) {
    expected = "; expected at least 2";
  }
  const std::string found =
      processes > 1 ? fmt::format("has {} times rank 0, of processes that ran alone", processes)
                    : "has 1 rank ('#  Rank  0 … on HOST')";
  throw UserError(where, fmt::format("the list of devices {}{} (nccl-tests built without MPI=1 "
                                     "runs every process alone)",
                                     found, expected));
}

// Columns of nccl-tests in the rows of a collective.
struct PrintedForm {
  CollectiveKind collective;
  bool part;    // the count is of one rank's part of the size
  bool redop;   // an operation, not "none"
  bool rooted;  // a root, not -1
};

constexpr std::array<PrintedForm, 9> kPrintedForms{
    {{CollectiveKind::AllReduce, false, true, false},
     {CollectiveKind::AllGather, true, false, false},
     {CollectiveKind::ReduceScatter, true, true, false},
     {CollectiveKind::Broadcast, false, false, true},
     {CollectiveKind::Reduce, false, true, true},
     {CollectiveKind::AllToAll, true, false, false},
     {CollectiveKind::AllToNext, false, true, false},
     {CollectiveKind::Gather, true, false, true},
     {CollectiveKind::Scatter, true, false, true}}};

// The number of parts of the row's size that its count is one of; 0 if the row does not state it.
std::uint64_t parts_of(const Measurement& row) {
  const auto type =
      std::ranges::find(data_types(), row.printed.type, &std::pair<std::string, int>::first);
  if (type == data_types().end() || row.printed.count == 0) return 0;
  const std::uint64_t part = row.printed.count * static_cast<std::uint64_t>(type->second);
  return row.bytes % part == 0 ? row.bytes / part : 0;
}

bool may_be(const PrintedForm& form, const Measurement& row) {
  const PrintedCall& printed = row.printed;
  const std::uint64_t parts = parts_of(row);
  if (parts > 0 && (parts > 1) != form.part) return false;
  if (printed.root && (*printed.root >= 0) != form.rooted) return false;
  // sendrecv_perf has printed "sum" and "none".
  const bool stated = !printed.redop.empty() && form.collective != CollectiveKind::AllToNext;
  return !stated || (printed.redop != "none") == form.redop;
}

}  // namespace

void MeasuredRun::set_version_code(int code) {
  constexpr int kFirstOfNewCodes = 10000;
  if (code >= kFirstOfNewCodes) {
    version = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  } else if (code > 0) {
    version = fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
  }
}

MeasuredRun::Layout MeasuredRun::layout(const SourceLocation& where,
                                        const MeasuredFileContext& context) const {
  if (devices.empty()) {
    if (!context.ranks) {
      throw UserError(where,
                      "the output does not state the number of ranks ('#  Rank  0 … on HOST'); "
                      "give it with --ranks");
    }
    const int nodes = context.nodes.value_or(1);
    if (*context.ranks % nodes != 0) {
      throw UserError(where,
                      fmt::format("{} ranks do not fill {} nodes evenly", *context.ranks, nodes));
    }
    return {*context.ranks, nodes, 1};
  }
  if (devices.size() == 1) refuse_lone_ranks(1, where, context.ranks);
  std::map<int, int> times;
  std::map<int, std::vector<const MeasuredDevice*>> groups;
  for (const MeasuredDevice& device : devices) {
    ++times[device.rank];
    groups[device.group].push_back(&device);
  }
  for (const auto& [rank, count] : times) {
    if (count == 1) continue;
    if (times.size() == 1) refuse_lone_ranks(devices.size(), where, context.ranks);
    throw UserError(where, fmt::format("the list of devices has rank {} {} times, from several "
                                       "jobs that ran at once; expected one job",
                                       rank, count));
  }
  const int last = times.rbegin()->first;
  for (int rank = 0; rank < last; ++rank) {
    if (times.contains(rank)) continue;
    throw UserError(where, fmt::format("the list of devices has rank {}, but not rank {}; expected "
                                       "the lines of all ranks",
                                       last, rank));
  }
  const auto& first = *groups.begin();
  Layout found{static_cast<int>(first.second.size()), nodes_of(first.second, where),
               static_cast<int>(groups.size())};
  for (const auto& [number, group] : groups) {
    if (static_cast<int>(group.size()) == found.ranks && nodes_of(group, where) == found.nodes) {
      continue;
    }
    throw UserError(
        where,
        fmt::format("group {} has {} on {}, but group {} has {} on {}; expected "
                    "groups that are alike (NCCL_TESTS_SPLIT)",
                    first.first, counted(found.ranks, "rank"), counted(found.nodes, "node"), number,
                    counted(group.size(), "rank"), counted(nodes_of(group, where), "node")));
  }
  if (found.ranks == 1) {
    throw UserError(where, "every group has one rank (NCCL_TESTS_SPLIT); expected at least 2");
  }
  require_as_said("ranks", found.ranks, context.ranks, where);
  if (context.nodes && may_share_names(first.second, found.nodes, *context.nodes)) {
    found.nodes = *context.nodes;
  }
  require_as_said("nodes", found.nodes, context.nodes, where);
  return found;
}

void MeasuredRun::release_of(Measurement& row, const MeasuredFileContext& context) const {
  row.nccl_version = version.empty() ? context.nccl_version.value_or("") : version;
  if (version.empty() || !context.nccl_version || *context.nccl_version == version) return;
  // The model of a release that is not modelled itself may be named.
  const NcclVersion named = nearest_modelled_nccl(*context.nccl_version);
  if (named == nearest_modelled_nccl(version) && !is_modelled_nccl(version)) {
    row.nccl_version = *context.nccl_version;
    return;
  }
  throw UserError(row.where, fmt::format("the output is of NCCL {}, but --nccl says {}; leave it "
                                         "out",
                                         version, *context.nccl_version));
}

void MeasuredRun::check_options(const Measurement& row, const MeasuredFileContext& context) const {
  const PrintedForm* said =
      std::ranges::find(kPrintedForms, row.collective, &PrintedForm::collective);
  if (said == kPrintedForms.end()) return;
  if (!collective && !may_be(*said, row)) {
    std::vector<std::string_view> fitting;
    for (const PrintedForm& form : kPrintedForms) {
      if (may_be(form, row)) fitting.push_back(to_string(form.collective));
    }
    throw UserError(
        row.where,
        fmt::format(
            "the row (count {}, {}, redop {}, root {}) is not one of {}, which --collective "
            "says{}; give each run a file of its own",
            row.printed.count, row.printed.type,
            row.printed.redop.empty() ? "not stated" : row.printed.redop,
            row.printed.root ? std::to_string(*row.printed.root) : "not stated",
            to_string(row.collective),
            fitting.empty() ? "" : fmt::format(", but of {}", fmt::join(fitting, " or "))));
  }
  const std::uint64_t parts = parts_of(row);
  if (devices.empty() && context.ranks && said->part && parts > 1 &&
      parts != static_cast<std::uint64_t>(row.ranks)) {
    throw UserError(row.where,
                    fmt::format("the row's count is that of {} ranks ({} elements of {} in {} B), "
                                "but --ranks says {}",
                                parts, row.printed.count, row.printed.type, row.bytes, row.ranks));
  }
}

void MeasuredRun::complete(Measurement& row, const MeasuredFileContext& context) const {
  if (!unknown.empty()) {
    throw UserError(row.where, fmt::format("the rows are of {}, which is not a collective that can "
                                           "be simulated; leave them out",
                                           unknown));
  }
  const std::optional<CollectiveKind> kind = collective ? collective : context.collective;
  if (!kind) {
    throw UserError(row.where,
                    "the output does not name the collective; give it with --collective");
  }
  row.collective = *kind;
  const Layout found = layout(row.where, context);
  row.ranks = found.ranks;
  row.nodes = found.nodes;
  check_options(row, context);
  row.nodes_stated = !devices.empty() || context.nodes.has_value();
  row.system = context.system.value_or("");
  if (!devices.empty()) row.gpu = devices.front().model;
  for (const MeasuredDevice& device : devices) {
    if (device.model == row.gpu) continue;
    row.notes.push_back(fmt::format("the run had {} and {}; the simulation has one kind of GPU",
                                    row.gpu, device.model));
    break;
  }
  if (found.groups > 1) {
    row.notes.push_back(fmt::format(
        "{} groups of {} ran the call at once (NCCL_TESTS_SPLIT); the simulation is of one alone",
        found.groups, counted(found.ranks, "rank")));
  }
  row.notes.insert(row.notes.end(), notes.begin(), notes.end());
  row.network = network;
  release_of(row, context);
  variables.complete(row);
}

}  // namespace cclgym
