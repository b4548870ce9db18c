#include "workloads/output/job_view.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "core/index.hpp"

namespace cclgym {

JobView::JobView(const JobGraph& job, const JobRecord& record) : job_(job), record_(record) {
  const LoweredJob& lowered = record.lowered;
  begin_s_.assign(lowered.calls.size(), -1);
  awaited_.assign(lowered.calls.size(), -1);
  ranks_.resize(actors());
  for (std::size_t rank = 0; rank < lowered.classes.class_of.size(); ++rank) {
    ranks_[at(lowered.classes.class_of[rank])].push_back(static_cast<std::int32_t>(rank));
  }
  for (std::size_t actor = 0; actor < actors(); ++actor) {
    for (std::size_t i = lowered.first_op[actor]; i < lowered.first_op[actor + 1]; ++i) {
      const std::int32_t call = lowered.ops[i].call;
      if (call < 0 || record.start_s[i] <= begin_s_[at(call)]) continue;
      begin_s_[at(call)] = record.start_s[i];
      awaited_[at(call)] = lowered.classes.actor[actor];
    }
  }
}

OpView JobView::op(std::size_t actor, std::int32_t index) const {
  const LoweredJob& lowered = record_.lowered;
  const std::size_t number = lowered.first_op[actor] + at(index);
  OpView view{.actor = actor,
              .op = &program(actor).ops[at(index)],
              .start_s = record_.start_s[number],
              .begin_s = record_.start_s[number],
              .end_s = record_.end_s[number]};
  const std::int32_t call = lowered.ops[number].call;
  if (call < 0) return view;
  view.planned = lowered.calls[at(call)].planned;
  // A send may be done before its receiver is ready.
  view.begin_s = std::clamp(begin_s_[at(call)], view.start_s, view.end_s);
  if (view.begin_s > view.start_s) view.awaited = awaited_[at(call)];
  return view;
}

std::int32_t JobView::communicator_of(const OpView& view) const {
  if (view.op->kind == JobOpKind::Compute) return -1;
  return job_.group(record_.lowered.classes.actor[view.actor], *view.op).communicator;
}

std::string JobView::actor_label(std::size_t actor) const { return ranks_label(ranks_[actor]); }

std::string JobView::op_label(const OpView& view) const {
  const JobOp& op = *view.op;
  if (at(op.name) < job_.names.size() && !job_.names[at(op.name)].empty()) {
    return job_.names[at(op.name)];
  }
  if (op.kind == JobOpKind::Compute) return "computation";
  const ProcessGroup& group = job_.group(record_.lowered.classes.actor[view.actor], op);
  const std::string& communicator = job_.communicators[at(group.communicator)].name;
  const std::string size = short_bytes(op.bytes);
  if (op.kind == JobOpKind::Collective) {
    return fmt::format("{} {} on {}", to_string(op.collective), size, communicator);
  }
  const bool sends = op.kind == JobOpKind::Send;
  return fmt::format("{} {} {} rank {} on {}", sends ? "send" : "receive", size,
                     sends ? "to" : "from", group.ranks[at(op.peer)], communicator);
}

std::string JobView::path_label(const OpView& view) const {
  const JobOp& op = *view.op;
  const std::string label =
      fmt::format("rank {}: {}", record_.lowered.classes.actor[view.actor], op_label(view));
  const bool named = at(op.name) < job_.names.size() && !job_.names[at(op.name)].empty();
  if (op.kind == JobOpKind::Compute || !named) return label;
  return fmt::format(
      "{} ({})", label,
      op.kind == JobOpKind::Collective ? to_string(op.collective) : to_string(op.kind));
}

std::vector<std::size_t> JobView::shown_actors(const JobBreakdown& breakdown,
                                               std::size_t most) const {
  std::vector<std::size_t> shown;
  std::vector<bool> chosen(actors(), false);
  const auto choose = [&](std::size_t actor) {
    if (chosen[actor] || shown.size() >= most) return;
    chosen[actor] = true;
    shown.push_back(actor);
  };
  for (const PathSegment& segment : breakdown.path) choose(segment.actor);
  for (std::size_t actor = 0; actor < actors(); ++actor) choose(actor);
  std::sort(shown.begin(), shown.end());
  return shown;
}

std::string ranks_label(std::span<const std::int32_t> ranks) {
  constexpr std::size_t kNamed = 3;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  if (ranks.size() <= kNamed) return fmt::format("ranks {}", fmt::join(ranks, ", "));
  return fmt::format("ranks {}, … ({} equal)", fmt::join(ranks.first(kNamed), ", "), ranks.size());
}

std::string call_label(const CallSummary& call) {
  return call.message ? "message" : std::string(to_string(call.collective));
}

double bus_bandwidth_Bps(const CallSummary& call) {
  if (call.time_s <= 0) return 0;
  const double factor = call.message ? 1 : bus_bandwidth_factor(call.collective, call.ranks);
  return factor * static_cast<double>(call.bytes) / call.time_s;
}

std::string short_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const std::string digits =
      value < 999.5 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
  return digits + kUnits[unit];
}

std::string shortened(const std::string& text, std::size_t most) {
  std::size_t characters = 0;
  std::size_t cut = 0;  // begin of the character that "…" replaces
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (++characters == most) cut = i;
  }
  return characters <= most ? text : text.substr(0, cut) + "…";
}

}  // namespace cclgym
