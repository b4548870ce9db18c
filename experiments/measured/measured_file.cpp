#include "experiments/measured/measured_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <string_view>

#include "collectives/library/algorithm_library.hpp"
#include "core/files/text_file.hpp"
#include "core/split.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"
#include "experiments/measured/measured_columns.hpp"
#include "experiments/measured/measured_json.hpp"
#include "experiments/measured/measured_line.hpp"
#include "experiments/measured/nccl_tests_text.hpp"
#include "experiments/measured/osu_text.hpp"
#include "sim/call/config_options.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 30;
/// Algorithm of rows in which a policy chose.
constexpr std::string_view kChosenByPolicy = "policy";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Value of a key in the column extra (key=value;…); empty if it is not there.
std::string extra_of(const MeasuredLine& reader, std::string_view key) {
  const std::string text = reader.text("extra");
  for (const std::string_view item : split(text, ';')) {
    const std::size_t equals = item.find('=');
    if (equals != std::string_view::npos && item.substr(0, equals) == key) {
      return std::string(item.substr(equals + 1));
    }
  }
  return {};
}

// The configuration that NCCL's log says it used. nullopt if the row does not have it, or if the
// library does not have the algorithm (CollNet).
std::optional<Config> used_config(const MeasuredLine& reader) {
  const auto algorithm = nccl_algorithm_of_csv(extra_of(reader, "used_algorithm"));
  const auto protocol = parse_protocol(extra_of(reader, "used_protocol"));
  const std::string text = extra_of(reader, "used_channels");
  int channels = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), channels);
  if (!algorithm || !protocol || channels < 1 || channels > kMostCallChannels) return std::nullopt;
  const std::string_view ours = kNcclAlgorithmNames[static_cast<std::size_t>(*algorithm)].ours;
  if (ours.empty()) return std::nullopt;
  return Config{.algorithm = std::string(ours), .protocol = *protocol, .channels = channels};
}

// Reads the row's configuration.
void read_config(const MeasuredLine& reader, Measurement& row) {
  if (!reader.given("algorithm")) return;
  const std::string algorithm = reader.text("algorithm");
  if (algorithm == "default" || algorithm == kChosenByPolicy) return;
  if (algorithm.ends_with("-default")) {
    row.tuner = algorithm.starts_with("nccl") ? "" : algorithm;
    return;
  }
  // `calibrate nccl` writes the names of NCCL's tuner: nvls_tree.
  const auto of_nccl = nccl_algorithm_of_csv(algorithm);
  const std::string_view ours =
      of_nccl ? kNcclAlgorithmNames[static_cast<std::size_t>(*of_nccl)].ours : "";
  Config config{.algorithm = ours.empty() ? algorithm : std::string(ours)};
  try {
    (void)AlgorithmLibrary::shipped().at(config.algorithm);
  } catch (const UserError& error) {
    reader.refuse("algorithm", error.what());
  }
  if (reader.given("protocol")) {
    const std::string protocol = reader.text("protocol");
    try {
      config.protocol = read_protocol(protocol, {});
    } catch (const UserError& error) {
      reader.refuse("protocol", error.what());
    }
  }
  if (reader.given("channels")) {
    config.channels = reader.count("channels", 1, kMostCallChannels);
  } else {
    row.channels_stated = false;
  }
  if (reader.given("segment_bytes") && reader.text("segment_bytes") != "0") {
    config.tile_bytes = reader.bytes("segment_bytes");
  }
  // NCCL uses fewer channels than it was asked for if they would get too little traffic.
  if (const auto used = used_config(reader)) {
    config.channels = used->channels;
    row.channels_stated = true;
  }
  row.named = config;
}

// The column samples_us of a sweep: numbers separated by blanks, outliers with a mark.
std::vector<double> samples_of(const MeasuredLine& reader) {
  std::vector<double> samples_s;
  const std::string text = reader.text("samples_us");
  for (std::string_view word : split(text, ' ')) {
    if (word.ends_with('!')) word.remove_suffix(1);
    if (word.empty()) continue;
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || !(value > 0)) {
      reader.fail("samples_us",
                  fmt::format("has {}; expected times in microseconds, > 0", quoted(word)));
    }
    samples_s.push_back(value * 1e-6);
  }
  return samples_s;
}

