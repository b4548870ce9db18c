#include "cli/descriptions/debug_log_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "calibration/debug_log/debug_reason.hpp"
#include "core/counted.hpp"
#include "core/error.hpp"
#include "core/text_columns.hpp"
#include "core/units.hpp"

namespace cclgym {

namespace {

// The release whose arithmetic stands for the log's.
struct Release {
  NcclVersion version = kNewestNccl;
  std::string note{};
};

Release release_of(const DebugLog& log) {
  if (log.version.empty()) {
    return {.note =
                fmt::format("the log does not name NCCL's release; times are predicted as in {}",
                            kNewestNccl.to_string())};
  }
  Release release;
  try {
    release.version = std::min(nearest_modelled_nccl(log.version), kNewestNccl);
  } catch (const UserError&) {
    release.version = kNewestNccl;
  }
  if (log.rccl || !is_modelled_nccl(log.version) || parse_nccl_version(log.version) > kNewestNccl) {
    release.note = fmt::format("{}CCL {} is not modelled here; times are predicted as in NCCL {}",
                               log.rccl ? "R" : "N", log.version, release.version.to_string());
  }
  return release;
}

std::string choice_text(NcclAlgorithm algorithm, Protocol protocol) {
  return fmt::format("{} {}", to_string(algorithm), to_string(protocol));
}

// Channels in ascending order: "0-3, 8".
std::string channels_text(const std::vector<int>& channels) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < channels.size();) {
    std::size_t end = i;
    while (end + 1 < channels.size() && channels[end + 1] == channels[end] + 1) ++end;
    parts.push_back(end == i ? fmt::format("{}", channels[i])
                             : fmt::format("{}-{}", channels[i], channels[end]));
    i = end + 1;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string ring_text(const DebugRing& ring) {
  return fmt::format("{}{}", fmt::join(ring.order, " "), ring.whole ? "" : " …");
}

// A tree as a chain of ranks, with the subtrees of a rank with several children in brackets.
void add_subtree(const std::map<int, std::vector<int>>& children, int rank, std::string& text) {
  text += std::to_string(rank);
  const auto found = children.find(rank);
  if (found == children.end()) return;
  for (const int child : found->second) {
    const bool only = found->second.size() == 1;
    text += only ? " " : " (";
    add_subtree(children, child, text);
    if (!only) text += ")";
  }
}

std::string tree_text(const DebugTree& tree, int ranks) {
  std::map<int, std::vector<int>> children;
  std::vector<int> roots;
  for (const auto& [rank, parent] : tree) {
    if (parent < 0 || !tree.contains(parent)) {
      // A parent that did not print stands in front of its children.
      if (parent >= 0) children[parent].push_back(rank);
      const int top = parent < 0 ? rank : parent;
      if (std::ranges::find(roots, top) == roots.end()) roots.push_back(top);
    } else {
      children[parent].push_back(rank);
    }
  }
  std::vector<std::string> parts;
  for (const int root : roots) {
    std::string part;
    add_subtree(children, root, part);
    parts.push_back(std::move(part));
  }
  std::string text = parts.empty() ? "no root: the ranks are in a circle"
                                   : fmt::format("{}", fmt::join(parts, "; "));
  const auto printed = static_cast<int>(tree.size());
  if (printed < ranks) text += fmt::format("  (of {} ranks that printed it)", printed);
  return text;
}

// The texts under a heading; channels with equal texts share a line.
std::string by_channel(const char* heading, const std::map<int, std::string>& texts) {
  std::vector<std::pair<std::string, std::vector<int>>> lines;
  for (const auto& [channel, text] : texts) {
    auto line = std::ranges::find(lines, text, &decltype(lines)::value_type::first);
    if (line == lines.end()) line = lines.insert(lines.end(), {text, {}});
    line->second.push_back(channel);
  }
  if (lines.empty()) return "";
  Column channels{.heading = "channels", .left = true};
  for (const auto& [text, of_text] : lines) channels.cells.push_back(channels_text(of_text));
  const std::size_t width = channels.width();
  std::string table = fmt::format("\n  {:<{}}  {}\n", channels.heading, width, heading);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    table += fmt::format("  {:<{}}  {}\n", channels.cells[i], width, lines[i].first);
  }
  return table;
}

std::string graphs_text(const DebugCommunicator& communicator) {
  if (communicator.graphs.empty()) return "";
  std::vector<Column> columns{
      {.heading = "graph", .left = true},    {.heading = "channels"},
      {.heading = "inside", .unit = "GB/s"}, {.heading = "between", .unit = "GB/s"},
      {.heading = "paths", .left = true},    {.heading = "cross NIC", .left = true}};
  for (const DebugGraph& graph : communicator.graphs) {
    columns[0].cells.emplace_back(pattern_name(graph.pattern));
    columns[1].cells.push_back(std::to_string(graph.channels));
    columns[2].cells.push_back(fmt::format("{:.1f}", graph.inside_GBps));
    columns[3].cells.push_back(fmt::format("{:.1f}", graph.between_GBps));
    columns[4].cells.push_back(graph.inside_type + "/" + graph.between_type);
    columns[5].cells.emplace_back(graph.cross_nic ? "yes" : "no");
  }
  return "\n" + format_columns(columns);
}

std::string sizes_text(const DebugRange& range) {
  if (range.from_bytes == range.to_bytes) return format_bytes(range.from_bytes);
  return format_bytes(range.from_bytes) + " to " + format_bytes(range.to_bytes);
}

// "12.3" or "12.3 to 45.6".
std::string us_text(double from, double to) {
  const auto number = [](double us) {
    return us < 1000 ? fmt::format("{:.1f}", us) : fmt::format("{:.0f}", us);
  };
  return from == to ? number(from) : number(from) + " to " + number(to);
}

std::string other_text(const DebugReason& reason) {
  if (!reason.other) return "no other";
  return fmt::format("{} {}", choice_text(*reason.other, reason.other_protocol),
                     us_text(reason.other_us, reason.other_us));
}

std::string ranges_text(const DebugCommunicator& communicator, const Release& release) {
  std::vector<Column> columns{{.heading = "collective", .left = true},
                              {.heading = "sizes", .left = true},
                              {.heading = "least time", .left = true},
                              {.heading = "predicted", .unit = "us"},
                              {.heading = "next best at the start, us", .left = true},
                              {.heading = "at the end", .left = true}};
  for (const NcclCollective collective :
       {NcclCollective::AllReduce, NcclCollective::AllGather, NcclCollective::ReduceScatter,
        NcclCollective::Broadcast, NcclCollective::Reduce}) {
    for (const DebugRange& range :
         choices_by_estimates(communicator, release.version, collective)) {
      columns[0].cells.emplace_back(to_string(collective));
      columns[1].cells.push_back(sizes_text(range));
      columns[2].cells.push_back(choice_text(range.algorithm, range.protocol));
      columns[3].cells.push_back(
          us_text(range.at_start.predicted_us.value_or(0), range.at_end.predicted_us.value_or(0)));
      columns[4].cells.push_back(other_text(range.at_start));
      columns[5].cells.push_back(other_text(range.at_end));
    }
  }
  if (columns[0].cells.empty()) return "";
  return fmt::format("\nwhat NCCL's estimates choose (line {} of the log)\n",
                     communicator.estimates_line) +
         format_columns(columns);
}

// Why NCCL chose so, as far as the log tells.
std::string why(const DebugLog& log, const DebugChoice& choice, const DebugReason& reason) {
  if (choice.printed_us && !reason.predicted_us) return "NCCL printed the time";
  if (choice.of_one_rank) return "the log does not state the ranks (subsystem INIT)";
  if (!reason.predicted_us && !reason.other) {
    return fmt::format("the log has no estimates of {}", choice.collective
                                                             ? to_string(*choice.collective)
                                                             : "the unnamed collective");
  }
  if (!reason.predicted_us) return "not in NCCL's estimates: forced, or of a tuner plugin";
  if (!reason.other) {
    for (const auto& [name, value] : log.variables) {
      if (name == "NCCL_ALGO" || name == "NCCL_PROTO") {
        return fmt::format("the only one left by {}={}", name, value);
      }
    }
    return "the only one that NCCL offers";
  }
  if (reason.least) return "least predicted time";
  if (reason.rounding) return "least predicted time, within the rounding of the log";
  if (!log.tuner.empty()) return fmt::format("tuner plugin {}", log.tuner);
  return fmt::format("{:.2f} times the least: calls of a group are chosen together, by their sum",
                     *reason.predicted_us / reason.other_us);
}

std::string choices_text(const DebugLog& log, const std::vector<DebugChoice>& choices,
                         const DebugCommunicator* communicator, const Release& release) {
  if (choices.empty()) return "";
  std::vector<Column> columns{{.heading = "collective", .left = true},
                              {.heading = "size"},
                              {.heading = "NCCL chose", .left = true},
                              {.heading = "channels"},
                              {.heading = "calls"},
                              {.heading = "predicted", .unit = "us"},
                              {.heading = "best other, us", .left = true},
                              {.heading = "why", .left = true}};
  for (const DebugChoice& choice : choices) {
    DebugReason reason;
    if (communicator != nullptr && choice.collective && !choice.of_one_rank) {
      reason = reason_of(*communicator, release.version, *choice.collective, choice.bytes,
                         choice.algorithm, choice.protocol);
    }
    const std::optional<double> us = reason.predicted_us ? reason.predicted_us : choice.printed_us;
    columns[0].cells.emplace_back(choice.collective ? to_string(*choice.collective)
                                                    : "not printed");
    columns[1].cells.push_back(format_bytes(choice.bytes) +
                               (choice.of_one_rank ? " per rank" : ""));
    columns[2].cells.push_back(choice_text(choice.algorithm, choice.protocol));
    columns[3].cells.push_back(choice.channels ? std::to_string(*choice.channels) : "-");
    columns[4].cells.push_back(std::to_string(choice.calls));
    columns[5].cells.push_back(us ? us_text(*us, *us) : "-");
    columns[6].cells.push_back(reason.other ? other_text(reason) : "-");
    columns[7].cells.push_back(why(log, choice, reason));
  }
  return "\n" + format_columns(columns);
}

std::string communicator_text(const DebugLog& log, const DebugCommunicator& communicator,
                              const Release& release) {
  const auto number = [](int count, std::string_view noun) {
    return count > 0 ? counted(count, noun) : fmt::format("unknown number of {}s", noun);
  };
  std::string text = fmt::format(
      "\ncommunicator{}: {}, {}, {}\n", communicator.id.empty() ? "" : " " + communicator.id,
      number(communicator.ranks, "rank"), number(communicator.nodes, "node"),
      number(communicator.channels, "channel"));
  text += graphs_text(communicator);
  std::map<int, std::string> texts;
  for (const auto& [channel, ring] : communicator.rings) texts[channel] = ring_text(ring);
  text += by_channel("ring", texts);
  texts.clear();
  for (const auto& [channel, tree] : communicator.trees) {
    texts[channel] = tree_text(tree, communicator.ranks);
  }
  text += by_channel("tree (children follow their parent)", texts);
  text += ranges_text(communicator, release);
  return text + choices_text(log, communicator.choices, &communicator, release);
}

// Lines that were left out, and the basis of the times.
std::vector<std::string> notes_of(const DebugLog& log, const Release& release) {
  std::vector<std::string> notes = log.notes;
  if (log.other_calls > 0) {
    notes.push_back(fmt::format("{} by kernels for symmetric memory or copy engines {} not shown",
                                counted(log.other_calls, "call"),
                                log.other_calls == 1 ? "is" : "are"));
  }
  if (log.communicators.empty()) {
    notes.emplace_back(
        "no line is about a communicator; set NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING");
  }
  bool estimates = false;
  bool unknown = false;
  bool sliced = false;
  for (const DebugCommunicator& one : log.communicators) {
    estimates |= one.estimates.has_value();
    unknown |= one.estimates && (one.nodes == 0 || one.channels == 0);
    sliced |= std::ranges::any_of(one.choices, [](const DebugChoice& choice) {
      return !choice.of_one_rank && (choice.collective == NcclCollective::AllGather ||
                                     choice.collective == NcclCollective::ReduceScatter);
    });
  }
  if (sliced) {
    notes.emplace_back(
        "sizes of AllGather and ReduceScatter are of all ranks; NCCL logs those of one rank");
  }
  if (estimates && !release.note.empty()) notes.push_back(release.note);
  if (!log.communicators.empty() && !estimates) {
    notes.emplace_back("the log has no estimates of NCCL (subsystem TUNING), and so no reasons");
  }
  if (unknown) {
    notes.emplace_back(
        "the log does not state nodes or channels (subsystem INIT); times of large AllReduce by "
        "ring and Simple are predicted as on one node");
  }
  return notes;
}

using Json = nlohmann::ordered_json;

Json choice_json(const DebugChoice& choice, const DebugCommunicator* communicator,
                 const Release& release) {
  Json json{{"collective", choice.collective ? Json(to_string(*choice.collective)) : Json()},
            {"bytes", choice.bytes},
            {"algorithm", to_string(choice.algorithm)},
            {"protocol", to_string(choice.protocol)},
            {"of_one_rank", choice.of_one_rank},
            {"channels", choice.channels ? Json(*choice.channels) : Json()},
            {"calls", choice.calls},
            {"line", choice.line},
            {"printed_us", choice.printed_us ? Json(*choice.printed_us) : Json()}};
  if (communicator != nullptr && choice.collective && !choice.of_one_rank) {
    const DebugReason reason = reason_of(*communicator, release.version, *choice.collective,
                                         choice.bytes, choice.algorithm, choice.protocol);
    json["predicted_us"] = reason.predicted_us ? Json(*reason.predicted_us) : Json();
    json["least"] = reason.predicted_us ? Json(reason.least) : Json();
    json["best_other"] = reason.other ? Json{{"algorithm", to_string(*reason.other)},
                                             {"protocol", to_string(reason.other_protocol)},
                                             {"predicted_us", reason.other_us}}
                                      : Json();
  }
  return json;
}

Json estimates_json(const DebugCommunicator& communicator) {
  Json json = Json::array();
  for (std::size_t c = 0; c < kNcclCollectives && communicator.estimates; ++c) {
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
      for (const Protocol protocol : all_protocols()) {
        const NcclEstimate& estimate =
            (*communicator.estimates)[c][a][static_cast<std::size_t>(protocol)];
        if (estimate.bandwidth_GBps <= 0) continue;
        json.push_back({{"collective", to_string(static_cast<NcclCollective>(c))},
                        {"algorithm", to_string(static_cast<NcclAlgorithm>(a))},
                        {"protocol", to_string(protocol)},
                        {"latency_us", estimate.latency_us},
                        {"bandwidth_GBps", estimate.bandwidth_GBps}});
      }
    }
  }
  return json;
}

