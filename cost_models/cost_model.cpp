#include "cost_models/cost_model.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <fmt/format.h>

#include "core/units.hpp"
#include "cost_models/cost_fields.hpp"

namespace cclgym {

namespace {

template <class Record>
std::vector<const CostField<Record>*> in_hash_order(const std::vector<CostField<Record>>& fields) {
  std::vector<const CostField<Record>*> ordered(fields.size());
  for (const CostField<Record>& each : fields) {
    ordered.at(static_cast<std::size_t>(each.hash_place)) = &each;
  }
  return ordered;
}

// Appends "key value", with all bits of the value; -1 for an alpha that is left to the fabric.
template <class Record>
void add_line(std::string& text, std::string_view key, const CostField<Record>& each,
              const Record& record) {
  const std::optional<OptionValue> value = each.field.get(record);
  text += fmt::format("{} {}\n", key, format_double(value ? option_number(*value) : -1));
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::LL:
      return "LL";
    case Protocol::LL128:
      return "LL128";
    case Protocol::Simple:
      return "Simple";
  }
  return "?";
}

const std::vector<Protocol>& all_protocols() {
  static const std::vector<Protocol> protocols{Protocol::LL, Protocol::LL128, Protocol::Simple};
  return protocols;
}

std::optional<Protocol> parse_protocol(std::string_view name) {
  const auto same_letter = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  for (const Protocol protocol : all_protocols()) {
    const std::string_view candidate = to_string(protocol);
    if (std::equal(candidate.begin(), candidate.end(), name.begin(), name.end(), same_letter)) {
      return protocol;
    }
  }
  return std::nullopt;
}

std::string CostModel::label() const {
  return misfit.empty() ? name : fmt::format("{} ({})", name, misfit);
}

int CostModel::resident_thread_blocks(int threads) const {
  const int blocks_per_sm = threads > 0 ? std::max(1, resident_threads / threads) : 1;
  return max_thread_blocks * blocks_per_sm;
}

std::string CostModel::canonical_text() const {
  std::string text = fmt::format("model {}\n", hockney ? "hockney" : "protocol");
  for (const LinkKind kind : kLinkKinds) {
    const auto index = static_cast<std::size_t>(kind);
    add_line(text, fmt::format("alpha{}", index), alpha_fields()[index], *this);
    add_line(text, fmt::format("link_efficiency{}", index), link_efficiency_fields()[index], *this);
  }
  for (std::size_t p = 0; p < protocols.size(); ++p) {
    for (const auto* each : in_hash_order(protocol_fields())) {
      add_line(text, fmt::format("{}{}", each->field.key(), p), *each, protocols[p]);
    }
  }
  for (const auto* each : in_hash_order(cost_model_fields())) {
    if (each->newer && each->field.get(*this) == each->field.get(CostModel{})) continue;
    add_line(text, each->field.key(), *each, *this);
  }
  // Sets without these sections keep their hash.
  if (mpi.given()) {
    for (const auto* each : in_hash_order(mpi_fields())) {
      add_line(text, fmt::format("mpi.{}", each->field.key()), *each, mpi);
    }
  }
  if (matching.given()) {
    for (const auto* each : in_hash_order(matching_fields())) {
      add_line(text, fmt::format("matching.{}", each->field.key()), *each, matching);
    }
  }
  return text;
}

}  // namespace cclgym
