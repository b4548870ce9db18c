#include "sim/classes/exchange_classes.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/hash.hpp"
#include "core/index.hpp"

namespace cclgym {

namespace {

// With more classes than this share of the messages, a graph of classes saves little.
constexpr std::int64_t kMinMessagesPerClass = 8;
// Limit of the table of loads, by link and class of messages.
constexpr std::size_t kMaxLoads = std::size_t{1} << 25U;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  return splitmix64_finaliser(mix_hash(hash, value));
}

// By link: the number of the first link with the same capacity.
std::vector<std::int32_t> first_equal(std::span<const double> capacities_Bps) {
  std::unordered_map<double, std::int32_t> known;
  std::vector<std::int32_t> first;
  first.reserve(capacities_Bps.size());
  for (std::size_t link = 0; link < capacities_Bps.size(); ++link) {
    first.push_back(
        known.try_emplace(capacities_Bps[link], static_cast<std::int32_t>(link)).first->second);
  }
  return first;
}

class ExchangeRefinement {
 public:
  ExchangeRefinement(const Fabric& fabric, const DirectExchange& exchange,
                     std::span<const double> capacities_Bps)
      : fabric_(fabric),
        exchange_(exchange),
        capacities_Bps_(capacities_Bps),
        proxies_(capacities_Bps.size() > fabric.links().size()) {
    number_links();
    gather();
  }

  std::optional<ExchangeClasses> run() {
    std::size_t classes = 0;
    for (std::size_t next = link_colours(); next != classes; next = link_colours()) {
      classes = next;
      refine();
    }
    if (!number() || !count_loads() || !holds()) return std::nullopt;
    take_loads();
    take_ranks();
    found_.first_equal_capacity = first_equal(capacities_Bps_);
    return std::move(found_);
  }

 private:
  // Links with equal numbers cost a message the same.
  void number_links() {
    std::map<std::tuple<LinkKind, bool, double>, std::uint32_t> known;
    for (const Link& link : fabric_.links()) {
      const auto number = static_cast<std::uint32_t>(known.size() + 1);
      cost_.push_back(known.try_emplace({link.kind, link.latency_stated, link.latency_s}, number)
                          .first->second);
    }
    cost_.resize(capacities_Bps_.size(), 0);  // proxies
  }

  template <class Visit>
  void for_each_message(Visit visit) const {
    std::size_t number = 0;
    ExchangeMessage message;
    for (message.source = 0; message.source < exchange_.ranks; ++message.source) {
      for (message.target = 0; message.target < exchange_.ranks; ++message.target) {
        if (message.source == message.target) continue;
        for (message.channel = 0; message.channel < exchange_.channels; ++message.channel) {
          visit(number++, static_cast<const ExchangeMessage&>(message));
        }
      }
    }
  }

  void gather() {
    const auto count = static_cast<std::size_t>(exchange_.messages());
    first_link_.reserve(count + 1);
    first_link_.push_back(0);
    key_.reserve(count);
    const auto links = static_cast<std::int32_t>(fabric_.links().size());
    for_each_message([&](std::size_t, const ExchangeMessage& message) {
      bool network = false;
      std::uint64_t key = crosses_servers(message) ? 1 : 0;
      for (const LinkId link : fabric_.route(message.source, message.target, message.channel)) {
        network = network || fabric_.links()[at(link)].kind == LinkKind::Network;
        key = mixed(key, cost_[at(link)]);
        links_.push_back(link);
      }
      if (proxies_ && network) {
        links_.push_back(links + message.source);
        links_.push_back(links + message.target);
      }
      key_.push_back(key);
      first_link_.push_back(static_cast<std::uint32_t>(links_.size()));
    });
    used_.assign(capacities_Bps_.size(), 0);
    for (const std::int32_t link : links_) used_[at(link)] = 1;
    for (const double capacity_Bps : capacities_Bps_) {
      colour_.push_back(mixed(2, std::bit_cast<std::uint64_t>(capacity_Bps)));
    }
  }

  [[nodiscard]] bool crosses_servers(const ExchangeMessage& message) const {
    return fabric_.server_of(message.source) != fabric_.server_of(message.target);
  }

  [[nodiscard]] std::span<const std::int32_t> links(std::size_t message) const {
    return {links_.data() + first_link_[message], links_.data() + first_link_[message + 1]};
  }

  // Colour of a message, a sum of hashes, which does not depend on the order of terms.
  [[nodiscard]] std::uint64_t colour_of(std::size_t message) const {
    std::uint64_t sum = 0;
    for (const std::int32_t link : links(message)) sum += mixed(3, colour_[at(link)]);
    return mixed(key_[message], sum);
  }

  // Colours of messages follow from those of links, so that links alone decide when to stop.
  void refine() {
    sums_.assign(colour_.size(), 0);
    for (std::size_t message = 0; message < key_.size(); ++message) {
      const std::uint64_t term = mixed(5, colour_of(message));
      for (const std::int32_t link : links(message)) sums_[at(link)] += term;
    }
    for (std::size_t link = 0; link < colour_.size(); ++link) {
      colour_[link] = mixed(colour_[link], sums_[link]);
    }
  }

  [[nodiscard]] std::size_t link_colours() const {
    std::unordered_set<std::uint64_t> colours;
    for (std::size_t link = 0; link < colour_.size(); ++link) {
      if (used_[link] != 0) colours.insert(colour_[link]);
    }
    return colours.size();
  }

