// A page with plots, in one HTML file that opens without a network.
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

struct HtmlPage {
  std::string title;        ///< without markup
  std::string text;         ///< what is shown where scripts do not run
  std::string json;         ///< for the script, as the element "data"
  std::string_view script;  ///< draws into the element "page"; has Chart.js
};
/// Same input, same bytes.
[[nodiscard]] std::string html_page(const HtmlPage& page);

}  // namespace cclgym