Json communicator_json(const DebugCommunicator& communicator, const Release& release) {
  Json json{{"id", communicator.id},
            {"ranks", communicator.ranks},
            {"nodes", communicator.nodes},
            {"channels", communicator.channels},
            {"hosts", communicator.hosts}};
  json["graphs"] = Json::array();
  for (const DebugGraph& graph : communicator.graphs) {
    json["graphs"].push_back({{"pattern", pattern_name(graph.pattern)},
                              {"channels", graph.channels},
                              {"inside_GBps", graph.inside_GBps},
                              {"between_GBps", graph.between_GBps},
                              {"inside_type", graph.inside_type},
                              {"between_type", graph.between_type},
                              {"same_channels", graph.same_channels},
                              {"cross_nic", graph.cross_nic}});
  }
  json["rings"] = Json::array();
  for (const auto& [channel, ring] : communicator.rings) {
    json["rings"].push_back({{"channel", channel}, {"ranks", ring.order}, {"whole", ring.whole}});
  }
  json["trees"] = Json::array();
  for (const auto& [channel, tree] : communicator.trees) {
    Json parents = Json::object();
    for (const auto& [rank, parent] : tree) parents[std::to_string(rank)] = parent;
    json["trees"].push_back({{"channel", channel}, {"parents", parents}});
  }
  json["estimates"] = estimates_json(communicator);
  json["choices"] = Json::array();
  for (const DebugChoice& choice : communicator.choices) {
    json["choices"].push_back(choice_json(choice, &communicator, release));
  }
  return json;
}

}  // namespace

