#include "calibration/debug_log/debug_log.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <regex>
#include <set>
#include <utility>

#include "calibration/cuda/nccl/nccl_log.hpp"
#include "core/error.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"
#include "experiments/measured/log_lines.hpp"

namespace cclgym {

namespace {

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find_first_not_of(separators); at != std::string_view::npos;
       at = text.find_first_not_of(separators, at)) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

// The word behind `key`: "8" for "nranks" in "rank 0 nranks 8 cudaDev 0".
std::string_view word_after(const std::vector<std::string_view>& words, std::string_view key) {
  const auto at = std::ranges::find(words, key);
  return at == words.end() || at + 1 == words.end() ? std::string_view() : *(at + 1);
}

// Names as NCCL prints them; the blanks of a table's cell do not count.
std::string_view cell_text(std::string_view cell) {
  const std::vector<std::string_view> words = split(cell, " ");
  return words.empty() ? std::string_view() : words.front();
}

std::optional<NcclAlgorithm> algorithm_of(std::string_view cell) {
  const std::string_view name = cell_text(cell);
  if (name == "CollNet") return NcclAlgorithm::CollNetDirect;  // the only one of old releases
  const auto number = algorithm_of_log(name);
  return number ? std::optional(static_cast<NcclAlgorithm>(*number)) : std::nullopt;
}

std::optional<Protocol> protocol_of(std::string_view cell) {
  const auto number = nccl_protocol_of(cell_text(cell));
  return number ? std::optional(static_cast<Protocol>(*number)) : std::nullopt;
}

std::optional<NcclCollective> collective_of(std::string_view cell) {
  const auto number = nccl_collective_of(lower_case(cell_text(cell)));
  return number ? std::optional(static_cast<NcclCollective>(*number)) : std::nullopt;
}

// A line of NCCL: "alpha0:7000:7100 [0] NCCL INFO MESSAGE", with a time or part of a row before it.
struct DebugLine {
  std::string host;
  std::string process;  // "alpha0:7000"
  std::string thread;   // "alpha0:7000:7100"
  std::string_view message;
};

std::optional<DebugLine> debug_line(std::string_view text) {
  constexpr std::string_view kInfo = "NCCL INFO ";
  const std::size_t at = text.find(kInfo);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t start = nccl_thread_start(text, at);
  const std::string_view word = cell_text(text.substr(start, at - start));
  DebugLine line;
  line.message = text.substr(at + kInfo.size());
  line.thread = word;
  line.process = word.substr(0, std::min(word.rfind(':'), word.size()));
  line.host = line.process.substr(0, std::min(line.process.rfind(':'), line.process.size()));
  return line;
}

// Headings of NCCL's table of estimates give the columns of the rows that follow.
struct TableColumns {
  std::vector<std::optional<NcclAlgorithm>> algorithms;  // names in the heading without protocols
  std::vector<std::pair<std::optional<NcclAlgorithm>, Protocol>> columns;
};

// Facts that one rank printed about one communicator.
struct Block {
  std::string id;
  std::string address;  // number of the communicator in this process
  // A part of a communicator, which NCCL 2.24 to 2.29 print without an id.
  std::string parent_address;
  std::string part;  // "split 1, color 0"
  std::optional<int> rank;
  int ranks = 0;
  int nodes = 0;
  int channels = 0;
  std::string host;
  std::string process;
  std::vector<DebugGraph> graphs;
  std::map<int, DebugRing> rings;
  std::map<int, int> next;     // the next rank of this one, by channel
  std::map<int, int> parents;  // by channel
  TableColumns table;
  std::optional<NcclEstimates> estimates;
  std::size_t estimates_line = 0;
  bool begun = false;
};

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  void line(const LogLine& line) {
    version(line.text);
    auto debug = debug_line(line.text);
    if (!debug) return;
    drop_row(*debug);
    seen_ = true;
    number_ = line.number;
    Block& block = blocks_[debug->thread];
    if (block.host.empty()) {
      block.host = debug->host;
      block.process = debug->process;
    }
    const std::string_view message = debug->message;
    if (variable(message) || tuner(message)) return;
    if (choice(message, debug->process)) return;
    if (message.find(" [Symmetric]: ") != std::string_view::npos ||
        message.find(" [Copy Engine]: ") != std::string_view::npos) {
      ++log_.other_calls;
      return;
    }
    const bool known = graph(message, block) || ring(message, block) || tree(message, block) ||
                       table(message, block) || channels(message, block);
    block.begun = block.begun || known;
    start_or_end(message, debug->thread);
  }

