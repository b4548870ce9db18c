#include "workloads/timing/folding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/hash.hpp"
#include "sim/prices/transfer_cost.hpp"

namespace cclgym {

namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return splitmix64_finaliser(a * 31 + b + kGoldenRatio);
}
std::uint64_t mix(std::uint64_t value) { return mix(0, value); }

// A call that a communicator makes, possibly many times.
struct Type {
  CallType type;
  const ConfiguredCall* like = nullptr;  // the same call on a communicator of the same shape
  std::vector<CallLoad> loads;
};

// A process group that makes calls, or the two ends of messages.
struct Instance {
  std::vector<std::int32_t> ranks;
  std::array<std::int32_t, 4> pair{-1, -1, -1, -1};  // messages; pair[0] < 0: a group
  std::int32_t group = -1;                           // index into JobGraph::groups
  std::vector<Type> types{};
  std::uint64_t colour = 0;
};

class RankFolding {
 public:
  RankFolding(const JobGraph& job, GroupViews& views, CallFlows& flows)
      : job_(job), views_(views), flows_(flows) {}

  RankClasses run() {
    find_places();
    find_instances();
    refine();
    return classes();
  }

 private:
  // Position of each rank within its cluster node, if GPUs have direct links, around which programs
  // are built; where switches join them, the position makes no difference.
  void find_places() {
    const Fabric& fabric = views_.fabric();
    const auto is_gpu = [&](NodeId id) { return fabric.nodes()[at(id)].kind == NodeKind::Gpu; };
    const bool direct =
        std::any_of(fabric.links().begin(), fabric.links().end(),
                    [&](const Link& link) { return is_gpu(link.source) && is_gpu(link.target); });
    place_.assign(at(job_.ranks), 0);
    if (!direct) return;
    std::map<int, std::int32_t> next;
    for (std::int32_t rank = 0; rank < job_.ranks; ++rank) {
      place_[at(rank)] = next[fabric.server_of(rank)]++;
    }
  }

  void find_instances() {
    instances_of_.resize(at(job_.ranks));
    std::vector<std::int32_t> of_group(job_.groups.size(), -1);
    std::map<std::array<std::int32_t, 4>, std::int32_t> of_pair;
    for (std::int32_t rank = 0; rank < job_.ranks; ++rank) {
      for (const JobOp* op : distinct_calls(job_.program_of[at(rank)])) {
        const std::int32_t group = job_.groups_of[at(rank)][at(op->communicator)];
        const ProcessGroup& members = job_.groups[at(group)];
        if (op->kind == JobOpKind::Collective) {
          if (members.ranks.size() < 2 || members.ranks.front() != rank) continue;
          if (of_group[at(group)] < 0) {
            of_group[at(group)] = static_cast<std::int32_t>(instances_.size());
            instances_.push_back({.ranks = members.ranks, .group = group});
            // Two groups of the same ranks must stay apart.
            instances_.back().colour = mix(1, static_cast<std::uint64_t>(op->communicator));
            for (const std::int32_t member : members.ranks) {
              instances_of_[at(member)].emplace_back(of_group[at(group)], op->communicator);
            }
          }
          add_type(instances_[at(of_group[at(group)])], *op);
        } else if (op->kind == JobOpKind::Send) {
          const std::int32_t to = members.ranks[at(op->peer)];
          const std::array<std::int32_t, 4> pair{members.communicator, rank, to, op->tag};
          const auto [known, fresh] =
              of_pair.try_emplace(pair, static_cast<std::int32_t>(instances_.size()));
          if (fresh) {
            instances_.push_back({.ranks = {rank, to}, .pair = pair});
            instances_of_[at(rank)].emplace_back(known->second, -1);
            instances_of_[at(to)].emplace_back(known->second, -2);
          }
          add_type(instances_[at(known->second)], *op);
        }
      }
    }
  }

