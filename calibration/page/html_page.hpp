// Self-contained HTML page with plots, which opens without a network.
#pragma once

#include <string>
#include <string_view>

namespace cclgym {

struct HtmlPage {
  std::string title;        ///< without markup
  std::string text;         ///< shown if scripts do not run
  std::string json;         ///< for the script, as the element "data"
  std::string_view script;  ///< draws into the element "page"; has Chart.js
};
/// Equal inputs give equal bytes.
[[nodiscard]] std::string html_page(const HtmlPage& page);

}  // namespace cclgym
