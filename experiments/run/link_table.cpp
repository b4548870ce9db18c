#include "experiments/run/link_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "core/files/csv.hpp"
#include "core/files/text_file.hpp"
#include "sim/analysis.hpp"

namespace cclgym {

namespace {

constexpr std::array<CsvColumn<LinkRow>, 6> kColumns{{
    {"link", &LinkRow::link},
    {"wire_bytes", &LinkRow::wire_bytes},
    {"rate_GBps", &LinkRow::rate_GBps},
    {"capacity_GBps", &LinkRow::capacity_GBps},
    {"share", &LinkRow::share},
    {"busy_us", &LinkRow::busy_us},
}};

// Names of nodes may contain characters that a CSV field may not.
std::string plain(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return c == ',' || c == '"' || c < 0x20 || c == 0x7F; }, '_');
  return name;
}

}  // namespace

std::string link_table_path(const std::string& timeline_path) {
  return std::filesystem::path(timeline_path).replace_extension(".links.csv").string();
}

void write_link_table(const std::string& path, const SimulationRecord& record,
                      const Fabric& fabric) {
  const std::vector<LinkUse> uses = link_use(record, false);
  const Fabric& routes = record.lowered.fabric ? *record.lowered.fabric : fabric;
  std::string text = csv_header(kColumns) + "\n";
  for (const std::size_t link : busiest_links(uses)) {
    const LinkUse& use = uses[link];
    text += csv_line(kColumns, LinkRow{.link = plain(link_name(routes, link)),
                                       .wire_bytes = use.bytes,
                                       .rate_GBps = use.rate_Bps / 1e9,
                                       .capacity_GBps = use.capacity_Bps / 1e9,
                                       .share = use.share(),
                                       .busy_us = use.busy_s * 1e6}) +
            "\n";
  }
  write_text_file(path, text);
}

std::vector<LinkRow> read_link_table(const std::string& path) {
  CsvRows<LinkRow> file = read_csv(path, kColumns, {.comments = false, .keep_unended = true});
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    for (const CsvColumn<LinkRow>& column : kColumns) {
      const auto* member = std::get_if<double LinkRow::*>(&column.member);
      if (member == nullptr) continue;
      const double value = file.rows[i].**member;
      if (std::isfinite(value) && value >= 0) continue;
      throw UserError(file.where[i], std::string(column.name) + " is " + format_double(value) +
                                         "; expected a finite number >= 0");
    }
  }
  return std::move(file.rows);
}

}  // namespace cclgym