// Number of nodes in the label of a fabric ("ndv4 nodes=2"); 0 if it does not have one.
int nodes_of_label(const std::string& label) {
  int nodes = 0;
  for (std::string_view word : split(label, ' ')) {
    for (const std::string_view key : {"servers=", "nodes="}) {
      if (!word.starts_with(key)) continue;
      word.remove_prefix(key.size());
      (void)std::from_chars(word.data(), word.data() + word.size(), nodes);
    }
  }
  return nodes;
}

Measurement read_row(const MeasuredLine& reader, const MeasuredFileContext& context) {
  Measurement row;
  row.system = reader.has("system") ? reader.text("system") : context.system.value_or("");
  // N/A: the run did not check its values (-c 0).
  if (reader.given(kWrongColumn) && reader.text(kWrongColumn) != "N/A" &&
      reader.count(kWrongColumn, 0) > 0) {
    reader.fail(kWrongColumn, fmt::format("is {}; times of a wrong run are meaningless",
                                          reader.text(kWrongColumn)));
  }
  const int gpus_of_rank =
      reader.given(kGpusPerRankColumn) ? reader.count(kGpusPerRankColumn, 1) : 1;
  row.ranks = reader.count("ranks", gpus_of_rank > 1 ? 1 : 2) * gpus_of_rank;
  row.nodes = context.nodes.value_or(1);
  row.fabric = reader.text("fabric");
  row.nodes_stated = reader.given("nodes") || reader.given("gpus_per_node");
  if (reader.given("nodes")) {
    row.nodes = reader.count("nodes", 1);
  } else if (reader.given("gpus_per_node")) {
    const int gpus = reader.count("gpus_per_node", 1);
    row.nodes = (row.ranks + gpus - 1) / gpus;
  }
  if (const int nodes = nodes_of_label(row.fabric); !row.nodes_stated && nodes > 0) {
    row.nodes = nodes;
    row.nodes_stated = true;
  }
  if (row.ranks % row.nodes != 0) {
    reader.fail("ranks", fmt::format("is {}, which is not a multiple of the {} nodes", row.ranks,
                                     row.nodes));
  }
  row.nccl_version = reader.text("nccl_version");
  if (row.nccl_version.empty()) row.nccl_version = context.nccl_version.value_or("");
  row.config = reader.text("config");
  const std::string collective = reader.text("collective");
  if (const auto kind = measured_collective(collective)) {
    row.collective = *kind;
  } else {
    reader.refuse("collective",
                  unknown_name_message("collective", collective,
                                       {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                        "reduce", "alltoall", "sendrecv", "gather", "scatter"}));
  }
  row.bytes = reader.bytes("size_bytes");
  read_config(reader, row);
  const double time_us = reader.microseconds(reader.median_column());
  row.time_s = time_us * 1e-6;
  row.time_us = time_us;
  const auto refuse_extreme = [&](std::string_view column, std::string_view expected) {
    reader.fail(column,
                fmt::format("is {}, but {} is {}; expected {}", reader.text(column),
                            reader.median_column(), reader.text(reader.median_column()), expected));
  };
  if (reader.given("time_us_min") && reader.microseconds("time_us_min") > time_us) {
    refuse_extreme("time_us_min", "at most the median");
  }
  if (reader.given("time_us_max") && reader.microseconds("time_us_max") < time_us) {
    refuse_extreme("time_us_max", "at least the median");
  }
  if (reader.given("samples")) (void)reader.count("samples", 1);
  row.samples_s = samples_of(reader);
  row.source = reader.text("source");
  return row;
}

// Refuses a context value that no row needs: if every row states its own value, a different one in
// the context is a mistake.
class ToldOfRows {
 public:
  ToldOfRows(std::string_view what, std::string told) : what_(what), told_(std::move(told)) {}

  void row_has(const std::string& said, const SourceLocation& where) {
    if (said.empty()) {
      needed_ = true;
    } else if (said != told_ && other_.empty()) {
      other_ = said;
      where_ = where;
    }
  }
  void check() const {
    if (told_.empty() || needed_ || other_.empty()) return;
    throw UserError(where_, fmt::format("{} is {}, but --{} says {}, which is for rows without "
                                        "a value: all of these have one; leave it out",
                                        what_, other_, what_, told_));
  }

