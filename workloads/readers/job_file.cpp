#include "workloads/readers/job_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "workloads/generators/generated_job.hpp"
#include "workloads/readers/job_items.hpp"

namespace cclgym {

namespace {

// Larger than other files: jobs are written by programs, too.
constexpr YamlLimits kJobYaml{.bytes = std::size_t{16} << 20, .nodes = 4'000'000};

// Calls visit(rank, place) for each rank of a rank, a range or a list of these. Ranges are expanded
// one by one, so that visit can refuse a rank that is given twice before they fill the memory.
void each_rank(const YamlValue& value, const OptionSpec& spec, std::int32_t ranks,
               const std::function<void(std::int32_t, const SourceLocation&)>& visit) {
  for (const YamlValue& item : read_items(value, spec)) {
    if (!item.is_scalar()) static_cast<void>(read_integer(item, spec));  // throws
    for (const std::int64_t rank : read_integer_range(item.as_text(), spec, item.location())) {
      if (rank >= ranks) {
        throw UserError(item.location(), fmt::format("found rank {}, but the job has ranks 0 to {}",
                                                     rank, ranks - 1));
      }
      visit(static_cast<std::int32_t>(rank), item.location());
    }
  }
}

class JobReader {
 public:
  JobReader(const YamlValue& value, const JobLimits& limits) : value_(value), limits_(limits) {
    check_keys(value, job_options(), "job");
  }

  JobGraph read() {
    const YamlValue* generate = key(value_, job_options(), "generate");
    if (generate != nullptr) {
      read_generated(*generate);
    } else {
      read_written();
    }
    check_job(job_);
    merge_equal_programs(job_);
    return std::move(job_);
  }

