#include "agents/evaluation/nccl_choices.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/error.hpp"
#include "env/tuning/actions/nccl_offer.hpp"
#include "sim/tuners/nccl_default_tuner.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

// NCCL's offer in the environment; nullopt if it is not known.
std::optional<NcclOffer> offer_of(const TuningSetup& setup) {
  const TuningActions::Options& options = setup.actions->options();
  if (options.profile != ActionProfile::StockNccl && options.profile != ActionProfile::Nccl230) {
    return std::nullopt;
  }
  constexpr std::string_view kRelease = "nccl-default:";
  NcclVersion version = kNewestNccl;
  const auto named = std::ranges::find_if(
      options.tuners, [&](const std::string& name) { return name.starts_with(kRelease); });
  try {
    if (named != options.tuners.end()) {
      const std::string_view release = std::string_view(*named).substr(kRelease.size());
      version = parse_nccl_version(release.substr(0, release.find(':')));
    }
    return NcclOffer(version, *setup.site->fabrics.front());
  } catch (const UserError&) {
    return std::nullopt;
  }
}

enum class Verdict : std::uint8_t { Possible, NotAsked, NotOffered };

// Tells whether NCCL could make the most frequent choice of a cell.
Verdict verdict_of(const NcclOffer& offer, const EvaluatedCell& cell) {
  const auto collective = parse_collective(cell.collective);
  // A tuner's choice is what NCCL does by itself, or is made by that tuner.
  if (!collective || is_tuner(cell.choice.substr(0, cell.choice.find(' ')))) {
    return Verdict::Possible;
  }
  if (!nccl_collective(*collective)) return Verdict::NotAsked;
  return offer.has(*collective, cell.config.algorithm, cell.config.protocol) ? Verdict::Possible
                                                                             : Verdict::NotOffered;
}

struct WeightedLogs {
  double sum = 0;
  double weight = 0;
};

}  // namespace

std::vector<NcclShare> nccl_shares(const TuningSetup& setup, std::span<const PolicyRun> runs) {
  std::vector<NcclShare> shares;
  const auto offer = offer_of(setup);
  if (!offer) return shares;
  std::vector<WeightedLogs> others;
  for (const PolicyRun& run : runs) {
    auto share = std::ranges::find(shares, run.policy, &NcclShare::policy);
    if (share == shares.end()) {
      shares.push_back({.policy = run.policy});
      others.emplace_back();
      share = std::prev(shares.end());
    }
    WeightedLogs& other = others[static_cast<std::size_t>(share - shares.begin())];
    for (const EvaluatedCell& cell : run.cells) {
      ++share->cells;
      const Verdict verdict = verdict_of(*offer, cell);
      if (verdict == Verdict::NotAsked) {
        ++share->not_asked;
      } else if (verdict == Verdict::NotOffered) {
        ++share->not_offered;
      } else {
        other.sum += static_cast<double>(cell.calls) * std::log(cell.default_ratio);
        other.weight += static_cast<double>(cell.calls);
      }
    }
  }
  std::vector<NcclShare> found;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].not_asked + shares[i].not_offered == 0) continue;
    if (others[i].weight > 0) shares[i].default_ratio = std::exp(others[i].sum / others[i].weight);
    found.push_back(std::move(shares[i]));
  }
  return found;
}

void mark_nccl_choices(const TuningSetup& setup, std::span<PolicyRun> runs) {
  const auto offer = offer_of(setup);
  if (!offer) return;
  for (PolicyRun& run : runs) {
    for (EvaluatedCell& cell : run.cells) {
      const Verdict verdict = verdict_of(*offer, cell);
      if (verdict == Verdict::NotAsked) {
        cell.not_nccl = "NCCL asks no tuner about " + cell.collective;
      } else if (verdict == Verdict::NotOffered) {
        cell.not_nccl = "NCCL does not offer it on this machine";
      }
    }
  }
}

std::string nccl_shares_text(std::span<const NcclShare> shares) {
  std::string text;
  for (const NcclShare& share : shares) {
    text += fmt::format("{}: NCCL cannot make the choice of {} of {} cells of all seeds (",
                        share.policy, share.not_asked + share.not_offered, share.cells);
    if (share.not_asked > 0) {
      text += fmt::format("{} of collectives about which it asks no tuner", share.not_asked);
    }
    if (share.not_offered > 0) {
      text += fmt::format("{}{} that it does not offer on this machine",
                          share.not_asked > 0 ? ", " : "", share.not_offered);
    }
    text += share.default_ratio
                ? fmt::format("); the other cells take {:.3f} x the default's time\n",
                              *share.default_ratio)
                : "); there are no others\n";
  }
  return text;
}

}  // namespace cclgym
