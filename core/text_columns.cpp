#include "core/text_columns.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace cclgym {

namespace {

constexpr std::string_view kGap = "  ";

std::size_t characters(std::string_view text) {
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

namespace {

// A list of parts "A; B; C", cut; empty if not even its first part fits.
std::string cut_list(std::string_view line, std::size_t width) {
  const auto more = [](std::size_t count) { return fmt::format("; … {} more", count); };
  std::vector<std::size_t> ends;
  for (std::size_t at = line.find("; "); at != std::string_view::npos;
       at = line.find("; ", at + 1)) {
    ends.push_back(at);
  }
  for (std::size_t kept = ends.size(); kept > 0; --kept) {
    std::string cut(line.substr(0, ends[kept - 1]));
    cut += more(ends.size() + 1 - kept);
    if (characters(cut) <= width) return cut;
  }
  return "";
}

std::string wrapped(std::string_view line, std::size_t width) {
  std::string text;
  std::string now;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    const bool first = now.find_first_not_of(' ') == std::string::npos;
    if (!first && characters(now) + 1 + characters(word) > width) {
      text += now + "\n";
      now = "    " + std::string(word);
    } else {
      if (at > 0) now += ' ';
      now += word;
    }
    at = end + 1;
  }
  return text + now;
}

}  // namespace

std::string fitted_lines(std::string_view text, std::size_t width) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    std::string fitted(line);
    if (characters(line) > width) {
      fitted = line.starts_with("  ") ? cut_list(line, width) : "";
      if (fitted.empty()) fitted = wrapped(line, width);
    }
    result += fitted;
    if (end < text.size()) result += '\n';
    at = end + 1;
  }
  return result;
}

}  // namespace cclgym
