#include "env/tuning/workload/workload.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>

#include "core/error.hpp"
#include "env/tuning/workload/workload_streams.hpp"

namespace cclgym {

namespace {

// A mapping whose keys have been checked.
struct Reader {
  const YamlValue& mapping;
  const std::vector<OptionSpec>& specs;

  [[nodiscard]] const OptionSpec& spec(std::string_view key) const {
    return find_option(specs, key);
  }
  [[nodiscard]] YamlValue value(std::string_view key) const {
    return option_value(mapping, spec(key));
  }
};

std::vector<CollectiveKind> read_collectives(const Reader& reader) {
  std::vector<CollectiveKind> kinds;
  for (const std::size_t i :
       read_choices(reader.value("collectives"), reader.spec("collectives"))) {
    if (std::ranges::find(kinds, all_collectives()[i]) == kinds.end()) {
      kinds.push_back(all_collectives()[i]);
    }
  }
  return kinds;
}

enum class Part : std::uint8_t { Train, HeldOut, All };

std::vector<WorkloadCall> sweep_cells(const Reader& reader, const WorkloadSite& site) {
  const auto part = static_cast<Part>(read_choice(reader.value("part"), reader.spec("part")));
  std::vector<std::uint64_t> sizes = read_byte_sizes(reader.value("sizes"), reader.spec("sizes"));
  std::ranges::sort(sizes);
  std::vector<std::uint64_t> chosen;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (part != Part::HeldOut) chosen.push_back(sizes[i]);
    if (part == Part::Train || i + 1 == sizes.size()) continue;
    // The geometric middle of two training sizes is approximately their mean minus a twelfth of
    // their difference; integer arithmetic gives the same bits everywhere.
    const std::uint64_t apart = sizes[i + 1] - sizes[i];
    chosen.push_back(sizes[i] + apart / 12 * 5);
  }
  std::vector<WorkloadCall> cells;
  for (const CollectiveKind kind : read_collectives(reader)) {
    for (const std::uint64_t bytes : chosen) {
      WorkloadCall cell;
      cell.call = {.collective = kind, .bytes = fitting_bytes(kind, bytes, site.ranks)};
      cell.context.ends_step = true;
      cells.push_back(cell);
    }
  }
  if (cells.empty()) {
    throw UserError(reader.value("sizes").location(),
                    "a sweep of one size has no held-out sizes; expected two sizes or more");
  }
  return cells;
}

std::unique_ptr<Workload> read_curriculum(const Reader& reader, const WorkloadSite& site) {
  const std::uint64_t least = read_bytes(reader.value("least"), reader.spec("least"));
  const std::uint64_t most = read_bytes(reader.value("most"), reader.spec("most"));
  if (most < least) {
    throw UserError(reader.value("most").location(), "most must be at least as large as least");
  }
  return std::make_unique<CurriculumWorkload>(read_collectives(reader), least, most, site.ranks);
}

WorkloadCall read_call(const YamlValue& item, const WorkloadSite& site) {
  check_keys(item, trace_call_options(), "call");
  const Reader reader{item, trace_call_options()};
  const auto integer = [&](std::string_view key) {
    return static_cast<int>(read_integer(reader.value(key), reader.spec(key)));
  };
  const auto flag = [&](std::string_view key) {
    return read_flag(reader.value(key), reader.spec(key));
  };
  WorkloadCall one;
  one.call.collective =
      all_collectives()[read_choice(reader.value("collective"), reader.spec("collective"))];
  one.call.bytes = fitting_bytes(one.call.collective,
                                 read_bytes(reader.value("size"), reader.spec("size")), site.ranks);
  one.call.root = integer("root");
  if (one.call.root >= site.ranks) {
    throw UserError(
        reader.value("root").location(),
        fmt::format("root must be a rank from 0 to {}, found {}", site.ranks - 1, one.call.root));
  }
  one.context.compute_s = read_time_s(reader.value("compute"), reader.spec("compute"));
  one.context.intensity = read_real(reader.value("intensity"), reader.spec("intensity"));
  one.context.pipe_ops = integer("pipe_ops");
  one.context.local_batch = integer("local_batch");
  one.context.overlaps = flag("overlaps");
  one.context.pipeline = flag("pipeline");
  one.context.ends_step = flag("ends_step");
  return one;
}

std::unique_ptr<Workload> read_trace(const Reader& reader, const WorkloadSite& site) {
  YamlValue calls = reader.value("calls");
  if (calls.is_null()) {
    const YamlValue file = reader.value("file");
    if (file.is_null()) {
      throw UserError(reader.mapping.location(),
                      "a trace needs key calls, or key file with a list of calls");
    }
    std::filesystem::path path(read_text(file, reader.spec("file")));
    if (path.is_relative()) {
      path = std::filesystem::path(file.location().file).parent_path() / path;
    }
    calls = load_yaml_file(path.string());
  }
  std::vector<WorkloadCall> read;
  for (const YamlValue& item : read_items(calls, reader.spec("calls"))) {
    read.push_back(read_call(item, site));
  }
  read.back().context.ends_step = true;
  return std::make_unique<IterationWorkload>("trace", std::move(read));
}

std::unique_ptr<Workload> read_mixed(const Reader& reader, const WorkloadSite& site) {
  const YamlValue workloads = reader.value("workloads");
  if (workloads.is_null()) {
    throw UserError(reader.mapping.location(), "workload mixed needs key workloads, a list");
  }
  std::vector<std::unique_ptr<Workload>> parts;
  for (const YamlValue& item : read_items(workloads, reader.spec("workloads"))) {
    parts.push_back(read_workload(item, site));
  }
  return std::make_unique<MixedWorkload>(std::move(parts));
}

}  // namespace

