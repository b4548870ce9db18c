#include "experiments/measured/measured_run.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "core/counted.hpp"
#include "core/split.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"
#include "experiments/sweep/experiment_options.hpp"

namespace cclgym {

namespace {

// Variables of NCCL that change its choice or the paths of messages, besides NCCL_ALGO and
// NCCL_PROTO.
constexpr std::array<std::string_view, 25> kUnmodelled{
    "NCCL_BUFFSIZE",       "NCCL_COLLNET_ENABLE",    "NCCL_GRAPH_FILE",   "NCCL_IB_DISABLE",
    "NCCL_LL128_BUFFSIZE", "NCCL_LL_BUFFSIZE",       "NCCL_MAX_CTAS",     "NCCL_MAX_NCHANNELS",
    "NCCL_MAX_NRINGS",     "NCCL_MAX_P2P_NCHANNELS", "NCCL_MIN_CTAS",     "NCCL_MIN_NCHANNELS",
    "NCCL_MIN_NRINGS",     "NCCL_MIN_P2P_NCHANNELS", "NCCL_MNNVL_ENABLE", "NCCL_NET",
    "NCCL_NTHREADS",       "NCCL_NVLS_ENABLE",       "NCCL_P2P_DISABLE",  "NCCL_P2P_LEVEL",
    "NCCL_PXN_DISABLE",    "NCCL_SHM_DISABLE",       "NCCL_TOPO_FILE",    "NCCL_TUNER_CONFIG_FILE",
    "NCCL_TUNER_PLUGIN"};

// The name without what separates its words: "nvlstree" for "NVLSTree" and "nvls-tree".
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : lower_case(name)) {
    if (c != '-' && c != '_') letters += c;
  }
  return letters;
}

// The library's name of the one algorithm that NCCL_ALGO allows; empty for other values.
std::string algorithm_of(std::string_view value) {
  for (const NcclAlgorithmNames& names : kNcclAlgorithmNames) {
    if (!names.ours.empty() && plain(names.ours) == plain(value)) return std::string(names.ours);
  }
  return {};
}

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

void MeasuredRun::set_variable(std::string_view name, std::string_view value) {
  while (value.ends_with('.') || value.ends_with('"') || value.ends_with('\'')) {
    value.remove_suffix(1);
  }
  while (value.starts_with('"') || value.starts_with('\'')) value.remove_prefix(1);
  if (name == "NCCL_ALGO") {
    algorithm_ = value;
  } else if (name == "NCCL_PROTO") {
    protocol_ = value;
  } else if (name == "NCCL_CROSS_NIC") {
    cross_nic_ = value.empty() ? std::nullopt : std::optional(value != "0");
  } else if (std::ranges::find(kUnmodelled, name) != kUnmodelled.end()) {
    if (value.empty()) {
      others_.erase(std::string(name));
    } else {
      others_[std::string(name)] = value;
    }
  }
}

void MeasuredRun::set_variables(std::string_view text) {
  std::string_view named;  // "NCCL_ALGO" behind mpiexec's -genv, whose value is a word of its own
  std::string_view before;
  for (std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!named.empty()) set_variable(named, word);
    named = {};
    const std::size_t start = word.find("NCCL_");
    if (start != std::string_view::npos) {
      // srun's "--export=ALL,NCCL_ALGO=Ring,NCCL_PROTO=LL" has several.
      const bool several = word.starts_with("--export=");
      for (std::string_view part : split(word.substr(start), several ? ',' : ' ')) {
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) continue;
        set_variable(part.substr(0, equals), part.substr(equals + 1));
      }
      if (before == "-genv" || before == "-env") named = word;
    }
    before = word;
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

void MeasuredRun::allow_by_environment(Measurement& row) const {
  std::set<std::string> left_out;
  for (const auto& [name, value] : others_) left_out.insert(fmt::format("{}={}", name, value));
  const std::string algorithm = algorithm_of(algorithm_);
  const std::optional<Protocol> protocol = parse_protocol(protocol_);
  if (!algorithm_.empty() && algorithm.empty()) left_out.insert("NCCL_ALGO=" + algorithm_);
  if (!protocol_.empty() && !protocol) left_out.insert("NCCL_PROTO=" + protocol_);
  if (protocol) row.allowed = fmt::format(":{}", to_string(*protocol));
  if (!algorithm.empty()) {
    row.allowed = fmt::format("{}:{}", row.allowed.empty() ? ":" : row.allowed, algorithm);
  }
  row.cross_nic = cross_nic_;
  if (!left_out.empty()) {
    row.settings = fmt::format("{}", fmt::join(left_out, ", "));
    row.notes.push_back(
        fmt::format("the run had {}, which the simulation leaves out", row.settings));
  }
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
  allow_by_environment(row);
}

}  // namespace cclgym
