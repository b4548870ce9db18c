#include "env/tuning/actions/flat_tuning_actions.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace cclgym {

namespace {

using Row = std::span<const std::int32_t>;

bool before(Row a, Row b) { return std::ranges::lexicographical_compare(a, b); }
bool alike(Row a, Row b) { return std::ranges::equal(a, b); }

std::vector<Row> rows_of(const TuningActions& actions, CollectiveKind collective) {
  const Row all = actions.legal_actions(collective);
  const std::size_t width = actions.knobs().size();
  std::vector<Row> rows;
  for (std::size_t i = 0; i < all.size(); i += width) rows.push_back(all.subspan(i, width));
  return rows;
}

// Meaning of an action: its program for each collective (given by the levels of algorithm and
// inter), the collectives for which it is legal, and the rest of its configuration.
using Meaning = std::array<std::uint64_t, 5>;

class Meanings {
 public:
  explicit Meanings(const TuningActions& actions) : actions_(actions) {}

  [[nodiscard]] Meaning of(Row row) const {
    Meaning meaning{};
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Knob knob = actions_.knobs()[i];
      if (actions_.profile() == ActionProfile::Pccl) {
        meaning[0] = meaning[0] << 8U | static_cast<std::uint32_t>(row[i]);  // no two are alike
        continue;
      }
      if (knob != Knob::Algorithm && knob != Knob::Inter) continue;
      meaning[0] = meaning[0] << 32U | static_cast<std::uint32_t>(row[i]);
    }
    const bool chosen = actions_.tuner_of(row).has_value();
    for (const CollectiveKind collective : all_collectives()) {
      if (!actions_.legal(collective, row)) continue;
      if (meaning[1] == 0 && !chosen) add_config(actions_.config(collective, row), meaning);
      meaning[1] |= std::uint64_t{1} << static_cast<unsigned>(collective);
    }
    return meaning;
  }

 private:
  static void add_config(const PlainConfig& config, Meaning& meaning) {
    meaning[2] = config.tile_bytes;
    meaning[3] = std::uint64_t{config.channels} << 48U | std::uint64_t{config.instances} << 32U |
                 std::uint64_t{config.threads} << 16U | std::uint64_t{config.slots} << 8U |
                 static_cast<std::uint64_t>(config.protocol);
    meaning[4] = config.binding;
  }

  const TuningActions& actions_;
};

}  // namespace

FlatTuningActions::FlatTuningActions(const TuningActions& actions) {
  std::vector<Row> rows;
  for (const CollectiveKind collective : all_collectives()) {
    const std::vector<Row> more = rows_of(actions, collective);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  std::ranges::sort(rows, before);
  rows.erase(std::unique(rows.begin(), rows.end(), alike), rows.end());

  auto kept = std::make_shared<std::vector<std::int32_t>>();
  const Meanings meanings(actions);
  std::set<Meaning> seen;
  for (const Row& row : rows) {
    if (!seen.insert(meanings.of(row)).second) continue;
    kept->insert(kept->end(), row.begin(), row.end());
    ++count_;
  }
  const std::size_t width = actions.knobs().size();
  for (const CollectiveKind collective : all_collectives()) {
    constexpr std::uint64_t kLargest = ~std::uint64_t{0};
    for (const std::uint64_t bytes : {std::uint64_t{0}, kLargest}) {
      const Call call{.collective = collective, .bytes = bytes};
      std::vector<std::uint8_t> mask(count_);
      for (std::size_t i = 0; i < count_; ++i) {
        mask[i] = actions.legal(call, Row(*kept).subspan(i * width, width)) ? 1 : 0;
      }
      (bytes == 0 ? masks_ : of_large_).push_back(std::move(mask));
    }
  }
  actions_ = std::move(kept);
}

}  // namespace cclgym
