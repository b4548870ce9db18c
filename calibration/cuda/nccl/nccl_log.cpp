#include "calibration/cuda/nccl/nccl_log.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "core/error.hpp"
#include "cost_models/nccl/nccl_plan.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"
#include "experiments/measured/log_lines.hpp"

namespace cclgym {

namespace {

constexpr std::string_view kArrow = " Bytes -> Algo ";

// NCCL writes "NVLSTree" in one release and "NVLS_TREE" in another.
std::string plain(std::string_view name) {
  std::string text = lower_case(name);
  std::erase(text, '_');
  return text;
}

// Removes the part before `end` from the front of `text` and returns it.
std::string_view take(std::string_view& text, std::string_view end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return part;
}

std::string_view last_word(std::string_view text) {
  const std::size_t space = text.find_last_of(" \t");
  return space == std::string_view::npos ? text : text.substr(space + 1);
}

// Number N of a line "…NCCL INFO 2 coll channels, 2 collnet channels, …".
std::optional<int> channels_of_line(std::string_view line) {
  const std::size_t at = line.find(" coll channels,");
  if (at == std::string_view::npos) return std::nullopt;
  return number_of<int>(last_word(line.substr(0, at)));
}

// Number of channels, out of those asked for, that NCCL's scheduler uses for a call of this size on
// a communicator with `channels`.
int scheduled_channels(const NcclDecision& decision, int asked, int channels,
                       const LoggedCommunicator& communicator) {
  NcclComm comm;
  comm.ranks = communicator.ranks;
  comm.channels = channels;
  comm.nvls_channels = comm.channels;
  return nccl::schedule({.version = communicator.version,
                         .comm = comm,
                         .collective = static_cast<NcclCollective>(decision.collective),
                         .algorithm = static_cast<NcclAlgorithm>(decision.algorithm),
                         .protocol = static_cast<Protocol>(decision.protocol),
                         .bytes = call_bytes(decision, communicator.ranks)},
                        asked)
      .channels;
}

std::string choice_text(int algorithm, int protocol, int channels) {
  return fmt::format("{}/{}/{}", kNcclAlgorithmNames[static_cast<std::size_t>(algorithm)].csv,
                     kNcclProtocolNames[static_cast<std::size_t>(protocol)],
                     channels == 0 ? "any" : std::to_string(channels));
}

std::string_view reason(NcclAgreement agreement) {
  switch (agreement) {
    case NcclAgreement::FewerByModel:
      return "too few bytes for more channels (NCCL's min traffic per channel)";
    case NcclAgreement::FewerByCommunicator:
      return "the communicator has no more channels";
    case NcclAgreement::LaterChoice:
      return "NCCL cannot do the first choice here";
    case NcclAgreement::Channels:
      return "a different number of channels, which NCCL's scheduler does not explain";
    case NcclAgreement::Different:
      return "a different algorithm or protocol: not offered by this communicator, or overridden "
             "by "
             "NCCL_ALGO or NCCL_PROTO";
    default:
      return "";
  }
}

std::size_t count_of(const NcclLogCheck& check, NcclAgreement agreement) {
  const auto found = check.by_agreement.find(agreement);
  return found == check.by_agreement.end() ? 0 : found->second;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::optional<int> algorithm_of_log(std::string_view name) {
  for (std::size_t i = 0; i < kNcclAlgorithmNames.size(); ++i) {
    if (plain(kNcclAlgorithmNames[i].csv) == plain(name)) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::optional<NcclDecision> read_nccl_decision(std::string_view line, const SourceLocation& where) {
  const std::size_t arrow = line.find(kArrow);
  if (arrow == std::string_view::npos) return std::nullopt;
  // The line begins with "…NCCL INFO AllReduce: 1048576".
  const std::string_view before = line.substr(0, arrow);
  const std::size_t colon = before.rfind(": ");
  std::string_view after = line.substr(arrow + kArrow.size());
  const auto fail = [&](std::string_view what, std::string_view found) -> void {
    throw UserError(where,
                    fmt::format("{} is {}; expected a line such as 'AllReduce: 1024 Bytes -> "
                                "Algo RING proto LL channel{{Lo..Hi}}={{0..1}}'",
                                what, quoted(found)));
  };
  if (colon == std::string_view::npos) fail("the text before 'Bytes'", before);
  const std::string_view collective = last_word(before.substr(0, colon));
  const std::string_view algorithm = take(after, " proto ");
  const std::string_view protocol = take(after, " channel{Lo..Hi}={");
  const std::string_view low = take(after, "..");
  const std::string_view high = take(after, "}");
  const auto collective_number = nccl_collective_of(lower_case(collective));
  const auto bytes = number_of<std::uint64_t>(before.substr(colon + 2));
  const auto algorithm_number = algorithm_of_log(algorithm);
  const auto protocol_number = nccl_protocol_of(protocol);
  const auto first = number_of<int>(low);
  const auto last = number_of<int>(high);
  if (!collective_number) fail("the collective", collective);
  if (!bytes) fail("the size", before.substr(colon + 2));
  if (!algorithm_number) fail("the algorithm", algorithm);
  if (!protocol_number) fail("the protocol", protocol);
  if (!first) fail("the first channel", low);
  if (!last || *last < *first) fail("the last channel", high);
  return NcclDecision{.collective = *collective_number,
                      .bytes = *bytes,
                      .algorithm = *algorithm_number,
                      .protocol = *protocol_number,
                      .channels = *last - *first + 1,
                      .line = where.line};
}

std::vector<NcclDecision> read_nccl_log(std::string_view text, const std::string& name,
                                        std::size_t first_line, int channels) {
  std::vector<NcclDecision> decisions;
  for (std::size_t number = first_line; !text.empty(); ++number) {
    std::string_view line = take(text, "\n");
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const auto stated = channels_of_line(line)) channels = *stated;
    if (auto decision = read_nccl_decision(line, {name, number, 0})) {
      decision->channels_of_communicator = channels;
      decisions.push_back(*decision);
    }
  }
  return decisions;
}

std::string_view to_string(NcclAgreement agreement) {
  switch (agreement) {
    case NcclAgreement::Same:
      return "as chosen";
    case NcclAgreement::FewerByModel:
      return "fewer channels, by traffic";
    case NcclAgreement::FewerByCommunicator:
      return "all channels there are";
    case NcclAgreement::LaterChoice:
      return "a later choice";
    case NcclAgreement::Channels:
      return "other channels";
    case NcclAgreement::Different:
      return "different";
    case NcclAgreement::NotChosen:
      break;
  }
  return "left to NCCL";
}

std::uint64_t call_bytes(const NcclDecision& decision, int ranks) {
  const bool sliced = decision.collective == CCLGYM_NCCL_ALLGATHER ||
                      decision.collective == CCLGYM_NCCL_REDUCESCATTER;
  return sliced ? decision.bytes * static_cast<std::uint64_t>(ranks) : decision.bytes;
}

NcclAgreement agreement(const NcclDecision& decision, const TunerChoices& choices,
                        const LoggedCommunicator& communicator) {
  // Assumes that NCCL did not merge the call with others: one operation in its pipeline.
  const std::uint64_t bytes = call_bytes(decision, communicator.ranks);
  const auto wanted = choices.wanted(decision.collective, bytes, 1);
  if (wanted.empty() || wanted.front().algorithm < 0) return NcclAgreement::NotChosen;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const TunerChoice& choice = wanted[i];
    if (choice.algorithm != decision.algorithm || choice.protocol != decision.protocol) continue;
    if (choice.channels == 0 || choice.channels == decision.channels) {
      return i == 0 ? NcclAgreement::Same : NcclAgreement::LaterChoice;
    }
    const auto fewer_because_of = [&](int channels) {
      const int scheduled = scheduled_channels(decision, choice.channels, channels, communicator);
      return scheduled == decision.channels && scheduled < choice.channels;
    };
    const int wide = communicator.channels == 0 ? choice.channels : communicator.channels;
    if (fewer_because_of(wide)) {
      return i == 0 ? NcclAgreement::FewerByModel : NcclAgreement::LaterChoice;
    }
    const int stated = decision.channels_of_communicator;
    if (stated > 0 && stated < choice.channels && fewer_because_of(stated)) {
      return i == 0 ? NcclAgreement::FewerByCommunicator : NcclAgreement::LaterChoice;
    }
    if (i == 0) return NcclAgreement::Channels;
  }
  return NcclAgreement::Different;
}

std::size_t NcclLogCheck::chosen() const {
  return calls - count_of(*this, NcclAgreement::NotChosen);
}

double NcclLogCheck::same_share() const {
  return share(count_of(*this, NcclAgreement::Same), chosen());
}

double NcclLogCheck::explained_share() const {
  std::size_t calls_so = 0;
  for (const NcclAgreement kind :
       {NcclAgreement::Same, NcclAgreement::FewerByModel, NcclAgreement::FewerByCommunicator,
        NcclAgreement::LaterChoice}) {
    calls_so += count_of(*this, kind);
  }
  return share(calls_so, chosen());
}

NcclLogCheck check_nccl_log(const std::vector<NcclDecision>& decisions, const TunerChoices& choices,
                            const LoggedCommunicator& communicator) {
  NcclLogCheck check;
  for (const NcclDecision& decision : decisions) {
    ++check.calls;
    const std::uint64_t bytes = call_bytes(decision, communicator.ranks);
    const NcclAgreement found = agreement(decision, choices, communicator);
    ++check.by_agreement[found];
    if (found == NcclAgreement::Same || found == NcclAgreement::NotChosen) continue;
    const auto alike = [&](const NcclDisagreement& other) {
      return other.agreement == found && other.first.collective == decision.collective &&
             other.first.bytes == decision.bytes && other.first.algorithm == decision.algorithm &&
             other.first.protocol == decision.protocol && other.first.channels == decision.channels;
    };
    auto known = std::find_if(check.disagreements.begin(), check.disagreements.end(), alike);
    if (known == check.disagreements.end()) {
      check.disagreements.push_back(
          {.first = decision,
           .bytes = bytes,
           .agreement = found,
           .chosen = choices.wanted(decision.collective, bytes, 1).front(),
           .calls = 0});
      known = std::prev(check.disagreements.end());
    }
    ++known->calls;
  }
  return check;
}

std::string nccl_log_text(const NcclLogCheck& check) {
  std::string text = fmt::format(
      "{} calls, {} of them chosen by the tuner: {:.2f} % with its algorithm, protocol and "
      "channels, {:.2f} % with these or explained\n",
      check.calls, check.chosen(), 100 * check.same_share(), 100 * check.explained_share());
  for (const auto& [kind, calls] : check.by_agreement) {
    text += fmt::format("  {:28} {}\n", to_string(kind), calls);
  }
  for (const NcclDisagreement& one : check.disagreements) {
    text += fmt::format("line {}: {} {} B, {} calls: {}, chosen {}: {}\n", one.first.line,
                        kNcclCollectiveNames[static_cast<std::size_t>(one.first.collective)],
                        one.bytes, one.calls,
                        choice_text(one.first.algorithm, one.first.protocol, one.first.channels),
                        choice_text(one.chosen.algorithm, one.chosen.protocol, one.chosen.channels),
                        reason(one.agreement));
  }
  return text;
}

}  // namespace cclgym
