#include "collectives/library/algorithm_library.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <stdexcept>

#include "collectives/algorithms/algorithms.hpp"
#include "collectives/compiler/resident_blocks.hpp"
#include "collectives/library/program_entry.hpp"
#include "collectives/verifier/verify.hpp"
#include "core/error.hpp"
#include "core/limits/memory_limit.hpp"
#include "core/names.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMaxName = 100;

bool is_valid_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= kMaxName && plain(name.front()) &&
         std::ranges::all_of(name,
                             [&](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; });
}

bool same_program(const AlgorithmEntry& one, const AlgorithmEntry& other) {
  return one.fixed() && other.fixed() &&
         (one.program == other.program ||
          program_hash(*one.program) == program_hash(*other.program));
}

void require_rings(const AlgorithmRequest& request) {
  for (const auto& ring : request.rings) {
    std::vector<int> sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    bool valid = std::ssize(sorted) == request.ranks;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      valid = valid && sorted[i] == static_cast<int>(i);
    }
    if (!valid) {
      throw UserError(fmt::format("ring {}; expected each of the ranks 0 to {} once",
                                  fmt::join(ring, "-"), request.ranks - 1));
    }
  }
}

AlgorithmRequest with_known_servers(const AlgorithmEntry& algorithm, AlgorithmRequest request) {
  if (request.ranks_per_server == 0) {
    request.ranks_per_server =
        algorithm.ranks_per_unknown_server > 0 ? algorithm.ranks_per_unknown_server : request.ranks;
  }
  return request;
}

// The request with its ranks per node filled in. Throws UserError if the algorithm cannot serve it.
AlgorithmRequest checked(const AlgorithmEntry& algorithm, const AlgorithmRequest& request) {
  if (!supports(algorithm, request.collective)) {
    throw UserError(fmt::format("{} has no {}; expected one of {}", algorithm.name,
                                to_string(request.collective), collectives_text(algorithm)));
  }
  if (const auto reason = check_ranks(algorithm, request.ranks)) throw UserError(*reason);
  if (request.channels < 1) {
    throw UserError(fmt::format("{} channels; expected at least 1", request.channels));
  }
  require_rings(request);
  AlgorithmRequest full = with_known_servers(algorithm, request);
  if (full.ranks_per_server < 1 || request.ranks % full.ranks_per_server != 0) {
    throw UserError(fmt::format("{} ranks on nodes of {}; expected the same number on each",
                                request.ranks, full.ranks_per_server));
  }
  if (const auto reason = check_request(algorithm, full)) throw UserError(*reason);
  return full;
}

void require_own_request(const AlgorithmEntry& algorithm, const AlgorithmRequest& request) {
  if (const auto reason = check_fixed_program(algorithm, request.channels,
                                              request.compile.instances, request.root)) {
    throw UserError(*reason);
  }
}

}  // namespace

void AlgorithmLibrary::add(AlgorithmEntry entry) {
  if (!entry.spelled && !is_valid_name(entry.name)) {
    throw UserError(
        fmt::format("{} cannot be the name of an algorithm; expected at most {} letters, digits, "
                    "'.', '_' and '-', beginning with a letter or a digit",
                    quoted(entry.name), kMaxName));
  }
  if (entry.fixed() == static_cast<bool>(entry.trace)) {
    throw std::logic_error("algorithm '" + entry.name +
                           "': expected either a trace function or a program");
  }
  if (const AlgorithmEntry* other = find(entry.name)) {
    if (same_program(*other, entry)) return;
    throw UserError(
        fmt::format("there is an algorithm '{}' already; expected another name", entry.name));
  }
  auto entries = std::make_shared<std::vector<AlgorithmEntry>>(*entries_);
  entries->push_back(std::move(entry));
  entries_ = std::move(entries);
}

void AlgorithmLibrary::add_all(const AlgorithmLibrary& other) {
  if (entries_ == other.entries_) return;
  for (const AlgorithmEntry& entry : other.entries()) {
    const AlgorithmEntry* known = find(entry.name);
    // Functions cannot be compared: traced algorithms with the same name are assumed to be equal.
    const bool traced = known != nullptr && !known->fixed() && !entry.fixed();
    if (!traced) add(entry);
  }
}

void AlgorithmLibrary::add_spelled(std::string_view name, const SourceLocation& where) {
  if (!algorithms::spells_levels(name) || find(name) != nullptr) return;
  try {
    add(algorithms::spelled_levels_entry(name));
  } catch (const UserError& error) {
    throw UserError(where, error.what());
  }
}

void AlgorithmLibrary::add_buildable(const std::vector<std::string>& names) {
  auto entries = std::make_shared<std::vector<AlgorithmEntry>>(*entries_);
  std::set<std::string> known;
  for (const AlgorithmEntry& entry : *entries) known.insert(entry.name);
  for (const std::string& name : names) {
    if (!algorithms::spells_levels(name) || !known.insert(name).second) continue;
    try {
      entries->push_back(algorithms::spelled_levels_entry(name));
    } catch (const UserError&) {
      // left out
    }
  }
  entries_ = std::move(entries);
}

std::vector<std::string> AlgorithmLibrary::names() const {
  std::vector<std::string> names;
  for (const AlgorithmEntry& entry : entries()) names.push_back(entry.name);
  return names;
}

const AlgorithmEntry* AlgorithmLibrary::find(std::string_view name) const {
  if (const auto exact = std::ranges::find(entries(), name, &AlgorithmEntry::name);
      exact != entries().end()) {
    return &*exact;
  }
  const std::string plain = plain_name(name);
  const auto found = std::ranges::find_if(
      entries(), [&](const AlgorithmEntry& entry) { return plain_name(entry.name) == plain; });
  return found == entries().end() ? nullptr : &*found;
}

