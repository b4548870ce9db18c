#include "deploy/nccl_plugin/tuner_choices.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/error.hpp"
#include "core/units.hpp"
#include "deploy/nccl_plugin/deployed_policy.hpp"
#include "deploy/runtime/deployed_network.hpp"

namespace cclgym {

namespace {

constexpr std::uint64_t kLeastChunkBytes = 4096;  // two granules (of up to 1,920 B)
constexpr std::uint64_t kMostChunkBytes = std::uint64_t{64} << 20;
constexpr std::string_view kNcclsChunk = "protocol";
constexpr std::size_t kMostStateBytes = std::size_t{16} << 20;

std::vector<std::string> lines_of(const PolicyFile& file, const std::string& record,
                                  std::size_t expected, const std::string& name) {
  std::vector<std::string> lines;
  if (const PolicyFileText* text = file.text(record)) {
    for (std::size_t at = 0; at < text->text.size();) {
      const std::size_t end = std::min(text->text.find('\n', at), text->text.size());
      lines.push_back(text->text.substr(at, end - at));
      at = end + 1;
    }
  }
  if (lines.size() != expected) {
    throw UserError(name + ": text '" + record + "' is missing or does not have " +
                    std::to_string(expected) + " lines");
  }
  return lines;
}

// Translates the knobs of an action into NCCL's numbers.
class ChoiceNames {
 public:
  ChoiceNames(const PolicyFile& file, const DeployedNetwork& network, const std::string& name)
      : name_(name) {
    const std::vector<std::string> knobs = lines_of(file, "knobs", network.knobs(), name);
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      const std::vector<std::string> levels =
          lines_of(file, "levels." + std::to_string(k), network.levels(k), name);
      std::vector<TunerChoice> meanings;
      for (const std::string& level : levels) meanings.push_back(meaning(knobs[k], level));
      meanings_.push_back(std::move(meanings));
      if (knobs[k] == "algorithm") algorithm_knob_ = k;
      if (knobs[k] == "protocol") protocol_knob_ = k;
    }
    if (!algorithm_knob_ || !protocol_knob_) {
      throw UserError(name + ": the policy does not choose algorithm and protocol");
    }
  }

  [[nodiscard]] std::size_t algorithm_knob() const { return *algorithm_knob_; }
  [[nodiscard]] std::size_t protocol_knob() const { return *protocol_knob_; }

  [[nodiscard]] TunerChoice choice(std::span<const std::int32_t> action) const {
    TunerChoice choice;
    for (std::size_t k = 0; k < action.size(); ++k) {
      const TunerChoice& level = meanings_[k][static_cast<std::size_t>(action[k])];
      if (k == algorithm_knob()) choice.algorithm = level.algorithm;
      if (k == protocol_knob()) choice.protocol = level.protocol;
      choice.channels = std::max(choice.channels, level.channels);
      choice.chunk_bytes = std::max(choice.chunk_bytes, level.chunk_bytes);
    }
    return choice.algorithm < 0 ? TunerChoice{} : choice;
  }

 private:
  [[nodiscard]] TunerChoice meaning(const std::string& knob, const std::string& level) const {
    TunerChoice choice;
    if (knob == "algorithm") {
      // Levels that name no algorithm of NCCL (its default, a program of an interpreter) leave the
      // call to NCCL.
      choice.algorithm = static_cast<std::int8_t>(nccl_algorithm_of_ours(level).value_or(-1));
    } else if (knob == "protocol") {
      const std::optional<int> protocol = nccl_protocol_of(level);
      if (!protocol) refuse(knob, level);
      choice.protocol = static_cast<std::int8_t>(*protocol);
    } else if (knob == "channels") {
      const auto [end, error] =
          std::from_chars(level.data(), level.data() + level.size(), choice.channels);
      if (error != std::errc{} || end != level.data() + level.size() || choice.channels == 0 ||
          choice.channels > kMostTunerChannels) {
        refuse(knob, level);
      }
    } else if (knob == "chunk") {
      // "whole" means no chunks, which NCCL does not support, so no legal action has it.
      if (level == kNcclsChunk || level == "whole") return choice;
      const std::uint64_t bytes = parse_bytes(level, name_ + ": a chunk");
      if (bytes < kLeastChunkBytes || bytes > kMostChunkBytes) refuse(knob, level);
      choice.chunk_bytes = static_cast<std::uint32_t>(bytes);
    } else {
      throw UserError(name_ + ": the policy sets knob " + quoted(knob) +
                      ", which a tuner of NCCL does not have; train it with actions stock-nccl or "
                      "nccl-2.30");
    }
    return choice;
  }
  [[noreturn]] void refuse(const std::string& knob, const std::string& level) const {
    throw UserError(name_ + ": NCCL has no " + knob + " " + quoted(level));
  }