 private:
  static const YamlValue* key(const YamlValue& mapping, const std::vector<OptionSpec>& specs,
                              std::string_view name) {
    const YamlValue* found = find_value(mapping, find_option(specs, name));
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  const YamlValue& needed(std::string_view name) const {
    if (const YamlValue* found = key(value_, job_options(), name)) return *found;
    throw UserError(
        value_.location(),
        fmt::format("the job has no key {}; expected ranks and programs, or generate", name));
  }

  void read_generated(const YamlValue& generate) {
    for (const YamlEntry& entry : value_.entries()) {
      if (entry.key != "ranks" && entry.key != "programs") continue;
      throw UserError(entry.key_location, fmt::format("found {} beside generate; expected one of "
                                                      "them",
                                                      entry.key));
    }
    job_ = read_generated_job(generate);
    if (const YamlValue* name = key(value_, job_options(), "job")) {
      job_.name = read_text(*name, find_option(job_options(), "job"));
    }
    const YamlValue* communicators = key(value_, job_options(), "communicators");
    if (communicators == nullptr) return;
    for (const YamlEntry& entry : communicators->entries()) {
      check_keys(entry.value, job_communicator_options(), "communicator");
      if (const YamlValue* groups = key(entry.value, job_communicator_options(), "groups")) {
        throw UserError(groups->location(),
                        "found groups of a generated job; expected only tuner, because the "
                        "generator makes the groups");
      }
      set_tuner(entry);
    }
  }

  void set_tuner(const YamlEntry& entry) {
    const YamlValue* tuner = key(entry.value, job_communicator_options(), "tuner");
    std::vector<std::string> names;
    for (Communicator& communicator : job_.communicators) {
      names.push_back(communicator.name);
      if (communicator.name != entry.key) continue;
      if (tuner != nullptr) {
        communicator.tuner = read_text(*tuner, find_option(job_communicator_options(), "tuner"));
        communicator.tuner_place = tuner->location();
      }
      return;
    }
    throw UserError(entry.key_location, unknown_name_message("communicator", entry.key, names));
  }

  void read_written() {
    job_.name = read_text(option_value(value_, find_option(job_options(), "job")),
                          find_option(job_options(), "job"));
    const YamlValue& ranks = needed("ranks");
    const std::int64_t count = read_integer(ranks, find_option(job_options(), "ranks"));
    if (count > limits_.ranks) {
      throw UserError(ranks.location(),
                      fmt::format("ranks is {}; expected at most {}", count, limits_.ranks));
    }
    const YamlValue& programs = needed("programs");
    job_.ranks = static_cast<std::int32_t>(count);
    job_.groups_of.resize(at(job_.ranks));
    if (const YamlValue* communicators = key(value_, job_options(), "communicators")) {
      for (const YamlEntry& entry : communicators->entries()) read_communicator(entry);
    }
    for (std::vector<std::int32_t>& groups : job_.groups_of) {
      groups.resize(job_.communicators.size(), -1);
    }
    read_programs(programs);
  }

  void read_communicator(const YamlEntry& entry) {
    if (std::cmp_greater_equal(job_.communicators.size(), limits_.communicators)) {
      throw UserError(entry.key_location, fmt::format("the job has more than {} communicators; "
                                                      "expected at most this number",
                                                      limits_.communicators));
    }
    if (entry.key.empty()) throw UserError(entry.key_location, "a communicator has no name");
    check_keys(entry.value, job_communicator_options(), "communicator");
    const auto number = static_cast<std::int32_t>(job_.communicators.size());
    job_.communicators.push_back({.name = entry.key});
    set_tuner(entry);
    const OptionSpec& groups_spec = find_option(job_communicator_options(), "groups");
    const YamlValue* groups = key(entry.value, job_communicator_options(), "groups");
    if (groups == nullptr) {
      throw UserError(entry.key_location,
                      fmt::format("communicator {} has no key groups", quoted(entry.key)));
    }
    OptionSpec spec = find_option(job_program_options(), "ranks");
    spec.name = "group";
    for (const YamlValue& list : read_items(*groups, groups_spec)) {
      if (list.is_scalar() && list.as_text().find("..") == std::string_view::npos) {
        throw UserError(list.location(),
                        fmt::format("found {}; expected a group: ranks in brackets, "
                                    "such as [0, 1], or a range, such as 0..3",
                                    quoted(list.as_text())));
      }
      const auto group = static_cast<std::int32_t>(job_.groups.size());
      job_.groups.push_back({number, {}});
      each_rank(list, spec, job_.ranks, [&](std::int32_t rank, const SourceLocation& where) {
        std::vector<std::int32_t>& own = job_.groups_of[at(rank)];
        own.resize(at(number) + 1, -1);
        if (own[at(number)] >= 0) {
          throw UserError(where, fmt::format("rank {} is twice in the groups of communicator {}; "
                                             "expected once at most",
                                             rank, quoted(entry.key)));
        }
        own[at(number)] = group;
        job_.groups[at(group)].ranks.push_back(rank);
      });
    }
  }

  void read_programs(const YamlValue& programs) {
    job_.program_of.assign(at(job_.ranks), -1);
    JobItemReader items(job_);
    std::int64_t added = 0;
    std::int64_t of_all = 0;
    for (const YamlValue& one : read_items(programs, find_option(job_options(), "programs"))) {
      check_keys(one, job_program_options(), "program");
      const auto number = static_cast<std::int32_t>(job_.programs.size());
      std::int64_t ranks = 0;
      const OptionSpec& spec = find_option(job_program_options(), "ranks");
      each_rank(*find_value(one, spec), spec, job_.ranks,
                [&](std::int32_t rank, const SourceLocation& where) {
                  if (job_.program_of[at(rank)] >= 0) {
                    throw UserError(where, fmt::format("rank {} has a second program; expected one "
                                                       "program per rank",
                                                       rank));
                  }
                  job_.program_of[at(rank)] = number;
                  ++ranks;
                });
      RankProgram program;
      program.file = one.location().file;
      const YamlValue& ops = *find_value(one, find_option(job_program_options(), "ops"));
      const bool idle = ops.is_sequence() && ops.items().empty();
      if (!idle) expand_job_items(items.read(ops), limits_, added, program);
      of_all += ranks * program.size();
      if (of_all > limits_.ops_of_all) {
        throw UserError(one.location(), fmt::format("all ranks together have more than {} "
                                                    "operations; expected at most this number",
                                                    limits_.ops_of_all));
      }
      job_.programs.push_back(std::move(program));
    }
    for (std::int32_t rank = 0; rank < job_.ranks; ++rank) {
      if (job_.program_of[at(rank)] >= 0) continue;
      throw UserError(programs.location(),
                      fmt::format("rank {} has no program; expected each of ranks 0 to {} in one "
                                  "program (ops: [] for an idle rank)",
                                  rank, job_.ranks - 1));
    }
  }

  const YamlValue& value_;
  const JobLimits& limits_;
  JobGraph job_;
};

}  // namespace

JobGraph read_job(const YamlValue& value, const JobLimits& limits) {
  return JobReader(value, limits).read();
}

JobGraph read_job_file(const std::string& path, const JobLimits& limits) {
  return read_job(load_yaml_file(path, kJobYaml), limits);
}

}  // namespace cclgym
