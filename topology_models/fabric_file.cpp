#include "topology_models/fabric_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/yaml/empty_values.hpp"
#include "topology_models/gpu_models.hpp"

namespace cclgym {

namespace {

// A typo must not allocate gigabytes.
constexpr std::size_t kMostNodes = 500'000;
constexpr std::size_t kMostLinks = 2'000'000;

// One item of `nodes` or `links` with its records.
class Item {
 public:
  Item(const YamlValue& value, const std::vector<OptionSpec>& specs, std::string_view what)
      : value_(value), specs_(specs) {
    check_keys(value, specs, what);
    refuse_empty_values(value, specs);
  }

  [[nodiscard]] SourceLocation location() const { return value_.location(); }
  [[nodiscard]] bool has(std::string_view key) const { return value_.find(key) != nullptr; }
  [[nodiscard]] const OptionSpec& spec(std::string_view key) const {
    return find_option(specs_, key);
  }
  [[nodiscard]] YamlValue value(std::string_view key) const {
    return option_value(value_, spec(key));
  }
  [[nodiscard]] int integer(std::string_view key) const {
    return static_cast<int>(read_integer(value(key), spec(key)));
  }

 private:
  const YamlValue& value_;
  const std::vector<OptionSpec>& specs_;
};

class Reader {
 public:
  Reader(const YamlValue& document, const std::string& default_name)
      : document_(document, fabric_file_options(), "fabric"),
        name_(document_.has("name") ? read_text(document_.value("name"), document_.spec("name"))
                                    : default_name),
        builder_(name_) {}

  std::shared_ptr<const Fabric> read() {
    if (document_.has("gpu_model")) builder_.set_gpu_model(gpu_model());
    read_host();
    builder_.set_network(
        static_cast<NetworkKind>(  // the choices are in the order of the enumerators
            read_choice(document_.value("network"), document_.spec("network"))));
    if (document_.has("cost_model")) read_cost_model();
    builder_.set_max_relays(document_.integer("relays"));
    if (!document_.has("nodes") && !document_.has("servers")) {
      throw UserError(document_.location(),
                      "key 'nodes' is missing; expected a list of devices, or a key 'servers'");
    }
    if (document_.has("servers")) {
      for (const YamlValue& item :
           read_items(document_.value("servers"), document_.spec("servers"))) {
        add_servers(item);
      }
    }
    add_parts(document_, {});
    check_switches();
    try {
      return builder_.build();
    } catch (const UserError& error) {
      throw UserError(document_.location(), error.what());
    }
  }

 private:
  // The model of the GPUs. The one with the nearest compute capability stands for an unknown one.
  std::string gpu_model() {
    const YamlValue value = document_.value("gpu_model");
    const std::string model = read_text(value, document_.spec("gpu_model"));
    if (find_gpu_model(model) != nullptr) return model;
    // "NVIDIA GeForce RTX 4090"
    for (const std::string& word : device_words(model)) {
      if (find_gpu_model(word) != nullptr) return word;
    }
    int architecture = known_compute_capability(model);
    if (document_.has("compute_capability")) {
      architecture =
          static_cast<int>(std::lround(10 * read_real(document_.value("compute_capability"),
                                                      document_.spec("compute_capability"))));
    }
    if (architecture == 0) throw UserError(value.location(), unknown_gpu_model_message(model));
    const GpuModel& nearest = *nearest_gpu_models({.architecture = architecture}).front();
    builder_.set_warnings({fmt::format(
        "there is no model of the GPU {}; {}, the nearest by compute capability, stands for it in "
        "memory, NCCL's choice and cost model: {}",
        quoted(model), nearest.name, kStandInText)});
    return std::string(nearest.name);
  }

  // One of the servers of a template: its name and number. The names of its devices begin with its
  // own name, also where its links name them. Without a name: the file itself.
  struct Scope {
    std::string name{};
    int number = 0;
    [[nodiscard]] std::string prefix() const { return name.empty() ? "" : name + "/"; }
  };

  // The path of a file is relative to the folder of the fabric's file.
  void read_cost_model() {
    const YamlValue value = document_.value("cost_model");
    std::filesystem::path name = read_text(value, document_.spec("cost_model"));
    if (name.extension() == ".yaml" || name.extension() == ".yml") {
      name = std::filesystem::path(value.location().file).parent_path() / name;
    }
    builder_.set_cost_model(name.string());
  }

  void read_host() {
    HostTraits host = builder_.host();
    if (document_.has("cpu")) {  // the choices are in the order of the enumerators
      host.cpu = static_cast<HostCpu>(read_choice(document_.value("cpu"), document_.spec("cpu")));
    }
    constexpr std::string_view kBridge = "nics_behind_host_bridge";
    if (document_.has(kBridge)) {
      host.nics_behind_host_bridge = read_flag(document_.value(kBridge), document_.spec(kBridge));
    }
    builder_.set_host(host);
  }