WorkloadSite workload_site(const Fabric& fabric) { return {fabric.ranks(), fabric.gpu_model()}; }

const std::vector<WorkloadInfo>& workload_infos() {
  static const std::vector<WorkloadInfo> infos = [] {
    std::vector<WorkloadInfo> list = job_infos();
    list.push_back({"sweep", "every size of every collective, repeatedly in random order"});
    list.push_back({"curriculum", "calls of random collectives and log-uniform sizes"});
    list.push_back({"trace", "calls listed in a file"});
    list.push_back({"mixed", "iterations of several workloads in turn"});
    list.push_back({"job", "calls of one communicator of a job, whose step is simulated"});
    return list;
  }();
  return infos;
}

const std::vector<OptionSpec>& workload_options() {
  static const std::vector<OptionSpec> specs{
      {.name = "name", .description = "name of the workload", .required = true},
      {.name = "collectives",
       .kind = OptionKind::Choice,
       .shape = OptionShape::OneOrList,
       .description = "collectives of sweep and curriculum",
       .default_text = "[allreduce]",
       .choices = collective_names()},
      {.name = "sizes",
       .kind = OptionKind::Bytes,
       .shape = OptionShape::OneOrList,
       .description = "sizes of sweep",
       .min = 1,
       .default_text = "1KiB..1GiB x2"},
      {.name = "part",
       .kind = OptionKind::Choice,
       .description =
           "sizes that sweep uses: the sizes themselves, one between every two of them, or both",
       .default_text = "train",
       .choices = {"train", "held-out", "all"}},
      {.name = "order",
       .kind = OptionKind::Choice,
       .description = "order of the cells of sweep",
       .default_text = "random",
       .choices = {"random", "listed"}},
      {.name = "least",
       .kind = OptionKind::Bytes,
       .description = "smallest size of curriculum",
       .min = 1,
       .default_text = "1KiB"},
      {.name = "most",
       .kind = OptionKind::Bytes,
       .description = "largest size of curriculum",
       .min = 1,
       .default_text = "1GiB"},
      {.name = "calls",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "calls of one iteration of trace"},
      {.name = "file",
       .description = "file with the list of calls of trace (YAML), if calls is not given, or with "
                      "the job of job"},
      {.name = "workloads",
       .kind = OptionKind::Mapping,
       .shape = OptionShape::List,
       .description = "workloads of mixed: names or mappings"},
      {.name = "job",
       .kind = OptionKind::Mapping,
       .description = "the job of job itself, as in a file of a job, if file is not given"},
      {.name = "communicator",
       .description =
           "communicator of job whose calls are chosen; not needed if it is the only one "
           "with collective calls"},
  };
  return specs;
}

