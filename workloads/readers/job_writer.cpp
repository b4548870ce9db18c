// Jobs as YAML that read_job reads back.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "core/units.hpp"
#include "core/yaml/yaml_scalar.hpp"
#include "workloads/readers/job_file.hpp"
#include "workloads/readers/job_names.hpp"

namespace cclgym {

namespace {

// "[0..3, 7]": ascending neighbours as ranges of at most 10,000 ranks, which is what a range may
// have.
std::string rank_list_text(const std::vector<std::int32_t>& ranks) {
  std::string text = "[";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1 && end - i < 10'000) ++end;
    if (i > 0) text += ", ";
    text +=
        end - i < 3 ? std::to_string(ranks[i]) : fmt::format("{}..{}", ranks[i], ranks[end - 1]);
    i = end - i < 3 ? i + 1 : end;
  }
  return text + "]";
}

class JobWriter {
 public:
  explicit JobWriter(const JobGraph& job) : job_(job) {}

  std::string write() {
    put("job: {}\nranks: {}\n", yaml_scalar(job_.name), job_.ranks);
    write_communicators();
    put("programs:\n");
    for (std::size_t number = 0; number < job_.programs.size(); ++number) {
      std::vector<std::int32_t> ranks;
      for (std::int32_t rank = 0; rank < job_.ranks; ++rank) {
        if (at(job_.program_of[at(rank)]) == number) ranks.push_back(rank);
      }
      if (ranks.empty()) continue;
      const RankProgram& program = job_.programs[number];
      put("  - ranks: {}\n    ops:{}\n", rank_list_text(ranks), program.ops.empty() ? " []" : "");
      write_ops(program);
    }
    return std::move(text_);
  }

 private:
  template <class... Values>
  void put(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
  }

  void write_communicators() {
    if (job_.communicators.empty()) return;
    put("communicators:\n");
    for (std::size_t c = 0; c < job_.communicators.size(); ++c) {
      put("  {}:\n", yaml_scalar(job_.communicators[c].name));
      if (!job_.communicators[c].tuner.empty()) {
        put("    tuner: {}\n", yaml_scalar(job_.communicators[c].tuner));
      }
      put("    groups:\n");
      for (const ProcessGroup& group : job_.groups) {
        if (at(group.communicator) == c) put("      - {}\n", rank_list_text(group.ranks));
      }
    }
  }

  void write_ops(const RankProgram& program) {
    // Operations that others wait for get a label unless their name is unique.
    std::unordered_map<std::int32_t, std::int32_t> uses;  // by name
    std::unordered_set<std::int32_t> waited_for(program.deps.begin(), program.deps.end());
    for (const JobOp& op : program.ops) ++uses[op.name];
    const auto label_of = [&](std::int32_t op) -> std::string {
      const std::int32_t name = program.ops[at(op)].name;
      const std::string& text = job_.names[at(name)];
      if (!waited_for.contains(op)) return "";
      if (uses[name] == 1 && !text.empty() && text.front() != '#') return "";
      return fmt::format("#{}", op);
    };
    for (std::int32_t i = 0; i < program.size(); ++i) {
      const JobOp& op = program.ops[at(i)];
      put("      - {{");
      write_kind(program, op);
      const std::string& name = job_.names[at(op.name)];
      if (!name.empty() && name != default_op_name(op)) put(", name: {}", yaml_scalar(name));
      if (const std::string label = label_of(i); !label.empty()) put(", label: \"{}\"", label);
      const std::string& stream = job_.streams[at(op.stream)];
      if (stream != default_op_stream(job_, op)) put(", stream: {}", yaml_scalar(stream));
      const std::uint32_t begin = program.dep_begin[at(i)];
      const std::uint32_t end = program.dep_begin[at(i) + 1];
      for (std::uint32_t d = begin; d < end; ++d) {
        const std::int32_t on = program.deps[d];
        const std::string label = label_of(on);
        put("{}{}", d == begin ? ", after: [" : ", ",
            label.empty() ? yaml_scalar(job_.names[at(program.ops[at(on)].name)])
                          : fmt::format("\"{}\"", label));
      }
      put("{}}}\n", begin < end ? "]" : "");
    }
  }

  void write_kind(const RankProgram& program, const JobOp& op) {
    if (op.kind == JobOpKind::Compute) {
      write_compute(program, op);
      return;
    }
    const bool collective = op.kind == JobOpKind::Collective;
    put("{}: {}, on: {}", collective ? to_string(op.collective) : to_string(op.kind),
        format_bytes(op.bytes), yaml_scalar(job_.communicators[at(op.communicator)].name));
    if (collective) {
      if (is_rooted(op.collective)) put(", root: {}", op.root);
      return;
    }
    put(", {}: {}", op.kind == JobOpKind::Send ? "to" : "from", op.peer);
    if (op.tag != 0) put(", tag: {}", op.tag);
  }

  void write_compute(const RankProgram& program, const JobOp& op) {
    const double memory = std::round(op.memory_bytes);
    if (memory >= 0x1p64 || (op.seconds > 0 && (op.flop > 0 || memory > 0))) {
      throw UserError(location_of(job_, program, op),
                      fmt::format("operation {} cannot be written: it has a duration and FLOP or "
                                  "memory traffic, or 2^64 bytes or more",
                                  quoted(job_.names[at(op.name)])));
    }
    if (op.flop <= 0 && memory <= 0) {
      put("compute: {}s", format_double(op.seconds));
      return;
    }
    if (op.flop > 0) put("flop: {}", format_double(op.flop));
    if (memory > 0) {
      put("{}memory: {}", op.flop > 0 ? ", " : "",
          format_bytes(static_cast<std::uint64_t>(memory)));
    }
  }

  const JobGraph& job_;
  std::string text_;
};

}  // namespace

std::string write_job(const JobGraph& job) { return JobWriter(job).write(); }

}  // namespace cclgym
