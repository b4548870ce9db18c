// Exported policies as tuners of a job's communicators.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/tuners/tuner.hpp"

namespace cclgym {

/// "policy:FILE", where FILE is a policy file (cclgym export).
[[nodiscard]] bool is_policy_tuner(std::string_view name);

/// Makes the tuner "policy:FILE" for the machine of a site, which may be a communicator's view of a
/// fabric. The policy decides a call after it has seen the same call without noise as often as its
/// observation remembers, so equal calls get equal configurations. It has no choice for collectives
/// and machines without rules in the file, and for calls for which it finds no legal action; a
/// sentence about each goes to `say`, which may be empty. Throws UserError at site.where if the
/// file cannot be read, or is not of CollectiveTuning-v0.
[[nodiscard]] std::unique_ptr<const Tuner> make_policy_tuner(
    std::string_view name, const TunerSite& site,
    const std::function<void(const std::string&)>& say = {});

/// JobTuners::make for policy tuners: null for other names.
[[nodiscard]] std::function<std::unique_ptr<const Tuner>(const std::string&, const TunerSite&)>
policy_tuner_maker(std::function<void(const std::string&)> say = {});

}  // namespace cclgym