  // One operation of a program for each of its different calls.
  const std::vector<const JobOp*>& distinct_calls(std::int32_t program) {
    const auto [known, fresh] = distinct_.try_emplace(program);
    if (!fresh) return known->second;
    std::unordered_set<std::uint64_t> seen;
    for (const JobOp& op : job_.programs[at(program)].ops) {
      if (op.kind != JobOpKind::Collective && op.kind != JobOpKind::Send) continue;
      std::uint64_t key = mix(at(op.kind), static_cast<std::uint64_t>(op.communicator));
      key = mix(mix(key, at(op.collective)), op.bytes);
      key = mix(mix(key, static_cast<std::uint64_t>(op.root)), static_cast<std::uint64_t>(op.peer));
      if (seen.insert(mix(key, static_cast<std::uint64_t>(op.tag))).second) {
        known->second.push_back(&op);
      }
    }
    return known->second;
  }

  // Positions of the communicator's GPUs, and its call without the size.
  [[nodiscard]] std::vector<std::int32_t> shape_of(const Instance& instance,
                                                   const JobOp& op) const {
    std::vector<std::int32_t> shape{communicator_of(instance), static_cast<std::int32_t>(op.kind),
                                    static_cast<std::int32_t>(op.collective), op.root};
    std::map<int, std::int32_t> servers;
    for (const std::int32_t rank : instance.ranks) {
      const auto server = servers.try_emplace(views_.fabric().server_of(rank),
                                              static_cast<std::int32_t>(servers.size()));
      shape.push_back(server.first->second);
      shape.push_back(place_[at(rank)]);
    }
    return shape;
  }
  [[nodiscard]] std::int32_t communicator_of(const Instance& instance) const {
    return instance.group >= 0 ? job_.groups[at(instance.group)].communicator : instance.pair[0];
  }

  // The call of an operation; if none of its shape is known, it is simulated.
  void add_type(Instance& instance, const JobOp& op) {
    std::vector<Shape>& shapes = shapes_[{shape_of(instance, op), op.bytes}];
    const auto add = [&](const Shape& shape, std::vector<CallLoad> loads) {
      instance.types.push_back({call_type_of(op), shape.like, std::move(loads)});
      const CallFlow& flow = flows_.of(*shape.like);
      instance.colour =
          mix(instance.colour,
              flow.switched ? std::bit_cast<std::uint64_t>(flow.time_s) : shape.number);
    };
    for (const Shape& shape : shapes) {
      if (flows_.of(*shape.like).switched) break;  // its loads are those of its own links
      std::uint64_t routes = 0;
      std::vector<CallLoad> loads = loads_of(instance, flows_.of(*shape.like), routes);
      if (routes == shape.routes) return add(shape, std::move(loads));
    }
    const ConfiguredCall& planned =
        instance.group >= 0
            ? views_.collective(op, job_.groups[at(instance.group)])
            : views_.message(op, instance.pair[0], instance.pair[1], instance.pair[2]);
    Shape& shape = shapes.emplace_back(Shape{&planned, 0, ++shape_count_});
    add(shape, loads_of(instance, flows_.of(planned), shape.routes));
  }

  // Loads of a call of this shape on the instance's own links; `kinds`: hash of the kinds,
  // capacities and latencies of all links in the order of the routes.
  std::vector<CallLoad> loads_of(const Instance& instance, const CallFlow& flow,
                                 std::uint64_t& kinds) {
    const Fabric& fabric = *views_.bound_fabric(flow.nic);
    std::map<std::int32_t, double> units;
    std::unordered_map<std::int32_t, std::uint64_t> numbers;  // by link: order of appearance
    for (const CallFlow::Connection& connection : flow.connections) {
      for (const LinkId id :
           fabric.route(instance.ranks[at(connection.ends.source)],
                        instance.ranks[at(connection.ends.target)], connection.ends.channel)) {
        units[id] += connection.units;
        const Link& link = fabric.links()[at(id)];
        kinds = mix(mix(kinds, at(link.kind)), std::bit_cast<std::uint64_t>(link.capacity_Bps()));
        kinds = mix(kinds, std::bit_cast<std::uint64_t>(link.latency_s));
        kinds = mix(kinds, numbers.try_emplace(id, numbers.size()).first->second);
      }
      kinds = mix(kinds, 1);
    }
    return rounded_loads(units);
  }