  std::string name_;
  std::vector<std::vector<TunerChoice>> meanings_;  ///< by knob and level
  std::optional<std::size_t> algorithm_knob_;
  std::optional<std::size_t> protocol_knob_;
};

std::vector<std::uint64_t> distinct_machines(const std::vector<DeployedMachine>& machines) {
  std::vector<std::uint64_t> shapes;
  for (const DeployedMachine& machine : machines) {
    shapes.push_back(std::uint64_t{machine.ranks} << 32U | machine.nodes);
  }
  std::ranges::sort(shapes);
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
  return shapes;
}

}  // namespace

TunerChoice first_legal(std::span<const TunerChoice> wanted, const CostTable& costs) {
  for (const TunerChoice& choice : wanted) {
    if (choice.algorithm < 0 || costs.legal(choice.algorithm, choice.protocol)) return choice;
  }
  return {};
}

// Evaluates the network. It orders algorithms by likelihood, and the protocols of each algorithm by
// likelihood: the preference among protocols depends on the choices before them, not on which
// others are forbidden.
class PolicyChoices::Asking {
 public:
  Asking(const DeployedNetwork& network, const ChoiceNames& names, const MaskTree* rules)
      : network_(network),
        names_(names),
        rules_(rules),
        state_(network.state_size()),
        before_(network.state_size()),
        allowed_(network.logits()),
        action_(network.knobs()) {
    for (std::size_t k = 0; k < network.knobs(); ++k) {
      first_.push_back(k == 0 ? 0 : first_.back() + network.levels(k - 1));
    }
  }

  void ask(const DeployedGrid& grid, std::size_t size, std::vector<TunerChoice>& out) {
    network_.init_state(before_.data());
    const std::size_t step = grid.features;
    const float* seen = grid.seen.data() + size * grid.calls * step;
    std::ranges::fill(allowed_, std::uint8_t{1});
    tried_.clear();
    for (std::uint32_t call = 0; call + 1 < grid.calls; ++call, seen += step) {
      if (network_.decide(lane_kernels(), before_.data(), seen, rules_, nullptr, action_.data()) !=
          DecisionFault::None) {
        return;
      }
    }
    const std::size_t algorithm = names_.algorithm_knob();
    const std::size_t protocol = names_.protocol_knob();
    while (decide(seen)) {
      const std::int32_t first = action_[algorithm];
      allow_only(algorithm, first);
      do {
        out.push_back(names_.choice(action_));
        if (out.back().algorithm < 0) return;
        forbid(protocol, action_[protocol]);
      } while (decide(seen));
      allow_all(protocol);
      tried_.push_back(first);
      allow_all(algorithm);
      for (const std::int32_t level : tried_) forbid(algorithm, level);
    }
  }

 private:
  bool decide(const float* seen) {
    std::ranges::copy(before_, state_.begin());
    return network_.decide(lane_kernels(), state_.data(), seen, rules_, allowed_.data(),
                           action_.data()) == DecisionFault::None;
  }
  std::uint8_t& allowed(std::size_t knob, std::int32_t level) {
    return allowed_[first_[knob] + static_cast<std::size_t>(level)];
  }
  void forbid(std::size_t knob, std::int32_t level) { allowed(knob, level) = 0; }
  void allow_all(std::size_t knob) {
    std::fill_n(allowed_.begin() + static_cast<std::ptrdiff_t>(first_[knob]), network_.levels(knob),
                std::uint8_t{1});
  }
  void allow_only(std::size_t knob, std::int32_t level) {
    std::fill_n(allowed_.begin() + static_cast<std::ptrdiff_t>(first_[knob]), network_.levels(knob),
                std::uint8_t{0});
    allowed(knob, level) = 1;
  }

  const DeployedNetwork& network_;
  const ChoiceNames& names_;
  const MaskTree* rules_;
  LaneVector state_;
  LaneVector before_;  ///< the state before the current call
  std::vector<std::uint8_t> allowed_;
  std::vector<std::int32_t> action_;
  std::vector<std::size_t> first_;  ///< by knob: index of its first level among all levels
  std::vector<std::int32_t> tried_;
};

