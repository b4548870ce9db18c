#include "deploy/loop/rendezvous_book.hpp"

#include <algorithm>

#include "core/tasks/wire.hpp"
#include "deploy/loop/rendezvous.hpp"

namespace cclgym {

namespace {

constexpr std::chrono::minutes kRemembered{5};
constexpr std::size_t kMostPlaces = std::size_t{1} << 20;

struct AnswerHead {
  std::uint64_t mark = kRendezvousMark;
  std::uint64_t token = 0;
  std::uint64_t places = 0;
};

bool makes_sense(const RendezvousQuestion& question) {
  return question.mark == kRendezvousMark && question.ranks >= 1 &&
         question.ranks <= RendezvousServer::kMostRanks && question.rank >= 0 &&
         question.rank < question.ranks && question.address != 0 && question.port >= 1 &&
         question.port <= 65535;
}

}  // namespace

std::optional<RendezvousAnswer> read_answer(std::string_view bytes, std::int32_t ranks,
                                            bool& broken) {
  broken = false;
  const auto head = get<AnswerHead>(bytes);
  if (!head) return std::nullopt;
  const auto all = static_cast<std::uint64_t>(ranks);
  broken = head->mark != kRendezvousMark || (head->places != 0 && head->places != all);
  if (broken || bytes.size() < head->places * sizeof(RendezvousPlace)) return std::nullopt;
  RendezvousAnswer answer{.token = head->token};
  for (std::uint64_t i = 0; i < head->places; ++i) {
    answer.places.push_back(*get<RendezvousPlace>(bytes));
    const RendezvousPlace& place = answer.places.back();
    broken = broken || place.address == 0 || place.port < 1 || place.port > 65535;
  }
  if (broken) return std::nullopt;
  return answer;
}

std::string RendezvousBook::answer(std::string_view question_bytes, Clock::time_point now) {
  const bool whole = question_bytes.size() == sizeof(RendezvousQuestion);
  const auto question = get<RendezvousQuestion>(question_bytes);
  if (!whole || !makes_sense(*question)) {
    ++strangers;
    return {};
  }
  ++questions;
  const RendezvousPlace place{
      .node = question->node, .address = question->address, .port = question->port};
  auto found = groups_.find(question->group);
  if (found != groups_.end()) {
    // A rank that listens elsewhere has started again, and so have the others: the group that was
    // complete is over.
    const Group& known = found->second;
    const auto own = known.places.find(question->rank);
    const bool complete = known.places.size() == static_cast<std::size_t>(known.ranks);
    if (known.ranks != question->ranks ||
        (complete && (own == known.places.end() || own->second != place))) {
      forget(found);
      found = groups_.end();
    }
  }
  if (found == groups_.end()) {
    if (groups_.size() >= RendezvousServer::kMostGroups) {
      forget(std::ranges::min_element(groups_, {},
                                      [](const auto& group) { return group.second.asked; }));
    }
    found = groups_.emplace(question->group, Group{.ranks = question->ranks}).first;
    found->second.token = std::uint64_t{random_()} << 32U | random_();
  }
  Group& group = found->second;
  group.asked = now;
  if (places_ < kMostPlaces || group.places.contains(question->rank)) {
    const std::size_t before = group.places.size();
    group.places[question->rank] = place;
    places_ += group.places.size() - before;
  }
  const bool complete = group.places.size() == static_cast<std::size_t>(group.ranks);
  std::string bytes;
  put(bytes, AnswerHead{.token = complete ? group.token : 0,
                        .places = complete ? group.places.size() : 0});
  if (complete) {
    for (const auto& [rank, one] : group.places) put(bytes, one);
  }
  return bytes;
}

void RendezvousBook::forget_old(Clock::time_point now) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    const auto next = std::next(group);
    if (now - group->second.asked > kRemembered) forget(group);
    group = next;
  }
}

void RendezvousBook::forget(std::map<std::uint64_t, Group>::iterator group) {
  places_ -= group->second.places.size();
  groups_.erase(group);
}

}  // namespace cclgym
