#include "core/text_columns.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace cclgym {

namespace {

constexpr std::string_view kGap = "  ";

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::size_t filled = characters(text);
  const std::string space(width > filled ? width - filled : 0, ' ');
  return left ? text + space : space + text;
}

}  // namespace

std::size_t Column::width() const {
  std::size_t widest = std::max(characters(heading), characters(unit));
  for (const std::string& cell : cells) widest = std::max(widest, characters(cell));
  return widest;
}

std::size_t total_width(const std::vector<Column>& columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += kGap.size() + column.width();
  return width;
}

std::string format_columns(const std::vector<Column>& columns) {
  std::string text;
  const auto add_line = [&](auto cell_of) {
    std::string line;
    for (const Column& column : columns) {
      line += std::string(kGap) + padded(cell_of(column), column.width(), column.left);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line([](const Column& column) { return column.heading; });
  add_line([](const Column& column) { return column.unit; });
  for (std::size_t i = 0; i < columns.front().cells.size(); ++i) {
    add_line([&](const Column& column) { return column.cells[i]; });
  }
  return text;
}

Column number_column(std::string heading, std::string unit,
                     const std::vector<std::optional<double>>& values, int fewest, int most) {
  double smallest = INFINITY;
  for (const std::optional<double>& value : values) {
    if (value && *value > 0) smallest = std::min(smallest, *value);
  }
  int decimals = fewest;
  if (std::isfinite(smallest)) {
    decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(smallest))), fewest, most);
  }
  Column column{std::move(heading), std::move(unit)};
  for (const std::optional<double>& value : values) {
    column.cells.push_back(value ? fmt::format("{:.{}f}", *value, decimals) : "-");
  }
  return column;
}

}  // namespace cclgym
