#include "experiments/measured/measured_json.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "experiments/measured/measured_run.hpp"

namespace cclgym {

namespace {

using Json = nlohmann::json;

constexpr const char* kExpectedJson =
    "expected the JSON of nccl-tests (-J), of rccl-tests (-Z json) or of NCCL's Inspector";

// An object of the file, with its place for messages.
class Fields {
 public:
  Fields(const Json& object, SourceLocation where) : object_(object), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& message) const { throw UserError(where_, message); }

  [[nodiscard]] const Json* find(const char* key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] std::string text(const char* key) const {
    const Json* found = find(key);
    return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
  }
  // A number, or a text that is one.
  [[nodiscard]] std::optional<double> number(const char* key) const {
    const Json* found = find(key);
    if (found == nullptr) return std::nullopt;
    if (found->is_number()) return found->get<double>();
    try {
      if (found->is_string()) return std::stod(found->get<std::string>());
    } catch (const std::exception&) {
    }
    fail(fmt::format("{} is {}; expected a number", key, found->dump()));
  }
  // A whole number from `least`.
  [[nodiscard]] std::optional<std::int64_t> count(const char* key, double least) const {
    const std::optional<double> value = number(key);
    constexpr double kMost = 1e15;
    if (value && (!(*value >= least) || *value > kMost || *value != std::floor(*value))) {
      fail(fmt::format("{} is {:g}; expected a whole number >= {:g}", key, *value, least));
    }
    return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }
  template <class Value>
  [[nodiscard]] Value required(const char* key, const std::optional<Value>& value) const {
    if (!value) fail(fmt::format("{} is missing; {}", key, kExpectedJson));
    return *value;
  }
  [[nodiscard]] const SourceLocation& where() const { return where_; }

 private:
  const Json& object_;
  SourceLocation where_;
};

// Takes a number that the file states into the context, which must not contradict it.
void state(std::string_view option, const std::optional<std::int64_t>& found,
           std::optional<int>& said, const SourceLocation& where) {
  if (!found) return;
  if (said && *said != *found) {
    throw UserError(where, fmt::format("states {} {}, but --{} says {}; leave it out", option,
                                       *found, option, *said));
  }
  said = static_cast<int>(*found);
}

void set_time(Measurement& row, const Fields& fields, const char* key) {
  row.time_us = fields.required(key, fields.number(key));
  if (!std::isfinite(row.time_us) || row.time_us <= 0) {
    fields.fail(fmt::format("{} is {}; expected a number of microseconds > 0", key, row.time_us));
  }
  row.time_s = row.time_us * 1e-6;
}

void refuse_wrong(const Fields& fields, const char* key) {
  const std::optional<double> wrong = fields.number(key);
  if (!wrong || *wrong < 1) return;
  fields.fail(fmt::format("{} values were wrong; times of a wrong run are meaningless", *wrong));
}

CollectiveKind collective_of(const Fields& fields, const char* key) {
  const std::string name = fields.text(key);
  if (const auto kind = measured_collective(name)) return *kind;
  fields.fail(unknown_name_message("collective", name,
                                   {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                    "Reduce", "AlltoAll", "SendRecv", "Gather", "Scatter"}));
}

std::vector<Measurement> read_nccl_tests(const Json& document, const std::string& file,
                                         const MeasuredFileContext& context) {
  const Fields top(document, {file, 0, 0});
  MeasuredRun run;
  if (const auto code = top.count("nccl_version", 0)) run.set_version_code(static_cast<int>(*code));
  if (const Json* environment = top.find("env"); environment != nullptr) {
    for (const Json& variable : *environment) {
      if (variable.is_string()) run.variables.set_words(variable.get<std::string>());
    }
  }
  if (const Json* config = top.find("config"); config != nullptr && config->contains("devices")) {
    for (const Json& entry : (*config)["devices"]) {
      const Fields fields(entry, {file, 0, 0});
      MeasuredDevice device;
      device.rank = static_cast<int>(fields.required("rank", fields.count("rank", 0)));
      device.group = static_cast<int>(fields.count("group", 0).value_or(0));
      device.host = fields.text("hostname");
      device.place = fmt::format("{}[{}]", fields.count("device", 0).value_or(device.rank),
                                 fields.text("device_hex"));
      device.model = fields.text("device_info");
      run.devices.push_back(std::move(device));
    }
  }
  if (const Json* bounds = top.find("out_of_bounds"); bounds != nullptr) {
    refuse_wrong(Fields(*bounds, top.where()), "count");
  }
  std::vector<Measurement> rows;
  const Json* results = top.find("results");
  for (const Json& entry : *results) {
    const Fields fields(entry, {file, 0, 0});
    const Json* best = fields.find("out_of_place");
    if (best == nullptr) best = fields.find("in_place");
    Measurement row;
    row.where = {file, 0, 0};
    row.bytes = static_cast<std::uint64_t>(fields.required("size", fields.count("size", 0)));
    if (row.bytes == 0) continue;
    if (best == nullptr) fields.fail(fmt::format("size {} has no time", row.bytes));
    const Fields times(*best, top.where());
    if (times.find("time") == nullptr && times.find("cpu_time") != nullptr) {
      times.fail("has times of the CPU (-C 1), not of calls; run it without -C");
    }
    set_time(row, times, "time");
    refuse_wrong(times, "nwrong");
    row.printed = {.count = static_cast<std::uint64_t>(fields.count("count", 0).value_or(0)),
                   .type = fields.text("type"),
                   .redop = fields.text("redop")};
    if (const Json* root = fields.find("root"); root != nullptr && root->is_number_integer()) {
      row.printed.root = root->get<int>();
    }
    run.collective = measured_collective(fields.text("experiment_name"));
    run.complete(row, context);
    rows.push_back(std::move(row));
  }
  return rows;
}

// A row of rccl-tests; nullopt if it is in place or empty.
std::optional<Measurement> rccl_row(const Fields& fields, const MeasuredFileContext& context) {
  if (fields.number("inPlace").value_or(0) != 0) return std::nullopt;
  Measurement row;
  row.where = fields.where();
  row.bytes = static_cast<std::uint64_t>(fields.required("size", fields.count("size", 0)));
  if (row.bytes == 0) return std::nullopt;
  set_time(row, fields, "time");
  refuse_wrong(fields, "#wrong");
  refuse_wrong(fields, "wrong");
  MeasuredRun run;
  run.collective = collective_of(fields, "name");
  MeasuredFileContext said = context;
  std::optional<std::int64_t> ranks = fields.count("ranks", 1);
  if (ranks) *ranks *= fields.count("gpusPerRank", 1).value_or(1);
  state("ranks", ranks ? ranks : fields.count("gpus", 1), said.ranks, fields.where());
  state("nodes", fields.count("nodes", 1), said.nodes, fields.where());
  run.complete(row, said);
  return row;
}

// Rows of NCCL's Inspector, one for each call.
class InspectorRows {
 public:
  void add(const Fields& line, const Json& header, const Json& call,
           const MeasuredFileContext& context) {
    const Fields of_call(call, line.where());
    const Fields of_comm(header, line.where());
    Measurement row;
    row.where = line.where();
    set_time(row, of_call, "coll_exec_time_us");
    const auto key = std::tuple(of_comm.text("id"), of_call.text("coll"),
                                of_call.count("coll_sn", 0).value_or(0));
    if (const auto found = places_.find(key); found != places_.end()) {
      Measurement& first = rows_[found->second];
      if (row.time_us > first.time_us) {
        first.time_us = row.time_us;
        first.time_s = row.time_s;
      }
      return;
    }
    const auto ranks = of_comm.required("n_ranks", of_comm.count("n_ranks", 1));
    if (ranks < 2) return;
    MeasuredRun run;
    run.collective = collective_of(of_call, "coll");
    row.bytes = static_cast<std::uint64_t>(
        of_call.required("coll_msg_size_bytes", of_call.count("coll_msg_size_bytes", 1)));
    if (run.collective == CollectiveKind::AllGather ||
        run.collective == CollectiveKind::ReduceScatter) {
      row.bytes *= static_cast<std::uint64_t>(ranks);
    }
    MeasuredFileContext said = context;
    state("ranks", ranks, said.ranks, line.where());
    state("nodes", of_comm.count("nnodes", 1), said.nodes, line.where());
    if (of_call.text("coll_timing_source") == "collective_cpu") {
      run.notes.emplace_back(
          "the times are those of the calls on the CPU (coll_timing_source collective_cpu), which "
          "may return before the GPUs are done");
    }
    run.complete(row, said);
    places_.emplace(key, rows_.size());
    rows_.push_back(std::move(row));
  }
  std::vector<Measurement> take() { return std::move(rows_); }

