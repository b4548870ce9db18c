#include "calibration/validate/validation_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "calibration/backends/mpi_backend.hpp"
#include "calibration/validate/validation.hpp"
#include "core/error.hpp"
#include "core/files/csv.hpp"
#include "core/files/text_file.hpp"
#include "core/split.hpp"
#include "experiments/measured/measured_file.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kNoRole = "other";
constexpr std::string_view kLeftToNccl = "left to NCCL";

// Roles of a configuration, in the order of the column `role`.
struct RoleName {
  std::string_view name;
  std::string CallRows::*config;
  bool ValidationRoles::*has;
};
constexpr std::array<RoleName, 3> kRoles{
    {{"chosen", &CallRows::chosen, &ValidationRoles::chosen},
     {"default", &CallRows::by_default, &ValidationRoles::by_default},
     {"swept", &CallRows::swept, &ValidationRoles::swept}}};

std::string roles_text(const ValidationRoles& roles) {
  std::string text;
  for (const RoleName& role : kRoles) {
    if (roles.*(role.has)) text += (text.empty() ? "" : "+") + std::string(role.name);
  }
  return text.empty() ? std::string(kNoRole) : text;
}

// Notes the roles of the configuration; false if one of them is unknown.
bool take_roles(CallRows& call, std::string_view roles, const std::string& config) {
  if (roles == kNoRole) return true;
  for (const std::string_view name : split(roles, '+')) {
    const auto* const role = std::ranges::find(kRoles, name, &RoleName::name);
    if (role == kRoles.end()) return false;
    call.*(role->config) = config;
  }
  return true;
}

// The columns of the file, and the fields of its current line.
class RowReader {
 public:
  explicit RowReader(const CsvLine& header) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      std::string name;
      header.read(i, "name", name);
      if (!columns_.emplace(name, i).second) {
        header.fail(i, fmt::format("column {} is there twice", quoted(name)));
      }
    }
    std::vector<const char*> needed{"collective", "size_bytes", "algorithm",     "round",
                                    "role",       "status",     "time_us_median"};
    // The backends name configurations by different columns.
    nccl_ = has("protocol");
    if (nccl_) {
      needed.push_back("channels");
    } else {
      needed.push_back("segment_bytes");
    }
    for (const char* const name : needed) {
      if (!has(name)) header.fail(0, fmt::format("column {} is missing", name));
    }
  }

  [[nodiscard]] bool has(const std::string& name) const { return columns_.contains(name); }
  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  [[nodiscard]] std::size_t at(const std::string& name) const { return columns_.at(name); }
  [[nodiscard]] std::string text(const CsvLine& line, const std::string& name) const {
    std::string value;
    if (has(name)) line.read(at(name), name, value);
    return value;
  }
  // Value of a key in a column of key=value;….
  [[nodiscard]] std::string value(const CsvLine& line, const std::string& name,
                                  std::string_view key) const {
    const std::string all = text(line, name);
    for (const std::string_view item : split(all, ';')) {
      if (item.starts_with(key) && item.substr(key.size()).starts_with('=')) {
        return std::string(item.substr(key.size() + 1));
      }
    }
    return {};
  }
  [[nodiscard]] std::string config(const CsvLine& line) const {
    const std::string algorithm = text(line, "algorithm");
    if (!nccl_) {
      std::uint64_t segment = 0;
      line.read(at("segment_bytes"), "segment_bytes", segment);
      return mpi_config_text(algorithm, segment);
    }
    if (algorithm == "default" || algorithm == "policy") return algorithm;
    const std::string channels = text(line, "channels");
    return fmt::format("{}/{}{}", algorithm, text(line, "protocol"),
                       channels == "0" ? "" : "/" + channels);
  }
  void note_log(const CsvLine& line, const std::string& config, CallRows& call) const {
    if (!nccl_) return;
    const std::string algorithm = value(line, "extra", "used_algorithm");
    if (!algorithm.empty()) {
      call.used[config] = fmt::format("{}/{}/{}", algorithm, value(line, "extra", "used_protocol"),
                                      value(line, "extra", "used_channels"));
    }
    if (config == "policy") call.followed = value(line, "extra", "as_asked");
    if (config == "default" && call.chosen == config) call.followed = kLeftToNccl;
  }

 private:
  std::map<std::string, std::size_t> columns_;
  bool nccl_ = false;
};

}  // namespace

SweepPlan interleaved_plan(std::vector<std::string> columns,
                           const std::vector<std::vector<ValidationLane>>& calls, int rounds) {
  SweepPlan plan{.columns = std::move(columns), .cells = {}};
  plan.columns.insert(plan.columns.end(), {"round", "role"});
  std::size_t block = 0;
  for (int round = 1; round <= rounds; ++round) {
    for (const std::vector<ValidationLane>& lanes : calls) {
      for (const ValidationLane& lane : lanes) {
        plan.cells.push_back(lane.cell);
        plan.cells.back().push_back(std::to_string(round));
        plan.cells.back().push_back(roles_text(lane.roles));
        plan.blocks.push_back(block);
      }
      ++block;
    }
  }
  return plan;
}

std::string CallRows::text_of(const std::string& config) const {
  const auto found = used.find(config);
  if (found == used.end() || (config != "policy" && config != "default")) return config;
  return fmt::format("{} ({})", config, found->second);
}

ValidationRows read_validation_rows(const std::string& path) {
  constexpr std::size_t kLargestFile = std::size_t{1} << 30;
  const std::string text = read_text_file(path, kLargestFile);
  std::optional<RowReader> reader;
  ValidationRows rows;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const CsvLine line(std::string_view(text).substr(begin, end - begin), path, ++number);
    begin = end + 1;
    if (!reader) {
      reader.emplace(line);
      continue;
    }
    if (line.size() != reader->size()) {
      line.fail(0, fmt::format("found {} fields; expected {}", line.size(), reader->size()));
    }
    if (reader->text(line, "status") != "ok") continue;
    const auto kind = measured_collective(reader->text(line, "collective"));
    if (!kind) line.fail(reader->at("collective"), "is not a collective");
    std::uint64_t bytes = 0;
    int round = 0;
    double time_us = 0;
    line.read(reader->at("size_bytes"), "size_bytes", bytes);
    const std::string config = reader->config(line);
    line.read(reader->at("round"), "round", round);
    line.read(reader->at("time_us_median"), "time_us_median", time_us);
    if (!(time_us > 0) || !std::isfinite(time_us)) {
      line.fail(reader->at("time_us_median"),
                fmt::format("time_us_median is {}; expected a positive number", time_us));
    }
    CallRows& call = rows.calls[{*kind, bytes}];
    call.times_s[config][round] = time_us * 1e-6;
    if (!take_roles(call, reader->text(line, "role"), config)) {
      line.fail(reader->at("role"),
                fmt::format("unknown role '{}'; expected chosen, default, swept, several of them "
                            "with + between, or other",
                            reader->text(line, "role")));
    }
    reader->note_log(line, config, call);
    rows.one_gpu =
        rows.one_gpu || reader->value(line, "environment", "label").starts_with("single-GPU");
  }
  return rows;
}

}  // namespace cclgym