const std::vector<OptionSpec>& trace_call_options() {
  const auto flag = [](const std::string& name, const std::string& description) {
    return OptionSpec{.name = name,
                      .kind = OptionKind::Flag,
                      .description = description,
                      .default_text = "false"};
  };
  const auto count = [](const std::string& name, const std::string& description, double least,
                        const std::string& default_text) {
    return OptionSpec{.name = name,
                      .kind = OptionKind::Integer,
                      .description = description,
                      .min = least,
                      .max = 2147483647,
                      .default_text = default_text};
  };
  static const std::vector<OptionSpec> specs{
      {.name = "collective",
       .kind = OptionKind::Choice,
       .description = "collective of the call",
       .required = true,
       .choices = collective_names()},
      {.name = "size",
       .kind = OptionKind::Bytes,
       .description = "collective size (the larger of a rank's two buffers), rounded up to a "
                      "multiple that the ranks divide",
       .min = 1,
       .required = true},
      count("root", "root of rooted collectives", 0, "0"),
      {.name = "compute",
       .kind = OptionKind::Time,
       .description = "compute time since the previous call",
       .default_text = "0us"},
      {.name = "intensity",
       .kind = OptionKind::Real,
       .description = "FLOP of an iteration per communicated byte",
       .min = 0,
       .default_text = "0"},
      count("pipe_ops", "operations launched together (numPipeOps)", 1, "1"),
      count("local_batch", "samples on one GPU; 0: not known", 0, "0"),
      flag("overlaps", "true if the job computes while the call runs"),
      flag("pipeline", "true if the job is pipeline-parallel"),
      flag("ends_step",
           "true if the call ends an iteration; the last call of the list always does"),
  };
  return specs;
}

std::unique_ptr<Workload> read_workload(const YamlValue& value, const WorkloadSite& site) {
  std::string name;
  YamlValue mapping;
  SourceLocation where = value.location();
  if (value.is_mapping()) {
    check_keys(value, workload_options(), "workload");
    mapping = value;
    const YamlValue named = option_value(value, find_option(workload_options(), "name"));
    name = read_text(named, find_option(workload_options(), "name"));
    where = named.location();
  } else {
    name = read_text(value, find_option(workload_options(), "name"));
    mapping = parse_yaml("{}", where.file);
  }
  const Reader reader{mapping, workload_options()};
  if (name == "sweep") {
    return std::make_unique<SweepWorkload>(
        sweep_cells(reader, site), read_choice(reader.value("order"), reader.spec("order")) == 0);
  }
  if (name == "curriculum") return read_curriculum(reader, site);
  if (name == "trace") return read_trace(reader, site);
  if (name == "mixed") return read_mixed(reader, site);
  if (name == "job") {
    throw UserError(where,
                    "workload job cannot be a part of another workload; expected it as the "
                    "workload of the environment");
  }
  std::vector<WorkloadCall> iteration = job_iteration(name, site);
  if (!iteration.empty()) {
    return std::make_unique<IterationWorkload>(name, std::move(iteration));
  }
  std::vector<std::string> names;
  for (const WorkloadInfo& info : workload_infos()) names.push_back(info.name);
  throw UserError(where, unknown_name_message("workload", name, names));
}

}  // namespace cclgym
