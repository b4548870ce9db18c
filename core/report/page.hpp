// Self-contained HTML pages with plots, which open without a network: one shell with the styles,
// Chart.js and the scripts that all pages share.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cclgym {

struct HtmlPage {
  std::string title;   ///< without markup
  std::string notice;  ///< sentence above the text, shown if scripts do not run
  std::string text;    ///< plain text, shown if scripts do not run
  std::string json;    ///< data for the scripts, as the element "data"
  std::vector<std::string_view> scripts{};  ///< run in this order, after those of core/report
  std::vector<std::string_view> styles{};   ///< CSS on top of page.css
};

/// The page as text. Equal inputs give equal bytes.
[[nodiscard]] std::string html_page(const HtmlPage& page);

/// JSON or JavaScript in a form that cannot end its <script> element.
[[nodiscard]] std::string json_for_script(std::string_view json);
[[nodiscard]] std::string javascript_for_script(std::string_view source);

/// A template with its names replaced in one pass: replacement texts are not searched for names.
[[nodiscard]] std::string filled_in(
    std::string_view text, const std::vector<std::pair<std::string_view, std::string_view>>& pairs);

/// Text with HTML's special characters escaped.
[[nodiscard]] std::string html_escaped(std::string_view text);

}  // namespace cclgym