  void refine() {
    const std::vector<double> capacities = link_capacities(views_.fabric(), views_.cost_model());
    for (std::int32_t rank = 0; rank < job_.ranks; ++rank) {
      rank_colour_.push_back(mix(static_cast<std::uint64_t>(job_.program_of[at(rank)])));
    }
    for (const double capacity_Bps : capacities) {
      link_colour_.push_back(mix(std::bit_cast<std::uint64_t>(capacity_Bps)));
    }
    for (std::size_t count = 0;;) {
      const std::size_t before = count;
      refine_instances();
      refine_links();
      refine_ranks();
      std::unordered_set<std::uint64_t> colours(rank_colour_.begin(), rank_colour_.end());
      colours.insert(link_colour_.begin(), link_colour_.end());
      for (const Instance& instance : instances_) colours.insert(instance.colour);
      count = colours.size();
      if (count == before) return;
    }
  }

  void refine_instances() {
    for (Instance& instance : instances_) {
      std::uint64_t colour = instance.colour;
      if (instance.group >= 0) {
        std::uint64_t sum = 0;
        for (const std::int32_t rank : instance.ranks) sum += mix(rank_colour_[at(rank)]);
        colour = mix(colour, sum);
      } else {
        for (const std::int32_t rank : instance.ranks) colour = mix(colour, rank_colour_[at(rank)]);
        colour = mix(colour, static_cast<std::uint64_t>(instance.pair[3]));
      }
      for (const Type& type : instance.types) {
        std::uint64_t sum = 0;
        for (const CallLoad& load : type.loads) {
          sum += mix(link_of(load.link), static_cast<std::uint64_t>(load.load));
        }
        colour = mix(colour, sum);
      }
      instance.colour = colour;
    }
  }

  void refine_links() {
    std::vector<std::uint64_t> sums(link_colour_.size(), 0);
    for (const Instance& instance : instances_) {
      for (std::size_t type = 0; type < instance.types.size(); ++type) {
        for (const CallLoad& load : instance.types[type].loads) {
          if (at(load.link) >= sums.size()) continue;
          sums[at(load.link)] +=
              mix(mix(instance.colour, type), static_cast<std::uint64_t>(load.load));
        }
      }
    }
    for (std::size_t link = 0; link < sums.size(); ++link) {
      link_colour_[link] = mix(link_colour_[link], sums[link]);
    }
  }

  void refine_ranks() {
    for (std::size_t rank = 0; rank < rank_colour_.size(); ++rank) {
      std::uint64_t sum = 0;
      for (const auto& [instance, role] : instances_of_[rank]) {
        sum += mix(instances_[at(instance)].colour, static_cast<std::uint64_t>(role + 2));
      }
      rank_colour_[rank] = mix(rank_colour_[rank], sum);
    }
  }

  // Links that only another choice of NICs has are not told apart.
  [[nodiscard]] std::uint64_t link_of(std::int32_t link) const {
    return at(link) < link_colour_.size() ? link_colour_[at(link)] : 0;
  }

  // True if a rank has the same part in two groups or pairs of one class, so that a call cannot
  // stand for the class.
  [[nodiscard]] bool ambiguous() const {
    for (const auto& instances : instances_of_) {
      std::unordered_set<std::uint64_t> parts;
      for (const auto& [instance, role] : instances) {
        const std::uint64_t part =
            mix(instances_[at(instance)].colour, static_cast<std::uint64_t>(role + 2));
        if (!parts.insert(part).second) return true;
      }
    }
    return false;
  }