const AlgorithmEntry& AlgorithmLibrary::at(std::string_view name) const {
  if (const AlgorithmEntry* entry = find(name)) return *entry;
  throw UserError(unknown_name_message("algorithm", name, names()));
}

std::size_t AlgorithmLibrary::index_of(std::string_view name) const {
  return static_cast<std::size_t>(&at(name) - entries().data());
}

bool supports(const AlgorithmEntry& algorithm, CollectiveKind collective) {
  return std::ranges::find(algorithm.collectives, collective) != algorithm.collectives.end();
}

std::string collectives_text(const AlgorithmEntry& algorithm) {
  std::vector<std::string_view> names;
  for (const CollectiveKind kind : algorithm.collectives) names.push_back(to_string(kind));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<std::string> check_ranks(const AlgorithmEntry& algorithm, int ranks) {
  if (ranks >= 2 && algorithm.ranks.holds(ranks)) return std::nullopt;
  return fmt::format("{} does not run on {} rank{}: it needs {}", algorithm.name, ranks,
                     ranks == 1 ? "" : "s", algorithm.ranks.text);
}

std::optional<std::string> check_request(const AlgorithmEntry& algorithm,
                                         const AlgorithmRequest& request) {
  if (!algorithm.check) return std::nullopt;
  const auto reason = algorithm.check(with_known_servers(algorithm, request));
  if (!reason) return std::nullopt;
  return fmt::format("{}: {}", algorithm.name, *reason);
}

CompileOptions deployed_compile_options(const AlgorithmEntry& algorithm) {
  return {.share_blocks = algorithm.shares_blocks, .join_forwarding = false};
}

int thread_blocks_per_gpu(const AlgorithmEntry& algorithm, const AlgorithmRequest& request) {
  const auto count = [&]() -> std::int64_t {
    if (algorithm.fixed()) return algorithm.program->most_resident_blocks();
    const AlgorithmRequest full = with_known_servers(algorithm, request);
    if (algorithm.thread_blocks) return algorithm.thread_blocks(full);
    return compiled_resident_blocks(algorithm.trace(full), AlgorithmRequest{}.compile).count;
  };
  return static_cast<int>(std::min<std::int64_t>(count(), std::numeric_limits<int>::max()));
}

Program trace_algorithm(const AlgorithmEntry& algorithm, const AlgorithmRequest& request) {
  const AlgorithmRequest full = checked(algorithm, request);
  if (algorithm.fixed()) {
    throw UserError(fmt::format("{} is a compiled program; it cannot be traced", algorithm.name));
  }
  return algorithm.trace(full);
}

std::optional<ProgramOutline> outline_algorithm(const AlgorithmEntry& algorithm,
                                                const AlgorithmRequest& request) {
  const AlgorithmRequest full = checked(algorithm, request);
  if (!algorithm.outline) return std::nullopt;
  auto outline = algorithm.outline(full);
  if (outline) outline->traits = algorithm.traits;
  return outline;
}

std::optional<ProgramOutline> outline_of_different_channels(const AlgorithmEntry& algorithm,
                                                            const AlgorithmRequest& request) {
  const AlgorithmRequest full = checked(algorithm, request);
  const DifferentChannels different = algorithm.different_channels
                                          ? algorithm.different_channels(full)
                                          : DifferentChannels{full.channels, full.channels};
  if (different.count >= full.channels || full.channels % different.count != 0) {
    return outline_algorithm(algorithm, full);
  }
  AlgorithmRequest once = full;
  once.channels = different.count;
  std::optional<ProgramOutline> outline = outline_algorithm(algorithm, once);
  if (!outline) outline = outline_of(*build_algorithm(algorithm, once));
  outline->alike_channels = full.channels / different.count;
  outline->alike_period = different.period;
  return outline;
}

void require_program_memory(const AlgorithmEntry& algorithm, const AlgorithmRequest& request,
                            double share) {
  for (const PairMemory& memory : algorithm.memory) {
    if (memory.collective != request.collective) continue;
    const double pairs = static_cast<double>(request.ranks) * (request.ranks - 1) *
                         request.channels * static_cast<double>(request.compile.instances);
    require_memory(share * pairs * memory.bytes,
                   fmt::format("{} by '{}' on {} ranks with {} channel{}",
                               to_string(request.collective), algorithm.name, request.ranks,
                               request.channels, request.channels == 1 ? "" : "s"),
                   "a smaller fabric, fewer channels or fewer instances need less");
  }
}

std::shared_ptr<const ThreadBlockProgram> build_algorithm(const AlgorithmEntry& algorithm,
                                                          const AlgorithmRequest& request) {
  if (algorithm.fixed()) {
    (void)checked(algorithm, request);
    require_own_request(algorithm, request);
    return algorithm.program;
  }
  // Programs took at least a third of a simulation's memory when they were compiled.
  require_program_memory(algorithm, request, 1.0 / 3);
  auto program = std::make_shared<ThreadBlockProgram>(
      compile(trace_algorithm(algorithm, request), request.compile));
  program->traits = algorithm.traits;
  const VerifyReport report = verify(*program);
  if (!report.ok) {
    throw std::logic_error(fmt::format("the program {} {} for {} ranks is wrong:\n{}",
                                       algorithm.name, to_string(request.collective), request.ranks,
                                       report.to_string()));
  }
  return program;
}

}  // namespace cclgym
