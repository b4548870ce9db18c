#include "calibration/cuda/nccl/team_peers.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/core.h>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/error.hpp"

namespace cclgym {

TeamPeers::TeamPeers(RankLink& link)
    : link_(&link),
      process_(link.rank()),
      processes_(link.ranks().size()),
      on_node_(0),
      inboxes_(processes_) {
  const std::size_t leader = link.ranks()[process_].leader;
  std::set<std::size_t> leaders;
  for (std::size_t other = 0; other < processes_; ++other) {
    leaders.insert(link.ranks()[other].leader);
    if (link.ranks()[other].leader != leader) continue;
    if (other < process_) ++place_on_node_;
    ++on_node_;
  }
  nodes_ = static_cast<int>(leaders.size());
}

std::string TeamPeers::next_from(std::size_t process) {
  constexpr auto kPause = std::chrono::microseconds(50);
  while (inboxes_[process].empty()) {
    if (auto message = link_->receive()) {
      inboxes_[message->first].push_back(std::move(message->second));
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
  std::string text = std::move(inboxes_[process].front());
  inboxes_[process].pop_front();
  return text;
}

std::string TeamPeers::from_first(const std::string& own) {
  if (!first()) return next_from(0);
  for (std::size_t other = 1; other < processes_; ++other) link_->send(other, own);
  return own;
}

std::vector<std::string> TeamPeers::of_all(const std::string& own) {
  for (std::size_t other = 0; other < processes_; ++other) {
    if (other != process_) link_->send(other, own);
  }
  std::vector<std::string> texts;
  for (std::size_t other = 0; other < processes_; ++other) {
    texts.push_back(other == process_ ? own : next_from(other));
  }
  return texts;
}

bool TeamPeers::any(bool own) {
  bool found = false;
  for (const std::string& text : of_all(own ? "1" : "")) found = found || !text.empty();
  return found;
}

std::vector<int> devices_of_process(int devices, const TeamPeers& peers) {
  const int processes = static_cast<int>(peers.on_node());
  const int place = static_cast<int>(peers.place_on_node());
  if (devices == 1) return {0};
  if (devices % processes != 0) {
    throw UserError(
        fmt::format("{} processes on this node see {} GPUs each; start one process per node, one "
                    "per GPU, or a number that divides the GPUs",
                    processes, devices));
  }
  std::vector<int> own;
  const int share = devices / processes;
  for (int device = place * share; device < (place + 1) * share; ++device) own.push_back(device);
  return own;
}

TeamSpan span_of_process(std::size_t own_ranks, TeamPeers& peers) {
  TeamSpan span;
  const std::vector<std::string> counts = peers.of_all(std::to_string(own_ranks));
  for (std::size_t process = 0; process < counts.size(); ++process) {
    const std::size_t count = std::stoull(counts[process]);
    if (process < peers.process()) span.first += count;
    span.total += count;
  }
  return span;
}

std::string shared_error(const std::string& own, TeamPeers& peers) {
  if (peers.alone()) return own;
  const std::vector<std::string> texts = peers.of_all(own);
  for (std::size_t process = 0; process < texts.size(); ++process) {
    if (!texts[process].empty()) return fmt::format("process {}: {}", process, texts[process]);
  }
  return {};
}

TeamTimes merged_times(const std::vector<std::vector<double>>& own_s, TeamPeers& peers) {
  TeamTimes times;
  for (const std::vector<double>& rank_s : own_s) {
    times.longest_s.resize(rank_s.size(), 0);
    times.shortest_s.resize(rank_s.size(), std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < rank_s.size(); ++k) {
      times.longest_s[k] = std::max(times.longest_s[k], rank_s[k]);
      times.shortest_s[k] = std::min(times.shortest_s[k], rank_s[k]);
    }
  }
  if (peers.alone()) return times;
  const std::size_t repeats = times.longest_s.size();
  std::vector<double> both = times.longest_s;
  both.insert(both.end(), times.shortest_s.begin(), times.shortest_s.end());
  std::string bytes(both.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), both.data(), bytes.size());
  for (const std::string& other : peers.of_all(bytes)) {
    if (other.size() != bytes.size()) {
      throw std::runtime_error("a process sent times of another number of repeats");
    }
    std::memcpy(both.data(), other.data(), other.size());
    for (std::size_t k = 0; k < repeats; ++k) {
      times.longest_s[k] = std::max(times.longest_s[k], both[k]);
      times.shortest_s[k] = std::min(times.shortest_s[k], both[repeats + k]);
    }
  }
  return times;
}

int serve_together(TeamPeers& peers, std::istream& requests, std::ostream& answers,
                   const std::function<WorkerAnswer(const WorkerRequest&)>& measure) {
  if (peers.first()) {
    const int code = serve(requests, answers, [&](const WorkerRequest& request) {
      (void)peers.from_first(request_line(request));
      return measure(request);
    });
    if (code == 0) (void)peers.from_first({});
    return code;
  }
  while (true) {
    const std::string line = peers.from_first({});
    if (line.empty()) return 0;
    try {
      (void)measure(parse_request(line));
    } catch (const CellRefused&) {
      // Process 0 answers.
    }
  }
}

}  // namespace cclgym