  RankClasses classes() {
    if (ambiguous()) return single_ranks(job_.ranks);
    RankClasses found;
    std::unordered_map<std::uint64_t, std::int32_t> number;
    for (std::int32_t rank = 0; rank < job_.ranks; ++rank) {
      const auto [known, fresh] =
          number.try_emplace(rank_colour_[at(rank)], static_cast<std::int32_t>(found.count()));
      if (fresh) {
        found.actor.push_back(rank);
        found.size.push_back(0);
      }
      found.class_of.push_back(known->second);
      ++found.size[at(known->second)];
    }
    found.group_class.resize(job_.groups.size());
    for (std::size_t group = 0; group < job_.groups.size(); ++group) {
      found.group_class[group] = static_cast<std::int32_t>(group);
    }
    std::unordered_map<std::uint64_t, std::int32_t> representative;  // by colour: an instance
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      const auto known =
          representative.try_emplace(instances_[i].colour, static_cast<std::int32_t>(i)).first;
      const Instance& stands = instances_[at(known->second)];
      if (instances_[i].group >= 0) {
        found.group_class[at(instances_[i].group)] = stands.group;
      } else {
        found.pair_class[instances_[i].pair] = stands.pair;
      }
    }
    find_loads(found, representative);
    return found;
  }

  // Loads of each class of calls on the link that stands for a class of links.
  void find_loads(RankClasses& found,
                  const std::unordered_map<std::uint64_t, std::int32_t>& representative) {
    std::unordered_map<std::uint64_t, std::int32_t> first_link;  // by colour
    for (std::size_t link = 0; link < link_colour_.size(); ++link) {
      first_link.try_emplace(link_colour_[link], static_cast<std::int32_t>(link));
    }
    found.link_size.assign(link_colour_.size(), 0);
    for (const std::uint64_t colour : link_colour_) ++found.link_size[at(first_link.at(colour))];
    std::vector<std::vector<std::map<std::int32_t, std::int32_t>>> sums(instances_.size());
    for (const Instance& instance : instances_) {
      auto& of_class = sums[at(representative.at(instance.colour))];
      of_class.resize(instance.types.size());
      for (std::size_t type = 0; type < instance.types.size(); ++type) {
        for (const CallLoad& load : instance.types[type].loads) {
          if (at(load.link) >= link_colour_.size()) continue;
          if (first_link.at(link_colour_[at(load.link)]) != load.link) continue;
          of_class[type][load.link] += load.load;
        }
      }
    }
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      for (std::size_t type = 0; type < sums[i].size(); ++type) {
        const Type& stands = instances_[i].types[type];
        FoldedCall& folded = found.folded_calls[{key_of(instances_[i]), stands.type}];
        folded.like = stands.like;
        for (const auto& [link, load] : sums[i][type]) folded.loads.push_back({link, load});
      }
    }
  }

  static CommunicatorKey key_of(const Instance& instance) {
    return instance.group >= 0 ? group_key(instance.group) : instance.pair;
  }

  const JobGraph& job_;
  GroupViews& views_;
  CallFlows& flows_;
  std::vector<std::int32_t> place_;  // by rank
  std::vector<Instance> instances_;
  // By rank: its instances, with the communicator; -1 as a sender, -2 as a receiver.
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> instances_of_;
  std::unordered_map<std::int32_t, std::vector<const JobOp*>> distinct_;  // by program
  // A simulated call.
  struct Shape {
    const ConfiguredCall* like;
    std::uint64_t routes;  // hash of its routes
    std::uint64_t number;
  };
  std::map<std::pair<std::vector<std::int32_t>, std::uint64_t>, std::vector<Shape>> shapes_;
  std::uint64_t shape_count_ = 0;
  std::vector<std::uint64_t> rank_colour_;
  std::vector<std::uint64_t> link_colour_;
};

}  // namespace

RankClasses fold_ranks(const JobGraph& job, GroupViews& views, CallFlows& flows) {
  return RankFolding(job, views, flows).run();
}

}  // namespace cclgym