PolicyChoices::PolicyChoices(const PolicyFile& file, const std::string& name, std::size_t ranks,
                             std::size_t nodes) {
  const std::vector<DeployedMachine> machines = read_machines(file, name);
  if (machines.empty()) {
    throw UserError(name + ": a policy without machines; write one with cclgym deploy");
  }
  if (distinct_machines(machines).size() != machines.size()) {
    throw UserError(name + ": two machines have the same numbers of ranks and nodes");
  }
  const auto found = std::ranges::find_if(machines, [&](const DeployedMachine& machine) {
    return machine.ranks == ranks && machine.nodes == nodes;
  });
  if (found == machines.end()) {
    throw UserError(name + ": no machine of " + std::to_string(ranks) + " ranks on " +
                    std::to_string(nodes) + " nodes");
  }
  const DeployedNetwork network(file, name);
  if (network.state_size() * sizeof(float) > kMostStateBytes) {
    throw UserError(name + ": the network is too large for a tuner");
  }
  const ChoiceNames names(file, network, name);
  std::vector<std::size_t> levels;
  for (std::size_t k = 0; k < network.knobs(); ++k) levels.push_back(network.levels(k));
  machine_ = found->label;
  std::size_t sizes = 0;
  for (std::size_t i = 0; i < grids_.size(); ++i) {
    if (!found->grids[i]) continue;
    const DeployedGrid& deployed = *found->grids[i];
    if (deployed.features != network.observations()) {
      throw UserError(name + ": the observations are those of another network");
    }
    const std::string rules = "masks/" + machine_ + "/" + std::string(kNcclCollectiveNames[i]);
    const PolicyFileTable* table = file.table(rules);
    if (table == nullptr) throw UserError(name + ": table '" + rules + "' is missing");
    std::string fault;
    const MaskTree tree = read_mask_tree(table->values, levels, fault);
    if (!fault.empty()) throw UserError(name + ": table '" + rules + "': " + fault);
    Asking asking(network, names, &tree);
    Grid& grid = grids_[i];
    grid.sizes = deployed.sizes;
    for (std::size_t size = 0; size < grid.sizes.size(); ++size) {
      asking.ask(deployed, size, grid.choices);
      grid.ends.push_back(static_cast<std::uint32_t>(grid.choices.size()));
    }
    sizes += grid.sizes.size();
    add_chunks(i);
  }
  description_ = name + ": machine " + quoted(machine_) + ", " + std::to_string(sizes) + " sizes";
}

std::span<const TunerChoice> PolicyChoices::wanted(int collective, std::uint64_t bytes,
                                                   int /*pipe_ops*/) const {
  if (collective < 0 || static_cast<std::size_t>(collective) >= grids_.size()) return {};
  const Grid& grid = grids_[static_cast<std::size_t>(collective)];
  if (grid.sizes.empty()) return {};
  const std::size_t size = place_of_size(grid.sizes, bytes);
  const std::size_t begin = size == 0 ? 0 : grid.ends[size - 1];
  return std::span(grid.choices).subspan(begin, grid.ends[size] - begin);
}

void PolicyChoices::add_chunks(std::size_t collective) {
  const Grid& grid = grids_[collective];
  for (std::size_t size = 0; size < grid.sizes.size(); ++size) {
    const std::size_t begin = size == 0 ? 0 : grid.ends[size - 1];
    for (std::size_t i = begin; i < grid.ends[size]; ++i) {
      const TunerChoice& choice = grid.choices[i];
      if (choice.algorithm < 0 || choice.channels == 0) continue;
      chunks_[collective][static_cast<std::size_t>(choice.algorithm)]
             [static_cast<std::size_t>(choice.protocol)]
                 .push_back({grid.sizes[size] / choice.channels, choice.chunk_bytes});
    }
  }
  for (ChunksByProtocol& by_protocol : chunks_[collective]) {
    for (std::vector<Chunk>& chunks : by_protocol) {
      std::ranges::stable_sort(chunks, {}, &Chunk::channel_bytes);
      // Without a change to NCCL's choice there is nothing to look up.
      if (std::ranges::all_of(chunks, [](const Chunk& own) { return own.chunk_bytes == 0; })) {
        chunks.clear();
      }
    }
  }
}

std::uint32_t PolicyChoices::chunk_bytes(int collective, int algorithm, int protocol,
                                         std::uint64_t channel_bytes) const {
  if (collective < 0 || static_cast<std::size_t>(collective) >= chunks_.size() || algorithm < 0 ||
      algorithm >= CCLGYM_NCCL_ALGORITHMS || protocol < 0 || protocol >= CCLGYM_NCCL_PROTOCOLS) {
    return 0;
  }
  const std::vector<Chunk>& chunks =
      chunks_[static_cast<std::size_t>(collective)][static_cast<std::size_t>(algorithm)]
             [static_cast<std::size_t>(protocol)];
  const auto after = std::ranges::upper_bound(chunks, channel_bytes, {}, &Chunk::channel_bytes);
  if (chunks.empty()) return 0;
  return after == chunks.begin() ? chunks.front().chunk_bytes : std::prev(after)->chunk_bytes;
}

}  // namespace cclgym