  DebugLog take() {
    if (!seen_) {
      throw UserError({name_, 0, 0},
                      "has no line of NCCL; expected the output of a run with NCCL_DEBUG=INFO (and "
                      "NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING), such as 'host:1:2 [0] NCCL INFO "
                      "Channel 00/02 : 0 1'");
    }
    for (auto& [thread, block] : blocks_) close(block);
    for (Gathered& gathered : gathered_) finish(gathered);
    assign_choices();
    for (Gathered& gathered : gathered_) {
      log_.communicators.push_back(std::move(gathered.communicator));
    }
    if (left_out_ > 0) {
      log_.notes.push_back(fmt::format("{} line{} left out, the first because {}", left_out_,
                                       left_out_ == 1 ? " was" : "s were", left_out_because_));
    }
    return std::move(log_);
  }

 private:
  struct Gathered {
    DebugCommunicator communicator;
    std::set<int> ranks_seen;
    std::map<int, std::map<int, int>> next;  // by channel: the next rank of each
    std::string process_of_rank_0;
  };

  // Drops the last number of a row of nccl-tests from the host: "-1alpha0:7000:7100".
  void drop_row(DebugLine& line) {
    const std::size_t digits = line.process.find_first_not_of("-.0123456789");
    for (std::size_t at = 0; at <= digits && at < line.process.size(); ++at) {
      if (!processes_.contains(line.process.substr(at))) continue;
      line.host.erase(0, at);
      line.process.erase(0, at);
      line.thread.erase(0, at);
      return;
    }
    processes_.insert(line.process);
  }

  // Reads "NCCL version 2.21.5+cuda12.4" or "RCCL version : 2.22.3-HEAD:…", which is not always a
  // line of NCCL_DEBUG.
  void version(const std::string& text) {
    if (!log_.version.empty()) return;
    for (const std::string_view library : {"NCCL version", "RCCL version"}) {
      const std::size_t at = text.find(library);
      if (at == std::string::npos) continue;
      std::string_view rest = std::string_view(text).substr(at + library.size());
      while (rest.starts_with(':') || rest.starts_with(' ')) rest.remove_prefix(1);
      const std::string_view found = rest.substr(0, rest.find_first_not_of("0123456789."));
      if (found.find('.') == std::string_view::npos) continue;
      log_.version = found;
      log_.rccl = library.starts_with('R');
    }
  }

  bool variable(std::string_view message) {
    constexpr std::string_view kSet = " set by environment to ";
    const std::size_t at = message.find(kSet);
    if (at == std::string_view::npos || !message.starts_with("NCCL_")) return false;
    std::string value(message.substr(at + kSet.size()));
    while (value.ends_with('.') || value.ends_with(' ')) value.pop_back();
    const std::pair<std::string, std::string> found{message.substr(0, at), value};
    if (std::ranges::find(log_.variables, found) == log_.variables.end()) {
      log_.variables.push_back(found);
    }
    return true;
  }

  bool tuner(std::string_view message) {
    constexpr std::string_view kUsing = "TUNER/Plugin: Using ";
    if (message.find(kUsing) != 0) return false;
    const std::string_view rest = message.substr(kUsing.size());
    if (!rest.starts_with("tuner plugin") && !rest.starts_with("internal")) log_.tuner = rest;
    return true;
  }

  static bool graph(std::string_view message, Block& block) {
    static const std::regex pattern(
        R"(^Pattern (\d+), crossNic (\d+), nChannels (\d+), (?:bw|speed) ([\d.]+)/([\d.]+), type (\w+)/(\w+), sameChannels (\d+))");
    if (!message.starts_with("Pattern ")) return false;
    std::cmatch found;
    if (!std::regex_search(message.begin(), message.end(), found, pattern)) return false;
    const auto text = [&](std::size_t i) {
      return std::string_view(found[i].first, found[i].second);
    };
    const DebugGraph graph{.pattern = number_of<int>(text(1)).value_or(0),
                           .channels = number_of<int>(text(3)).value_or(0),
                           .inside_GBps = number_of<double>(text(4)).value_or(0),
                           .between_GBps = number_of<double>(text(5)).value_or(0),
                           .inside_type = found[6],
                           .between_type = found[7],
                           .same_channels = text(8) != "0",
                           .cross_nic = text(2) != "0"};
    if (std::ranges::find(block.graphs, graph) == block.graphs.end()) {
      block.graphs.push_back(graph);
    }
    return true;
  }