  void add_parts(const Item& parts, const Scope& scope) {
    if (parts.has("nodes")) {
      for (const YamlValue& item : read_items(parts.value("nodes"), parts.spec("nodes"))) {
        add_nodes(item, scope);
      }
    }
    if (!parts.has("links")) return;
    for (const YamlValue& item : read_items(parts.value("links"), parts.spec("links"))) {
      add_links(item, scope);
    }
  }

  void add_servers(const YamlValue& value) {
    const Item item(value, fabric_server_options(), "server");
    const YamlValue name = item.value("name");
    for (std::string& one : expand_names(read_text(name, item.spec("name")), name.location())) {
      if (!servers_.insert(one).second) {
        throw UserError(name.location(), fmt::format("there is already a server called '{}'", one));
      }
      add_parts(item, {.name = std::move(one), .number = static_cast<int>(servers_.size()) - 1});
    }
  }

  void add_nodes(const YamlValue& value, const Scope& scope) {
    const Item item(value, fabric_node_options(), "node");
    if (!scope.name.empty() && item.has("server")) {
      throw UserError(item.value("server").location(),
                      "server is stated; leave it out: the devices of a template belong to the "
                      "server that it makes");
    }
    Node node;
    node.kind = static_cast<NodeKind>(read_choice(item.value("kind"), item.spec("kind")));
    node.server = item.has("server")                     ? item.integer("server")
                  : node.kind == NodeKind::NetworkSwitch ? -1
                                                         : scope.number;
    node.multiplicity = item.integer("multiplicity");
    node.computes = read_flag(item.value("computes"), item.spec("computes"));
    if (node.kind == NodeKind::Gpu) check_gpu(item, node);
    if (node.computes && node.kind != NodeKind::NvSwitch && node.kind != NodeKind::NetworkSwitch) {
      throw UserError(item.value("computes").location(),
                      fmt::format("computes is true; expected false, because the node is of kind "
                                  "{}, and only nvswitch and network-switch compute",
                                  to_string(node.kind)));
    }
    const YamlValue name = item.value("name");
    auto expanded = expand_names(read_text(name, item.spec("name")), name.location());
    if (names_.size() + expanded.size() > kMostNodes) {
      throw UserError(name.location(), fmt::format("there are more than {} nodes", kMostNodes));
    }
    const bool is_switch = node.kind == NodeKind::NvSwitch || node.kind == NodeKind::PcieSwitch ||
                           node.kind == NodeKind::NetworkSwitch;
    if (is_switch) switches_.push_back({name.location(), names_.size(), expanded.size()});
    for (std::string& one : expanded) {
      one.insert(0, scope.prefix());
      const auto [place, is_new] = nodes_.emplace(one, static_cast<NodeId>(names_.size()));
      if (!is_new) {
        throw UserError(name.location(), fmt::format("there is already a node called '{}'", one));
      }
      names_.push_back(one);
      kinds_.push_back(node.kind);
      linked_.push_back(false);
      node.name = std::move(one);
      builder_.add_node(node);
    }
  }

  // A switch without links is a link that was forgotten, or left over.
  void check_switches() const {
    for (const Switches& switches : switches_) {
      for (std::size_t k = switches.first; k < switches.first + switches.count; ++k) {
        if (linked_[k]) continue;
        throw UserError(switches.where,
                        fmt::format("switch '{}' has no link; expected at least one in 'links', or "
                                    "leave the switch out",
                                    names_[k]));
      }
    }
  }

  static void check_gpu(const Item& item, const Node& node) {
    if (node.server < 0) {
      throw UserError(item.value("server").location(),
                      "server is -1 (in none); expected >= 0, because the node is a GPU");
    }
    if (node.multiplicity != 1) {
      throw UserError(item.value("multiplicity").location(),
                      fmt::format("multiplicity is {}; expected 1, because the node is a GPU: each "
                                  "GPU is a rank of its own",
                                  node.multiplicity));
    }
  }

  void add_links(const YamlValue& value, const Scope& scope) {
    const Item item(value, fabric_link_options(), "link");
    Link link;
    link.kind = static_cast<LinkKind>(read_choice(item.value("kind"), item.spec("kind")));
    link.unit_bandwidth_Bps = read_rate_Bps(item.value("bandwidth"), item.spec("bandwidth"));
    link.latency_stated = item.has("latency");
    if (link.latency_stated) {
      link.latency_s = read_time_s(item.value("latency"), item.spec("latency"));
    }
    link.multiplicity = item.integer("multiplicity");
    const bool duplex = read_flag(item.value("duplex"), item.spec("duplex"));
    for (const auto& [from, to] : ends(item, scope)) {
      if (from == to) {
        throw UserError(item.location(), fmt::format("a link joins node '{}' to itself",
                                                     names_[static_cast<std::size_t>(from)]));
      }
      links_ += duplex ? 2 : 1;
      if (links_ > kMostLinks) {
        throw UserError(item.location(), fmt::format("there are more than {} links", kMostLinks));
      }
      linked_[static_cast<std::size_t>(from)] = true;
      linked_[static_cast<std::size_t>(to)] = true;
      link.source = from;
      link.target = to;
      if (!link.latency_stated) link.latency_s = usual_latency_s(item, link);
      duplex ? builder_.add_duplex_link(link) : builder_.add_link(link);
    }
  }