  // Numbers the classes in the order of their first members; false if there are too many.
  bool number() {
    std::unordered_map<std::uint64_t, std::int32_t> known;
    found_.link_class.assign(colour_.size(), -1);
    for (std::size_t link = 0; link < colour_.size(); ++link) {
      if (used_[link] == 0) continue;
      const auto [entry, fresh] =
          known.try_emplace(colour_[link], static_cast<std::int32_t>(found_.link.size()));
      if (fresh) found_.link.push_back(static_cast<std::int32_t>(link));
      found_.link_class[link] = entry->second;
    }
    known.clear();
    const auto limit = static_cast<std::size_t>(exchange_.messages() / kMinMessagesPerClass);
    bool few = true;
    class_of_.reserve(key_.size());
    for_each_message([&](std::size_t number, const ExchangeMessage& message) {
      if (!few) return;
      const auto [entry, fresh] =
          known.try_emplace(colour_of(number), static_cast<std::int32_t>(found_.first.size()));
      if (fresh) {
        found_.first.push_back(message);
        found_.messages.push_back(0);
        first_.push_back(number);
        few = found_.first.size() <= limit;
      }
      ++found_.messages[at(entry->second)];
      class_of_.push_back(entry->second);
    });
    return few;
  }

  bool count_loads() {
    classes_ = found_.first.size();
    if (colour_.size() > kMaxLoads / std::max<std::size_t>(1, classes_)) return false;
    loads_.assign(colour_.size() * classes_, 0);
    for (std::size_t message = 0; message < key_.size(); ++message) {
      for (const std::int32_t link : links(message)) {
        ++loads_[at(link) * classes_ + at(class_of_[message])];
      }
    }
    return true;
  }

  [[nodiscard]] std::span<const std::int32_t> loads_of(std::size_t link) const {
    return {loads_.data() + link * classes_, classes_};
  }

  // True if the partition is equitable.
  [[nodiscard]] bool holds() const {
    const auto same_costs = [this](std::size_t a, std::size_t b) {
      return std::ranges::equal(links(a), links(b), [this](std::int32_t x, std::int32_t y) {
        return cost_[at(x)] == cost_[at(y)];
      });
    };
    std::vector<std::vector<std::int32_t>> passed;  // classes of links, by class of messages
    std::vector<std::int32_t> own;
    const auto passed_by = [&](std::size_t message) {
      own.clear();
      for (const std::int32_t link : links(message)) own.push_back(found_.link_class[at(link)]);
      std::ranges::sort(own);
    };
    for (const std::size_t first : first_) {
      passed_by(first);
      passed.push_back(own);
    }
    bool equal = true;
    for_each_message([&](std::size_t number, const ExchangeMessage& message) {
      if (!equal) return;
      const std::size_t of = at(class_of_[number]);
      passed_by(number);
      equal = own == passed[of] && same_costs(number, first_[of]) &&
              crosses_servers(message) == crosses_servers(found_.first[of]);
    });
    for (std::size_t link = 0; link < colour_.size() && equal; ++link) {
      if (used_[link] == 0) continue;
      const std::size_t first = at(found_.link[at(found_.link_class[link])]);
      equal = capacities_Bps_[link] == capacities_Bps_[first] &&
              std::ranges::equal(loads_of(link), loads_of(first));
    }
    return equal;
  }

  void take_loads() {
    found_.loads.resize(classes_);
    for (std::size_t link = 0; link < found_.link.size(); ++link) {
      const auto loads = loads_of(at(found_.link[link]));
      for (std::size_t of = 0; of < classes_; ++of) {
        if (loads[of] > 0) {
          found_.loads[of].push_back({static_cast<std::int32_t>(link), loads[of]});
        }
      }
    }
  }

  void take_ranks() {
    const std::size_t ranks = at(exchange_.ranks);
    found_.sent.resize(ranks);
    found_.received.resize(ranks);
    // The last rank that sent or received a message of a class; sources ascend.
    std::vector<std::int32_t> sender(classes_, -1);
    std::vector<bool> receives(ranks * classes_, false);
    for_each_message([&](std::size_t number, const ExchangeMessage& message) {
      const std::size_t of = at(class_of_[number]);
      if (std::exchange(sender[of], message.source) != message.source) {
        found_.sent[at(message.source)].push_back(class_of_[number]);
      }
      const std::size_t place = at(message.target) * classes_ + of;
      if (!receives[place]) {
        receives[place] = true;
        found_.received[at(message.target)].push_back(class_of_[number]);
      }
    });
  }

  const Fabric& fabric_;
  const DirectExchange& exchange_;
  std::span<const double> capacities_Bps_;
  bool proxies_;
  std::vector<std::uint32_t> cost_;  // by link
  // By message:
  std::vector<std::uint32_t> first_link_;
  std::vector<std::uint64_t> key_;  // hash of the costs
  std::vector<std::int32_t> class_of_;
  std::vector<std::int32_t> links_;
  // By link:
  std::vector<std::uint8_t> used_;
  std::vector<std::uint64_t> colour_;
  std::vector<std::uint64_t> sums_;
  std::vector<std::int32_t> loads_;  // and class of messages
  std::vector<std::size_t> first_;   // by class: number of its first message
  std::size_t classes_ = 0;
  ExchangeClasses found_;
};

}  // namespace

bool ExchangeClasses::hold_for(std::span<const double> capacities_Bps) const {
  return first_equal(capacities_Bps) == first_equal_capacity;
}

std::optional<ExchangeClasses> find_exchange_classes(const Fabric& fabric,
                                                     const DirectExchange& exchange,
                                                     std::span<const double> capacities_Bps) {
  // Links are numbered by 32 bits.
  constexpr std::int64_t kMaxMessages = 1 << 27;
  if (fabric.routing() == Routing::Adaptive || exchange.messages() > kMaxMessages) {
    return std::nullopt;
  }
  return ExchangeRefinement(fabric, exchange, capacities_Bps).run();
}

}  // namespace cclgym
