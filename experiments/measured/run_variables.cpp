#include "experiments/measured/run_variables.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>
#include <vector>

#include "core/split.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"

namespace cclgym {

namespace {

// Variables of NCCL that change its choice or the paths of messages, besides NCCL_ALGO and
// NCCL_PROTO.
constexpr std::array<std::string_view, 25> kUnmodelled{
    "NCCL_BUFFSIZE",       "NCCL_COLLNET_ENABLE",    "NCCL_GRAPH_FILE",   "NCCL_IB_DISABLE",
    "NCCL_LL128_BUFFSIZE", "NCCL_LL_BUFFSIZE",       "NCCL_MAX_CTAS",     "NCCL_MAX_NCHANNELS",
    "NCCL_MAX_NRINGS",     "NCCL_MAX_P2P_NCHANNELS", "NCCL_MIN_CTAS",     "NCCL_MIN_NCHANNELS",
    "NCCL_MIN_NRINGS",     "NCCL_MIN_P2P_NCHANNELS", "NCCL_MNNVL_ENABLE", "NCCL_NET",
    "NCCL_NTHREADS",       "NCCL_NVLS_ENABLE",       "NCCL_P2P_DISABLE",  "NCCL_P2P_LEVEL",
    "NCCL_PXN_DISABLE",    "NCCL_SHM_DISABLE",       "NCCL_TOPO_FILE",    "NCCL_TUNER_CONFIG_FILE",
    "NCCL_TUNER_PLUGIN"};

// The name without what separates its words: "nvlstree" for "NVLSTree" and "nvls-tree".
std::string plain(std::string_view name) {
  std::string letters;
  for (const char c : lower_case(name)) {
    if (c != '-' && c != '_') letters += c;
  }
  return letters;
}

// The library's name of the one algorithm that NCCL_ALGO allows; empty for other values.
std::string algorithm_of(std::string_view value) {
  for (const NcclAlgorithmNames& names : kNcclAlgorithmNames) {
    if (!names.ours.empty() && plain(names.ours) == plain(value)) return std::string(names.ours);
  }
  return {};
}

// The command without a shell's separators: "unset NCCL_ALGO  ./all_reduce_perf".
std::string without_separators(std::string_view command) {
  std::string words(command);
  for (char& c : words) {
    if (c == ';' || c == '&' || c == '\t') c = ' ';
  }
  return words;
}

}  // namespace

void RunVariables::set(std::string_view name, std::string_view value) {
  while (value.ends_with('.') || value.ends_with('"') || value.ends_with('\'')) {
    value.remove_suffix(1);
  }
  while (value.starts_with('"') || value.starts_with('\'')) value.remove_prefix(1);
  if (name == "NCCL_ALGO") {
    algorithm_ = value;
  } else if (name == "NCCL_PROTO") {
    protocol_ = value;
  } else if (name == "NCCL_CROSS_NIC") {
    cross_nic_ = value.empty() ? std::nullopt : std::optional(value != "0");
  } else if (std::ranges::find(kUnmodelled, name) != kUnmodelled.end()) {
    if (value.empty()) {
      others_.erase(std::string(name));
    } else {
      others_[std::string(name)] = value;
    }
  }
}

void RunVariables::set_words(std::string_view text) {
  std::string_view named;  // "NCCL_ALGO" behind mpiexec's -genv, whose value is a word of its own
  std::string_view before;
  for (std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!named.empty()) set(named, word);
    named = {};
    const std::size_t start = word.find("NCCL_");
    if (start != std::string_view::npos) {
      // srun's "--export=ALL,NCCL_ALGO=Ring,NCCL_PROTO=LL" has several.
      const bool several = word.starts_with("--export=");
      for (std::string_view part : split(word.substr(start), several ? ',' : ' ')) {
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) continue;
        set(part.substr(0, equals), part.substr(equals + 1));
      }
      if (before == "-genv" || before == "-env") named = word;
    }
    before = word;
  }
}

void RunVariables::command(std::string_view text) {
  const std::string words = without_separators(text);
  set_words(words);
  const std::vector<std::string_view> parts = split(words, ' ');
  if (std::ranges::find(parts, "export") != parts.end()) exported_.append(" ").append(words);
  for (auto name = std::ranges::find(parts, "unset"); name != parts.end(); ++name) {
    if (!name->starts_with("NCCL_")) continue;
    if (name->find('=') != std::string_view::npos) break;  // the next command
    set(*name, "");
    exported_.append(fmt::format(" {}=", *name));
  }
}

void RunVariables::next_run() {
  RunVariables next;
  next.exported_ = std::move(exported_);
  next.set_words(next.exported_);
  *this = std::move(next);
}

void RunVariables::complete(Measurement& row) const {
  std::set<std::string> left_out;
  for (const auto& [name, value] : others_) left_out.insert(fmt::format("{}={}", name, value));
  const std::string algorithm = algorithm_of(algorithm_);
  const std::optional<Protocol> protocol = parse_protocol(protocol_);
  if (!algorithm_.empty() && algorithm.empty()) left_out.insert("NCCL_ALGO=" + algorithm_);
  if (!protocol_.empty() && !protocol) left_out.insert("NCCL_PROTO=" + protocol_);
  if (protocol) row.allowed = fmt::format(":{}", to_string(*protocol));
  if (!algorithm.empty()) {
    row.allowed = fmt::format("{}:{}", row.allowed.empty() ? ":" : row.allowed, algorithm);
  }
  row.cross_nic = cross_nic_;
  if (!left_out.empty()) {
    row.settings = fmt::format("{}", fmt::join(left_out, ", "));
    row.notes.push_back(
        fmt::format("the run had {}, which the simulation leaves out", row.settings));
  }
}

}  // namespace cclgym