  // Latency of a link for which none is stated.
  [[nodiscard]] double usual_latency_s(const Item& item, const Link& link) const {
    const auto joins = [&](NodeKind kind) {
      return kinds_[static_cast<std::size_t>(link.source)] == kind ||
             kinds_[static_cast<std::size_t>(link.target)] == kind;
    };
    if (link.kind == LinkKind::NvLink) {
      return joins(NodeKind::NvSwitch) ? kNvSwitchLatency_s : kGpuLinkLatency_s;
    }
    if (link.kind == LinkKind::Pcie) return joins(NodeKind::Host) ? kHostLatency_s : 0;
    if (link.kind == LinkKind::Network && joins(NodeKind::Nic)) return kNetworkLatency_s;
    throw UserError(item.location(),
                    "key 'latency' is missing; only links of kind nvlink and pcie, and those of "
                    "kind network to a NIC, have a usual latency");
  }

  // The pairs of nodes that one item of `links` joins.
  std::vector<std::pair<NodeId, NodeId>> ends(const Item& item, const Scope& scope) {
    std::vector<std::pair<NodeId, NodeId>> pairs;
    if (item.has("mesh")) {
      if (item.has("from") || item.has("to")) {
        throw UserError(item.location(), "a link has either 'mesh' or 'from' and 'to', not both");
      }
      if (item.has("duplex") && !read_flag(item.value("duplex"), item.spec("duplex"))) {
        throw UserError(item.value("duplex").location(), "a mesh is always duplex");
      }
      const std::vector<NodeId> all = nodes(item, "mesh", scope);
      if (all.size() > kMostNodesOfMesh) {
        throw UserError(
            item.value("mesh").location(),
            fmt::format("mesh has {} nodes; expected at most {}", all.size(), kMostNodesOfMesh));
      }
      for (std::size_t a = 0; a < all.size(); ++a) {
        for (std::size_t b = a + 1; b < all.size(); ++b) pairs.emplace_back(all[a], all[b]);
      }
      return pairs;
    }
    for (const std::string_view key : {"from", "to"}) {
      if (!item.has(key)) {
        throw UserError(item.location(), fmt::format("a link needs '{}' (or 'mesh')", key));
      }
    }
    const std::vector<NodeId> from = nodes(item, "from", scope);
    const std::vector<NodeId> to = nodes(item, "to", scope);
    if (from.size() != to.size() && from.size() != 1 && to.size() != 1) {
      throw UserError(item.location(),
                      fmt::format("a link joins {} nodes to {}; expected equal numbers, or one "
                                  "node at one end",
                                  from.size(), to.size()));
    }
    for (std::size_t k = 0; k < std::max(from.size(), to.size()); ++k) {
      pairs.emplace_back(from[from.size() == 1 ? 0 : k], to[to.size() == 1 ? 0 : k]);
    }
    return pairs;
  }

  std::vector<NodeId> nodes(const Item& item, std::string_view key, const Scope& scope) {
    const YamlValue value = item.value(key);
    std::vector<NodeId> ids;
    for (const std::string& name :
         expand_names(read_text(value, item.spec(key)), value.location())) {
      const auto found = nodes_.find(scope.prefix() + name);
      if (found == nodes_.end()) throw_unknown_node(scope.prefix() + name, value.location());
      ids.push_back(found->second);
    }
    return ids;
  }

  [[noreturn]] void throw_unknown_node(const std::string& name, const SourceLocation& where) {
    constexpr std::size_t kMostListed = 12;
    if (names_.size() <= kMostListed) {
      throw UserError(where, unknown_name_message("node", name, names_));
    }
    const std::string near = nearest_name(name, names_);
    throw UserError(where, fmt::format("unknown node '{:.60}'{}", name,
                                       near.empty() ? "; expected one of 'nodes'"
                                                    : fmt::format(" (did you mean '{}'?)", near)));
  }

  static constexpr std::size_t kMostNodesOfMesh = 1024;

  Item document_;
  std::string name_;
  FabricBuilder builder_;
  std::unordered_set<std::string> servers_;
  std::unordered_map<std::string, NodeId> nodes_;
  // Switches of one item of `nodes`, which have successive ids.
  struct Switches {
    SourceLocation where;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::vector<std::string> names_;  // by NodeId
  std::vector<NodeKind> kinds_;     // by NodeId
  std::vector<bool> linked_;        // by NodeId
  std::vector<Switches> switches_;
  std::size_t links_ = 0;
};

}  // namespace

std::shared_ptr<const Fabric> read_fabric(const YamlValue& document,
                                          const std::string& default_name) {
  return Reader(document, default_name).read();
}

std::shared_ptr<const Fabric> load_fabric(const std::string& path) {
  return read_fabric(load_yaml_file(path), std::filesystem::path(path).stem().string());
}

}  // namespace cclgym
