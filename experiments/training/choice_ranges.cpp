#include "experiments/training/choice_ranges.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "core/units.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kPublishedSpeedups;
extern const std::string_view kPublishedRegimes;
}  // namespace embedded

namespace {

std::string config_text(const Config& config) {
  std::string text = fmt::format("{} {} c{} r{}", short_program_name(config.algorithm),
                                 to_string(config.protocol), config.channels, config.instances);
  if (config.tile_bytes > 0) text += " tiles " + format_bytes(config.tile_bytes);
  return text;
}

// Held-out sizes are not powers of two: "11.3KiB".
std::string size_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  // %.3g of 1000 and more would have an exponent.
  return value < 1000 ? fmt::format("{:.3g}{}", value, units[unit])
                      : fmt::format("{:.0f}{}", value, units[unit]);
}

std::string ranges_text(const std::vector<ChoiceRange>& ranges) {
  std::string text;
  for (const ChoiceRange& range : ranges) {
    text += fmt::format("{}{}{} {}", text.empty() ? "" : "; ", size_text(range.from),
                        range.to == range.from ? "" : ".." + size_text(range.to), range.config);
  }
  return text;
}

using Line = std::pair<std::string, std::string>;

// One line per policy if all its seeds made the same choices, otherwise one line per seed.
std::vector<Line> policy_lines(const EvaluatedPart& part, const std::string& collective) {
  std::vector<Line> lines;
  for (const PolicyRun& run : part.runs) {
    const auto of_policy = [&](const PolicyRun& other) { return other.policy == run.policy; };
    if (run.policy == "random" || &*std::ranges::find_if(part.runs, of_policy) != &run) continue;
    std::vector<Line> own;
    for (const PolicyRun& seed : part.runs) {
      if (!of_policy(seed)) continue;
      own.emplace_back(fmt::format("{}, seed {}", run.policy, seed.seed),
                       ranges_text(choice_ranges(seed, collective)));
    }
    const bool alike = std::ranges::all_of(
        own, [&](const Line& line) { return line.second == own.front().second; });
    if (alike) own = {{run.policy, own.front().second}};
    lines.insert(lines.end(), own.begin(), own.end());
  }
  return lines;
}

std::vector<Line> published_lines(const EvaluatedPart& part, const std::string& collective,
                                  std::span<const PublishedRow> regimes) {
  std::vector<Line> lines;
  for (const PublishedRow& row : regimes) {
    if (row.collective != collective || !is_of_fabric(row, part.fabric)) continue;
    auto line = std::ranges::find(lines, row.source, &Line::first);
    if (line == lines.end()) line = lines.insert(lines.end(), {row.source, ""});
    line->second +=
        fmt::format("{}{} {}", line->second.empty() ? "" : "; ", row.range_text(), row.variant);
  }
  return lines;
}

}  // namespace

std::string short_program_name(const std::string& name) {
  if (!name.starts_with("synth-")) return name;
  for (const CollectiveKind collective : all_collectives()) {
    const std::size_t found = name.rfind(fmt::format("-{}-", to_string(collective)));
    if (found != std::string::npos) return name.substr(found + 1);
  }
  return name;
}

std::vector<ChoiceRange> choice_ranges(const PolicyRun& run, const std::string& collective) {
  std::vector<const EvaluatedCell*> cells;
  for (const EvaluatedCell& cell : run.cells) {
    if (cell.collective == collective) cells.push_back(&cell);
  }
  std::ranges::sort(cells, {}, &EvaluatedCell::bytes);
  std::vector<ChoiceRange> ranges;
  for (const EvaluatedCell* cell : cells) {
    const std::string config = config_text(cell->config);
    if (ranges.empty() || ranges.back().config != config) {
      ranges.push_back({cell->bytes, cell->bytes, config});
    }
    ranges.back().to = cell->bytes;
  }
  return ranges;
}

std::vector<PublishedRow> published_regimes() {
  std::vector<PublishedRow> regimes =
      parse_published(embedded::kPublishedSpeedups, "msccl-speedups.csv");
  const std::vector<PublishedRow> more =
      parse_published(embedded::kPublishedRegimes, "regimes.csv");
  regimes.insert(regimes.end(), more.begin(), more.end());
  // A row about a single program does not say that it is the fastest.
  std::erase_if(regimes,
                [](const PublishedRow& row) { return row.subject == PublishedSubject::Variant; });
  return regimes;
}

bool is_of_fabric(const PublishedRow& row, const std::string& fabric) {
  return fabric == fmt::format("{} nodes={}", row.fabric, row.servers) ||
         (row.servers == 1 && fabric == row.fabric);
}

std::vector<std::string> collectives_of(const EvaluatedPart& part) {
  std::vector<std::string> names;
  for (const PolicyRun& run : part.runs) {
    for (const EvaluatedCell& cell : run.cells) {
      if (std::ranges::find(names, cell.collective) == names.end()) {
        names.push_back(cell.collective);
      }
    }
  }
  return names;
}

std::string choices_text(const EvaluatedPart& part, std::span<const PublishedRow> regimes) {
  std::string text;
  if (!part.cost_model.empty()) {
    text += fmt::format("{} on {}: cost model {}\n", part.label, part.fabric, part.cost_model);
  }
  text += part.nccl;
  for (const std::string& collective : collectives_of(part)) {
    std::vector<Line> lines = policy_lines(part, collective);
    const std::vector<Line> published = published_lines(part, collective, regimes);
    lines.insert(lines.end(), published.begin(), published.end());
    std::size_t widest = 0;
    for (const Line& line : lines) widest = std::max(widest, line.first.size());
    text += fmt::format("{} on {}, {}: choices by size\n", part.label, part.fabric, collective);
    for (const auto& [name, ranges] : lines) {
      text += fmt::format("  {:<{}}  {}\n", name, widest, ranges);
    }
  }
  return text;
}

}  // namespace cclgym