std::string debug_log_text(const DebugLog& log, const std::string& name) {
  const Release release = release_of(log);
  std::string text = fmt::format("{}: {} {}, {}\n", name, log.rccl ? "RCCL" : "NCCL",
                                 log.version.empty() ? "(release not printed)" : log.version,
                                 counted(log.communicators.size(), "communicator"));
  for (const auto& [variable, value] : log.variables) {
    text += fmt::format("  {}={}\n", variable, value);
  }
  if (!log.tuner.empty()) text += fmt::format("  tuner plugin {}\n", log.tuner);
  for (const DebugCommunicator& communicator : log.communicators) {
    text += communicator_text(log, communicator, release);
  }
  if (!log.unassigned.empty()) {
    text +=
        "\nchoices whose communicator the log does not tell: their process has rank 0 of several, "
        "or of none\n" +
        choices_text(log, log.unassigned, nullptr, release);
  }
  const std::vector<std::string> notes = notes_of(log, release);
  if (!notes.empty()) text += '\n';
  for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
  return text;
}

nlohmann::ordered_json debug_log_json(const DebugLog& log) {
  const Release release = release_of(log);
  Json json{{"library", log.rccl ? "RCCL" : "NCCL"},
            {"version", log.version},
            {"predicted_as", release.version.to_string()}};
  json["variables"] = Json::array();
  for (const auto& [variable, value] : log.variables) {
    json["variables"].push_back({{"name", variable}, {"value", value}});
  }
  json["tuner"] = log.tuner;
  json["communicators"] = Json::array();
  for (const DebugCommunicator& communicator : log.communicators) {
    json["communicators"].push_back(communicator_json(communicator, release));
  }
  json["unassigned_choices"] = Json::array();
  for (const DebugChoice& choice : log.unassigned) {
    json["unassigned_choices"].push_back(choice_json(choice, nullptr, release));
  }
  json["notes"] = notes_of(log, release);
  return json;
}

}  // namespace cclgym
