#include "workloads/readers/job_items.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "workloads/readers/job_file.hpp"
#include "workloads/readers/job_names.hpp"

namespace cclgym {

namespace {

const OptionSpec& op_option(std::string_view key) { return find_option(job_op_options(), key); }

const YamlValue* value_of(const YamlValue& mapping, std::string_view key) {
  const YamlValue* found = find_value(mapping, op_option(key));
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::int32_t index_of(const YamlValue& mapping, std::string_view key) {
  const YamlValue* found = value_of(mapping, key);
  return found == nullptr ? 0 : static_cast<std::int32_t>(read_integer(*found, op_option(key)));
}

// Keys that say what an operation does. Roofline work has two keys, but is one kind: "flop".
std::optional<std::string> kind_key(std::string_view key) {
  if (key == "memory") return "flop";
  if (key == "compute" || key == "flop" || key == "send" || key == "recv" || key == "repeat" ||
      parse_collective(key)) {
    return std::string(key);
  }
  return std::nullopt;
}

// Throws at a key that operations of this kind do not have.
void check_applies(const YamlValue& mapping, const std::string& kind,
                   std::initializer_list<std::string_view> keys) {
  for (const YamlEntry& entry : mapping.entries()) {
    const std::string& key = try_find_option(job_op_options(), entry.key)->name;
    if (std::find(keys.begin(), keys.end(), key) != keys.end() || kind_key(key)) continue;
    std::string valid;
    for (const std::string_view one : keys)
      valid += fmt::format("{}{}", valid.empty() ? "" : ", ", one);
    throw UserError(entry.key_location,
                    fmt::format("found {}, which does not belong to {}; expected one of {}",
                                quoted(entry.key), kind, valid));
  }
}

}  // namespace

JobItemReader::JobItemReader(JobGraph& job) : job_(job) {}

std::int32_t JobItemReader::index_in(Table& table, std::vector<std::string>& names,
                                     std::string_view name) {
  const auto [entry, added] =
      table.try_emplace(std::string(name), static_cast<std::int32_t>(names.size()));
  if (added) names.emplace_back(name);
  return entry->second;
}

std::vector<JobItem> JobItemReader::read(const YamlValue& list) {
  std::vector<JobItem> items;
  for (const YamlValue& value : read_items(list, op_option("ops"))) {
    items.push_back(read_item(value));
  }
  std::unordered_map<std::string_view, std::size_t> lines;
  for (const JobItem& item : items) {
    if (item.label.empty()) continue;
    const auto [entry, added] = lines.try_emplace(item.label, item.where.line);
    if (added) continue;
    throw UserError(item.where, fmt::format("label {} is given twice; line {} has it already",
                                            quoted(item.label), entry->second));
  }
  return items;
}

JobItem JobItemReader::read_item(const YamlValue& value) {
  check_keys(value, job_op_options(), "operation");
  JobItem item;
  item.where = value.location();
  item.op.origin = static_cast<std::int64_t>(item.where.line);
  item.op.origin_column = static_cast<std::int32_t>(item.where.column);
  std::vector<std::string> kinds;
  for (const YamlEntry& entry : value.entries()) {
    const std::optional<std::string> kind =
        kind_key(try_find_option(job_op_options(), entry.key)->name);
    if (kind && std::find(kinds.begin(), kinds.end(), *kind) == kinds.end()) {
      kinds.push_back(*kind);
    }
  }
  if (kinds.size() != 1) {
    throw UserError(item.where,
                    fmt::format("found an operation with {}; expected exactly one of "
                                "compute, flop (with memory), send, recv, repeat or a "
                                "collective such as allreduce",
                                kinds.empty() ? "nothing to do" : kinds[0] + " and " + kinds[1]));
  }
  const std::string& kind = kinds[0];
  if (kind == "repeat") {
    check_applies(value, "a repeated block", {"ops"});
    item.repeat = read_integer(*find_value(value, op_option("repeat")), op_option("repeat"));
    const YamlValue* ops = find_value(value, op_option("ops"));
    if (ops == nullptr) {
      throw UserError(item.where, "the repeated block has no operations; expected key ops");
    }
    item.block = read(*ops);
    return item;
  }
  if (kind == "compute" || kind == "flop") {
    read_compute(value, item);
  } else {
    read_communication(value, op_option(kind), item);
  }
  const YamlValue* name = value_of(value, "name");
  item.name =
      name == nullptr ? std::string(default_op_name(item.op)) : read_text(*name, op_option("name"));
  if (const YamlValue* label = value_of(value, "label")) {
    item.label = read_text(*label, op_option("label"));
  }
  if (const YamlValue* after = value_of(value, "after")) {
    for (const YamlValue& one : read_items(*after, op_option("after"))) {
      item.after.emplace_back(read_text(one, op_option("after")), one.location());
    }
  }
  const YamlValue* stream = value_of(value, "stream");
  item.op.stream = index_in(streams_, job_.streams,
                            stream == nullptr ? std::string(default_op_stream(job_, item.op))
                                              : read_text(*stream, op_option("stream")));
  item.op.name = index_in(names_, job_.names, item.name);
  return item;
}

void JobItemReader::read_compute(const YamlValue& value, JobItem& item) const {
  check_applies(value, "a computation", {"name", "label", "stream", "after"});
  const auto* compute = find_value(value, op_option("compute"));
  const auto* flop = find_value(value, op_option("flop"));
  const auto* memory = find_value(value, op_option("memory"));
  if (compute != nullptr) item.op.seconds = read_time_s(*compute, op_option("compute"));
  if (flop != nullptr) item.op.flop = read_real(*flop, op_option("flop"));
  if (memory != nullptr) {
    item.op.memory_bytes = static_cast<double>(read_bytes(*memory, op_option("memory")));
  }
}

void JobItemReader::read_communication(const YamlValue& value, const OptionSpec& kind,
                                       JobItem& item) const {
  JobOp& op = item.op;
  op.bytes = read_bytes(*find_value(value, kind), kind);
  if (kind.name == "send" || kind.name == "recv") {
    const bool send = kind.name == "send";
    const std::string_view peer = send ? "to" : "from";
    check_applies(value, "a " + kind.name, {"on", peer, "tag", "name", "label", "stream", "after"});
    op.kind = send ? JobOpKind::Send : JobOpKind::Recv;
    if (value_of(value, peer) == nullptr) {
      throw UserError(item.where, fmt::format("the {} has no key {}; expected the index of the "
                                              "other rank in its process group",
                                              kind.name, peer));
    }
    op.peer = index_of(value, peer);
    op.tag = index_of(value, "tag");
  } else {
    op.kind = JobOpKind::Collective;
    op.collective = *parse_collective(kind.name);
    if (is_rooted(op.collective)) {
      check_applies(value, kind.name, {"on", "root", "name", "label", "stream", "after"});
      op.root = index_of(value, "root");
    } else {
      check_applies(value, kind.name, {"on", "name", "label", "stream", "after"});
    }
  }
  op.communicator = communicator(value);
}

std::int32_t JobItemReader::communicator(const YamlValue& value) const {
  const YamlValue* on = value_of(value, "on");
  if (on == nullptr) {
    if (job_.communicators.size() == 1) return 0;
    throw UserError(value.location(),
                    job_.communicators.empty()
                        ? "the job has no communicators; expected key communicators beside ranks"
                        : "the operation has no communicator; expected key on, because the job has "
                          "several");
  }
  const std::string name = read_text(*on, op_option("on"));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < job_.communicators.size(); ++i) {
    if (job_.communicators[i].name == name) return static_cast<std::int32_t>(i);
    names.push_back(job_.communicators[i].name);
  }
  throw UserError(on->location(), unknown_name_message("communicator", name, names));
}

}  // namespace cclgym
