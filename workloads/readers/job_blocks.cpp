// Repetition of blocks, and dependencies by name.
#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "workloads/readers/job_items.hpp"

namespace cclgym {

namespace {

class JobExpansion {
 public:
  JobExpansion(const JobLimits& limits, std::int64_t& added, RankProgram& program)
      : limits_(limits), added_(added), program_(program) {}

  void run(const std::vector<JobItem>& items) {
    scopes_.push_back({});
    add(items, 0);
    scopes_[0].end = program_.size();
    for (std::int32_t op = 0; op < program_.size(); ++op) resolve(op);
  }

 private:
  // Operations of the program, or of one repetition of a block.
  struct Scope {
    std::int32_t begin = 0;
    std::int32_t end = 0;
    std::int32_t parent = -1;
  };
  using Places = std::unordered_map<std::string_view, std::vector<std::int32_t>>;

  void add(const std::vector<JobItem>& items, std::int32_t scope) {
    for (const JobItem& item : items) {
      if (item.repeat == 0) {
        if (++added_ > limits_.ops) {
          throw UserError(item.where, fmt::format("the job has more than {} operations, with "
                                                  "repetitions; expected at most this number",
                                                  limits_.ops));
        }
        names_[item.name].push_back(program_.size());
        if (!item.label.empty()) labels_[item.label].push_back(program_.size());
        program_.ops.push_back(item.op);
        items_.push_back({&item, scope});
      }
      for (std::int64_t k = 0; k < item.repeat; ++k) {
        const auto own = static_cast<std::int32_t>(scopes_.size());
        scopes_.push_back({program_.size(), 0, scope});
        add(item.block, own);
        scopes_[at(own)].end = program_.size();
      }
    }
  }

  void resolve(std::int32_t op) {
    const auto [item, scope] = items_[at(op)];
    for (const auto& [name, where] : item->after) {
      std::int32_t found = find(labels_, name, op, scope);
      if (found < 0) found = find(names_, name, op, scope);
      if (found < 0) refuse(name, where);
      if (std::cmp_greater_equal(program_.deps.size(), limits_.dependencies)) {
        throw UserError(where, fmt::format("the program has more than {} dependencies, with "
                                           "repetitions; expected at most this number",
                                           limits_.dependencies));
      }
      program_.deps.push_back(found);
    }
    program_.dep_begin.push_back(static_cast<std::uint32_t>(program_.deps.size()));
  }

  // The last operation of the name before `op` in its repetition, or the first one after it; if
  // there is none, the same in the enclosing repetition, and so on.
  [[nodiscard]] std::int32_t find(const Places& places, const std::string& name, std::int32_t op,
                                  std::int32_t scope) const {
    const auto entry = places.find(name);
    if (entry == places.end()) return -1;
    const std::vector<std::int32_t>& all = entry->second;
    const auto not_before = std::lower_bound(all.begin(), all.end(), op);
    const auto after = not_before != all.end() && *not_before == op ? not_before + 1 : not_before;
    for (; scope >= 0; scope = scopes_[at(scope)].parent) {
      const Scope& range = scopes_[at(scope)];
      if (not_before != all.begin() && *(not_before - 1) >= range.begin) return *(not_before - 1);
      if (after != all.end() && *after < range.end) return *after;
    }
    return -1;
  }

  [[noreturn]] void refuse(const std::string& name, const SourceLocation& where) const {
    std::vector<std::string> some;  // enough for a hint, not millions of names
    for (const Places* places : {&labels_, &names_}) {
      for (const auto& [known, ops] : *places) {
        if (some.size() < 1000 && known != name) some.emplace_back(known);
      }
    }
    std::sort(some.begin(), some.end());
    const std::string nearest = nearest_name(name, some);
    throw UserError(
        where, fmt::format("the program has no {}operation {}{}",
                           names_.count(name) > 0 ? "other " : "", quoted(name),
                           nearest.empty() ? "; expected the name or label of one"
                                           : fmt::format("; did you mean {}?", quoted(nearest))));
  }

  struct Origin {
    const JobItem* item = nullptr;
    std::int32_t scope = 0;
  };

  const JobLimits& limits_;
  std::int64_t& added_;
  RankProgram& program_;
  std::vector<Scope> scopes_;
  std::vector<Origin> items_;  ///< by operation
  Places names_;
  Places labels_;
};

}  // namespace

void expand_job_items(const std::vector<JobItem>& items, const JobLimits& limits,
                      std::int64_t& added, RankProgram& program) {
  JobExpansion(limits, added, program).run(items);
}

}  // namespace cclgym
