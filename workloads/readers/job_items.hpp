// Operations of a job file as they are written, before blocks are repeated. Private to the room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/yaml/yaml.hpp"
#include "workloads/graph/job_graph.hpp"
#include "workloads/readers/job_limits.hpp"

namespace cclgym {

/// An operation, or a block of them.
struct JobItem {
  JobOp op;
  std::string name;   ///< by which `after` refers to it
  std::string label;  ///< second such name; empty: none
  std::vector<std::pair<std::string, SourceLocation>> after;
  std::int64_t repeat = 0;  ///< repetitions of `block`; 0: an operation
  std::vector<JobItem> block;
  SourceLocation where;
};

/// Reads lists of operations.
class JobItemReader {
 public:
  /// The job has its communicators; streams and names of operations are added to it.
  explicit JobItemReader(JobGraph& job);
  /// Reads a list; throws UserError at the place of a fault.
  [[nodiscard]] std::vector<JobItem> read(const YamlValue& list);

 private:
  // An index by name: JobGraph's own look-up is linear.
  using Table = std::unordered_map<std::string, std::int32_t>;
  static std::int32_t index_in(Table& table, std::vector<std::string>& names,
                               std::string_view name);

  JobItem read_item(const YamlValue& value);
  void read_compute(const YamlValue& value, JobItem& item) const;
  void read_communication(const YamlValue& value, const OptionSpec& kind, JobItem& item) const;
  [[nodiscard]] std::int32_t communicator(const YamlValue& value) const;

  JobGraph& job_;
  Table streams_;
  Table names_;
};

/// Appends the operations to a program, with blocks repeated and dependencies resolved. `added`
/// counts the operations of all programs.
void expand_job_items(const std::vector<JobItem>& items, const JobLimits& limits,
                      std::int64_t& added, RankProgram& program);

}  // namespace cclgym