 private:
  std::vector<Measurement> rows_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::size_t> places_;
};

}  // namespace

bool is_json_text(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (text[first] == '{') return true;
  // A log may begin with "[0] ": a launcher's prefix.
  const std::size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  return text[first] == '[' && second != std::string_view::npos && text[second] == '{';
}

std::vector<Measurement> read_measured_json(std::string_view text, const std::string& file,
                                            const MeasuredFileContext& context) {
  InspectorRows inspector;
  std::vector<Measurement> rows;
  const auto take = [&](const Json& entry, const SourceLocation& where) {
    const Fields fields(entry, where);
    const Json* header = fields.find("header");
    const Json* call = fields.find("coll_perf");
    if (header != nullptr && call != nullptr) {
      inspector.add(fields, *header, *call, context);
    } else if (fields.find("size") != nullptr && fields.find("time") != nullptr) {
      if (auto row = rccl_row(fields, context)) rows.push_back(std::move(*row));
    } else if (header == nullptr) {  // Inspector writes sends and receives, too
      fields.fail(fmt::format("found an object without size and time; {}", kExpectedJson));
    }
  };
  const Json whole = Json::parse(text, nullptr, false);
  if (whole.is_object() && whole.contains("results")) {
    return read_nccl_tests(whole, file, context);
  }
  if (!whole.is_discarded()) {
    if (whole.is_array()) {
      for (const Json& entry : whole) take(entry, {file, 0, 0});
    } else {
      take(whole, {file, 1, 1});
    }
  } else {
    std::size_t number = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const Json entry = Json::parse(line, nullptr, false);
      if (entry.is_discarded()) {
        throw UserError({file, number, 1}, fmt::format("the line is not JSON; {}", kExpectedJson));
      }
      take(entry, {file, number, 1});
    }
  }
  std::vector<Measurement> calls = inspector.take();
  rows.insert(rows.end(), std::make_move_iterator(calls.begin()),
              std::make_move_iterator(calls.end()));
  if (rows.empty()) throw UserError({file, 0, 0}, fmt::format("has no time; {}", kExpectedJson));
  return rows;
}

}  // namespace cclgym