  // Reads "Channel 00/02 :    0   1   3   2", which rank 0 prints, and "Ring 00 : 3 -> 0 -> 1".
  static bool ring(std::string_view message, Block& block) {
    const std::vector<std::string_view> words = split(message, " ");
    if (words.size() < 4 || words[2] != ":") return false;
    if (words[0] == "Ring" && words.size() >= 7 && words[4] == "->" && words[6] == "->") {
      const auto channel = number_of<int>(words[1]);
      const auto rank = number_of<int>(words[5]);
      const auto next = words.size() > 7 ? number_of<int>(words[7]) : std::nullopt;
      if (!channel || !rank || !next) return false;
      block.rank = *rank;
      block.next[*channel] = *next;
      return true;
    }
    const std::size_t slash = words[1].find('/');
    if (words[0] != "Channel" || slash == std::string_view::npos) return false;
    const auto channel = number_of<int>(words[1].substr(0, slash));
    if (!channel) return false;
    DebugRing ring;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const auto rank = number_of<int>(words[i]);
      if (!rank) {
        // The end of a line that was cut off is "..." and may follow a part of a number.
        if (words[i].find("...") == std::string_view::npos) return false;
        ring.whole = false;
        break;
      }
      ring.order.push_back(*rank);
    }
    if (ring.order.size() < 2) return false;
    block.rings[*channel] = std::move(ring);
    return true;
  }

  // Reads "Trees [0] 14/4/-1->12->-1 [1] …": children, rank and parent by channel. Releases up to
  // 2.7 print the way up and the way down, with a | between them, and 2.4 and 2.5 print the parent
  // first: "26->25->-1/-1/-1".
  static bool tree(std::string_view message, Block& block) {
    if (!message.starts_with("Trees [")) return false;
    const std::vector<std::string_view> words = split(message, " ");
    for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
      const std::string_view place = words[i];
      if (!place.starts_with('[') || !place.ends_with(']')) return false;
      const auto channel = number_of<int>(place.substr(1, place.size() - 2));
      const std::string_view up = words[i + 1].substr(0, words[i + 1].find('|'));
      const std::vector<std::string_view> parts = split(up, ">");
      if (!channel || parts.size() != 3) return false;
      const auto without_dash = [](std::string_view text) {
        return text.ends_with('-') ? text.substr(0, text.size() - 1) : text;
      };
      const bool parent_first = parts[2].find('/') != std::string_view::npos;
      const auto rank = number_of<int>(without_dash(parts[1]));
      const auto parent = number_of<int>(parent_first ? without_dash(parts[0]) : parts[2]);
      if (!rank || !parent) return false;
      block.rank = *rank;
      block.parents[*channel] = *parent;
    }
    return true;
  }

  // Reads the lines of NCCL's table of estimates, which rank 0 prints.
  bool table(std::string_view message, Block& block) {
    if (message.find('|') == std::string_view::npos) return false;
    std::vector<std::string_view> cells = split(message, "|");
    while (!cells.empty() && split(cells.back(), " ").empty()) cells.pop_back();
    if (cells.empty()) return false;
    const std::string heading = lower_case(cell_text(cells.front()));
    cells.erase(cells.begin());
    TableColumns& columns = block.table;
    if (heading == "algorithm") {
      columns.algorithms.clear();
      for (const std::string_view cell : cells) columns.algorithms.push_back(algorithm_of(cell));
      columns.columns.clear();
    } else if (heading == "protocol") {
      columns.columns.clear();
      for (std::size_t i = 0; i < cells.size() && i / kProtocols < columns.algorithms.size(); ++i) {
        const auto protocol = protocol_of(cells[i]);
        if (!protocol) return false;
        columns.columns.emplace_back(columns.algorithms[i / kProtocols], *protocol);
      }
    } else if (heading == "latency/algbw") {
      columns.columns.clear();
      for (const std::string_view cell : cells) {
        const std::size_t slash = std::min(cell.find('/'), cell.size() - 1);
        const auto protocol = protocol_of(cell.substr(slash + 1));
        if (!protocol) return false;
        columns.columns.emplace_back(algorithm_of(cell.substr(0, slash)), *protocol);
      }
    } else if (const auto collective = collective_of(heading)) {
      return estimates(*collective, cells, block);
    } else {
      return false;
    }
    return true;
  }

  // Takes a row as a whole or not at all.
  bool estimates(NcclCollective collective, const std::vector<std::string_view>& cells,
                 Block& block) {
    const TableColumns& columns = block.table;
    if (columns.columns.empty()) return false;
    std::vector<NcclEstimate> row;
    for (const std::string_view cell : cells) {
      const std::vector<std::string_view> values = split(cell, " /");
      const auto latency = number_of<double>(values.empty() ? "" : values.front());
      const auto bandwidth = number_of<double>(values.size() == 2 ? values[1] : "");
      const bool valid = latency && bandwidth && *latency >= 0 && *bandwidth >= 0 &&
                         std::isfinite(*latency) && std::isfinite(*bandwidth);
      if (!valid || row.size() == columns.columns.size()) {
        leave_out(
            fmt::format("{}:{}: found '{}' among the estimates of {}; expected e.g. '8.0/ "
                        "20.0' in {} columns",
                        name_, number_, cell, to_string(collective), columns.columns.size()));
        return true;
      }
      row.push_back({.latency_us = *latency, .bandwidth_GBps = *bandwidth});
    }
    if (!block.estimates) {
      block.estimates.emplace();
      block.estimates_line = number_;
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto& [algorithm, protocol] = columns.columns[i];
      if (!algorithm) continue;
      (*block.estimates)[static_cast<std::size_t>(collective)][static_cast<std::size_t>(*algorithm)]
                        [static_cast<std::size_t>(protocol)] = row[i];
    }
    return true;
  }

  // Reads "16 coll channels, 16 collnet channels, …".
  static bool channels(std::string_view message, Block& block) {
    if (message.find(" coll channels,") == std::string_view::npos) return false;
    const auto found = number_of<int>(split(message, " ").front());
    if (found) block.channels = *found;
    return found.has_value();
  }

  // Reads lines that name the communicator, and closes what a thread printed about the one before.
  void start_or_end(std::string_view message, const std::string& thread) {
    if (message.find("comm ") == std::string_view::npos) return;
    const std::vector<std::string_view> words = split(message, " ");
    const bool starts = message.ends_with("Init START");
    const bool ends = message.ends_with("Init COMPLETE");
    std::string_view ranks = word_after(words, "nranks");
    if (ranks.empty()) ranks = word_after(words, "nRanks");
    const auto rank = number_of<int>(word_after(words, "rank"));
    const auto count = number_of<int>(ranks);
    if (!rank || !count) return;
    if (!starts && !ends && word_after(words, "nNodes").empty()) return;
    if (starts && blocks_[thread].begun) close(blocks_[thread]);
    Block& block = blocks_[thread];
    block.begun = true;
    block.rank = *rank;
    block.ranks = *count;
    if (const auto nodes = number_of<int>(word_after(words, "nNodes"))) block.nodes = *nodes;
    if (const std::string_view id = word_after(words, "commId"); !id.empty()) block.id = id;
    block.address = word_after(words, "comm");
    block.parent_address = word_after(words, "parent");
    std::string_view count_of_part = word_after(words, "splitCount");
    if (count_of_part.empty()) count_of_part = word_after(words, "childCount");
    block.part = fmt::format("split {}, color {}", count_of_part, word_after(words, "color"));
    if (ends) close(block);
  }

  bool choice(std::string_view message, const std::string& process) {
    if (message.find(" Bytes -> Algo ") == std::string_view::npos) return false;
    DebugChoice found;
    const std::vector<std::string_view> words = split(message, " ");
    // "805306368 Bytes -> Algo 1 proto 2 time 3970.683594", in 2.23 with "AllReduce: " in front
    if (const auto algorithm = number_of<std::size_t>(word_after(words, "Algo"))) {
      const std::string_view name = words.front();
      const bool named = name.ends_with(':');
      const auto bytes = number_of<std::uint64_t>(words[named ? 1 : 0]);
      const auto protocol = number_of<std::size_t>(word_after(words, "proto"));
      const auto time = number_of<double>(word_after(words, "time"));
      if (named) found.collective = collective_of(name.substr(0, name.size() - 1));
      if (!bytes || *algorithm >= kNcclAlgorithms || !protocol || *protocol >= kProtocols ||
          !time || (named && !found.collective)) {
        leave_out(
            fmt::format("{}:{}: found '{}'; expected e.g. '1024 Bytes -> Algo 1 proto 2 time "
                        "12.5'",
                        name_, number_, message));
        return true;
      }
      found.bytes = *bytes;
      found.algorithm = static_cast<NcclAlgorithm>(*algorithm);
      found.protocol = static_cast<Protocol>(*protocol);
      found.printed_us = time;
    } else {
      try {
        const auto decision = read_nccl_decision(message, {name_, number_, 0});
        if (!decision) return false;
        found.collective = static_cast<NcclCollective>(decision->collective);
        found.bytes = decision->bytes;
        found.algorithm = static_cast<NcclAlgorithm>(decision->algorithm);
        found.protocol = static_cast<Protocol>(decision->protocol);
        found.channels = decision->channels;
      } catch (const UserError& error) {
        leave_out(error.what());
        return true;
      }
    }
    found.line = number_;
    found.calls = 1;
    choices_.emplace_back(process, found);
    return true;
  }

  void leave_out(const std::string& because) {
    if (left_out_++ == 0) left_out_because_ = because;
  }

  // Adds what a rank printed to its communicator.
  void close(Block& block) {
    Block done;
    std::swap(done, block);
    block.host = done.host;
    block.process = done.process;
    if (!done.begun) return;
    if (!done.rank && (!done.rings.empty() || done.estimates)) done.rank = 0;
    if (done.ranks == 0 && !done.rings.empty() && done.rings.begin()->second.whole) {
      done.ranks = static_cast<int>(done.rings.begin()->second.order.size());
    }
    if (!done.rank) return;
    if (done.id.empty() && !done.parent_address.empty()) {
      const auto parent = ids_.find(done.process + ' ' + done.parent_address);
      done.id = done.part;
      if (parent != ids_.end()) done.id += " of " + parent->second;
    }
    if (!done.address.empty()) ids_[done.process + ' ' + done.address] = done.id;
    Gathered& gathered = communicator_of(done);
    DebugCommunicator& communicator = gathered.communicator;
    gathered.ranks_seen.insert(*done.rank);
    if (*done.rank == 0) gathered.process_of_rank_0 = done.process;
    communicator.id = done.id;
    communicator.ranks = std::max(communicator.ranks, done.ranks);
    communicator.nodes = std::max(communicator.nodes, done.nodes);
    communicator.channels = std::max(communicator.channels, done.channels);
    if (std::ranges::find(communicator.hosts, done.host) == communicator.hosts.end()) {
      communicator.hosts.push_back(done.host);
    }
    if (communicator.graphs.empty()) communicator.graphs = done.graphs;
    communicator.rings.merge(done.rings);
    for (const auto& [channel, next] : done.next) gathered.next[channel][*done.rank] = next;
    for (const auto& [channel, parent] : done.parents) {
      communicator.trees[channel][*done.rank] = parent;
    }
    if (done.estimates) {
      communicator.estimates = done.estimates;
      communicator.estimates_line = done.estimates_line;
    }
  }

  // By NCCL's id or, in releases that print none, the first that has this number of ranks and in
  // which this rank has not printed yet.
  Gathered& communicator_of(const Block& block) {
    for (Gathered& known : gathered_) {
      const DebugCommunicator& communicator = known.communicator;
      const bool same = block.id.empty() && communicator.id.empty()
                            ? (communicator.ranks == block.ranks || communicator.ranks == 0 ||
                               block.ranks == 0) &&
                                  !known.ranks_seen.contains(*block.rank)
                            : communicator.id == block.id;
      if (same) return known;
    }
    return gathered_.emplace_back();
  }

  void finish(Gathered& gathered) const {
    DebugCommunicator& communicator = gathered.communicator;
    for (const auto& [channel, next] : gathered.next) {
      DebugRing& ring = communicator.rings[channel];
      if (ring.whole && !ring.order.empty()) continue;
      // Follows the neighbours that the ranks printed, if all did.
      std::vector<int> order;
      for (auto at = next.find(0); at != next.end() && order.size() < next.size();
           at = next.find(at->second)) {
        order.push_back(at->first);
      }
      const bool closed = !order.empty() && next.at(order.back()) == 0;
      if (closed) ring = {.order = order, .whole = true};
    }
    std::erase_if(communicator.rings, [](const auto& ring) { return ring.second.order.empty(); });
    // Without a stated number, ranks 0 to k may be all if there is more than one.
    const std::set<int>& seen = gathered.ranks_seen;
    const auto count = static_cast<int>(seen.size());
    if (communicator.ranks == 0 && count > 1 && *seen.rbegin() == count - 1) {
      communicator.ranks = count;
    }
    if (communicator.nodes == 0 && communicator.ranks == count) {
      communicator.nodes = static_cast<int>(communicator.hosts.size());
    }
    for (auto& [channel, ring] : communicator.rings) {
      const auto all = static_cast<std::size_t>(communicator.ranks);
      ring.whole = ring.whole && (all == 0 || ring.order.size() == all);
    }
    if (communicator.channels == 0) {
      communicator.channels =
          static_cast<int>(std::max(communicator.rings.size(), communicator.trees.size()));
    }
  }

  void assign_choices() {
    for (auto& [process, choice] : choices_) {
      Gathered* owner = nullptr;
      bool several = false;
      for (Gathered& gathered : gathered_) {
        if (gathered.process_of_rank_0 != process) continue;
        several = owner != nullptr;
        if (several) break;
        owner = &gathered;
      }
      const bool assigned = owner != nullptr && !several;
      // With the time, NCCL prints the bytes of all ranks; without it, those that one rank sends.
      const int ranks = assigned ? owner->communicator.ranks : 0;
      if (choice.collective && !choice.printed_us) {
        const bool sliced = *choice.collective == NcclCollective::AllGather ||
                            *choice.collective == NcclCollective::ReduceScatter;
        choice.of_one_rank = sliced && ranks == 0;
        if (sliced && ranks > 0) choice.bytes *= static_cast<std::uint64_t>(ranks);
      }
      add(assigned ? owner->communicator.choices : log_.unassigned, choice);
    }
  }

  static void add(std::vector<DebugChoice>& choices, const DebugChoice& choice) {
    const auto alike = std::ranges::find_if(choices, [&](const DebugChoice& other) {
      return other.collective == choice.collective && other.bytes == choice.bytes &&
             other.algorithm == choice.algorithm && other.protocol == choice.protocol &&
             other.channels == choice.channels && other.printed_us == choice.printed_us;
    });
    if (alike == choices.end()) {
      choices.push_back(choice);
    } else {
      ++alike->calls;
    }
  }

  std::string name_;
  DebugLog log_;
  bool seen_ = false;
  std::size_t number_ = 0;
  std::map<std::string, Block> blocks_;  // by thread
  std::vector<Gathered> gathered_;
  std::map<std::string, std::string> ids_;  // by process and address of the communicator
  std::set<std::string> processes_;
  std::vector<std::pair<std::string, DebugChoice>> choices_;  // with the process
  std::size_t left_out_ = 0;
  std::string left_out_because_;
};

}  // namespace

std::string_view pattern_name(int pattern) {
  constexpr std::array<std::string_view, 7> kNames{"",     "balanced tree", "split tree", "tree",
                                                   "ring", "nvls",          "collnet"};
  const auto at = static_cast<std::size_t>(pattern);
  return pattern > 0 && at < kNames.size() ? kNames[at] : "unknown";
}

DebugLog read_debug_log(std::string_view text, const std::string& name) {
  Reader reader(name);
  for_each_log_line(text, [&](const LogLine& line) { reader.line(line); });
  return reader.take();
}

}  // namespace cclgym