 private:
  std::string_view what_;
  std::string told_;
  bool needed_ = false;
  std::string other_;
  SourceLocation where_;
};

// Names the options that contradict the rows of the file.
class ContextCheck {
 public:
  explicit ContextCheck(const MeasuredFileContext& context)
      : ranks_("ranks", context.ranks ? std::to_string(*context.ranks) : ""),
        nodes_("nodes", context.nodes ? std::to_string(*context.nodes) : ""),
        nccl_("nccl", context.nccl_version.value_or("")) {}

  void row(const MeasuredLine& reader, const Measurement& row) {
    ranks_.row_has(std::to_string(row.ranks), row.where);
    nodes_.row_has(row.nodes_stated ? std::to_string(row.nodes) : "", row.where);
    nccl_.row_has(reader.text("nccl_version"), row.where);
  }
  void check() const {
    ranks_.check();
    nodes_.check();
    nccl_.check();
  }

 private:
  ToldOfRows ranks_;
  ToldOfRows nodes_;
  ToldOfRows nccl_;
};

bool is_csv_header(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, ',');
  if (fields.size() < 2) return false;
  const auto& known = known_measured_columns();
  return std::any_of(fields.begin(), fields.end(), [&](std::string_view field) {
    return std::find(known.begin(), known.end(), field) != known.end();
  });
}

// The output of a benchmark.
std::vector<Measurement> read_log(std::string_view text, const std::string& path,
                                  const MeasuredFileContext& context) {
  return is_osu_text(text) ? read_osu_text(text, path, context)
                           : read_nccl_tests_text(text, path, context);
}

}  // namespace

std::optional<CollectiveKind> measured_collective(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == '_' || c == '-') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (plain.ends_with("perf")) plain.resize(plain.size() - 4);
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 10> kNames{
      {{"allreduce", CollectiveKind::AllReduce},
       {"allgather", CollectiveKind::AllGather},
       {"reducescatter", CollectiveKind::ReduceScatter},
       {"broadcast", CollectiveKind::Broadcast},
       {"reduce", CollectiveKind::Reduce},
       {"alltoall", CollectiveKind::AllToAll},
       {"sendrecv", CollectiveKind::AllToNext},
       {"alltonext", CollectiveKind::AllToNext},
       {"gather", CollectiveKind::Gather},
       {"scatter", CollectiveKind::Scatter}}};
  for (const auto& [known, kind] : kNames) {
    if (plain == known) return kind;
  }
  return std::nullopt;
}

std::vector<Measurement> read_measured_file(const std::string& path,
                                            const MeasuredFileContext& context) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string contents = read_text_file(path, kLargestFile);
  std::string_view text = contents;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (is_json_text(text)) return read_measured_json(text, path, context);
  const std::vector<std::string_view> lines = lines_of(text);
  std::optional<MeasuredHeader> header;
  std::vector<Measurement> rows;
  ContextCheck check(context);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (line.empty() || line.front() == '#') continue;
    if (!header) {
      if (!is_csv_header(line)) return read_log(text, path, context);
      header.emplace(line, SourceLocation{path, i + 1, 1});
      continue;
    }
    const MeasuredLine reader(*header, line, path, i + 1);
    if (reader.given("status") && reader.text("status") != "ok") continue;
    if (reader.given("in_place") && reader.text("in_place") != "0") continue;
    const bool chosen = reader.text("algorithm") == kChosenByPolicy;
    std::optional<Config> used = chosen ? used_config(reader) : std::nullopt;
    if (chosen && !used) continue;
    rows.push_back(read_row(reader, context));
    if (chosen) rows.back().named = std::move(used);
    rows.back().where = {path, i + 1, 1};
    check.row(reader, rows.back());
  }
  if (!header) return read_log(text, path, context);
  if (rows.empty()) throw UserError({path, 0, 0}, "has a header line but no measurement");
  check.check();
  return rows;
}

}  // namespace cclgym
