// The numeric parameters of a cost model, one line each in cost_fields.cpp: reading, writing,
// hashing, documenting, overriding and fitting loop over these tables.
#pragma once

#include <optional>
#include <vector>

#include "core/options/field.hpp"
#include "cost_models/cost_model.hpp"

namespace cclgym {

/// Bounds within which a fit searches for a parameter, and its start; SI units, all > 0.
struct FitRange {
  double min = 0;
  double max = 0;
  double start = 0;         ///< start of the fit if the start set has 0
  bool by_default = false;  ///< true: `cclgym fit` fits it unless told otherwise
};

/// A parameter of a struct `Record`.
template <class Record>
struct CostField {
  Field<Record> field;
  int hash_place = 0;             ///< place among the table's lines in CostModel::canonical_text
  std::optional<FitRange> fit{};  ///< nullopt: a count or a size, which is not fitted
  /// True for a parameter that is newer than hashes which users have: it enters them only if it is
  /// not the default, so that sets without it keep their hash.
  bool newer = false;
  bool network = false;  ///< true: a cost of messages between nodes
};

/// Parameters of the model itself, in the order of a parameter set.
[[nodiscard]] const std::vector<CostField<CostModel>>& cost_model_fields();
/// Parameters of each protocol.
[[nodiscard]] const std::vector<CostField<ProtocolCost>>& protocol_fields();
/// `alpha` and `link_efficiency`, one field per link kind.
[[nodiscard]] const std::vector<CostField<CostModel>>& alpha_fields();
[[nodiscard]] const std::vector<CostField<CostModel>>& link_efficiency_fields();
/// Parameters of the sections `mpi` and `matching`, which a set may leave out.
[[nodiscard]] const std::vector<CostField<MpiCost>>& mpi_fields();
[[nodiscard]] const std::vector<CostField<MatchingCost>>& matching_fields();

}  // namespace cclgym
