#include "core/report/page.hpp"

#include <algorithm>

namespace cclgym {

namespace embedded {
extern const std::string_view kChartJs;
extern const std::string_view kPageTemplate;
extern const std::string_view kPageStyle;
extern const std::string_view kPageAxesScript;
extern const std::string_view kPageBaseScript;
extern const std::string_view kPagePlotScript;
}  // namespace embedded

std::string filled_in(std::string_view text,
                      const std::vector<std::pair<std::string_view, std::string_view>>& pairs) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const auto& candidate) {
      return text.substr(i).starts_with(candidate.first);
    });
    if (pair != pairs.end()) {
      result += pair->second;
      i += pair->first.size();
    } else {
      result += text[i++];
    }
  }
  return result;
}

std::string html_escaped(std::string_view text) {
  return filled_in(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string json_for_script(std::string_view json) {
  // In JSON these characters occur only inside strings, where they may be written as escapes.
  return filled_in(json, {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}});
}

std::string javascript_for_script(std::string_view source) {
  // In strings and regular expressions \/ means / and \! means !. HTML ignores the case of
  // "script".
  constexpr std::string_view kEnd = "</script";
  const auto same = [](char a, char b) { return a == b || a == b - 'a' + 'A'; };
  std::string result;
  result.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::string_view rest = source.substr(i);
    const bool end = rest.size() >= kEnd.size() &&
                     std::equal(rest.begin(), rest.begin() + kEnd.size(), kEnd.begin(), same);
    result += source[i];
    if (end || rest.starts_with("<!--")) result += '\\';
  }
  return result;
}

std::string html_page(const HtmlPage& page) {
  std::string style(embedded::kPageStyle);
  for (const std::string_view more : page.styles) style += more;
  std::string scripts;
  const auto add_script = [&scripts](std::string_view script) {
    scripts += (scripts.empty() ? "" : "\n") + ("<script>\n" + javascript_for_script(script)) +
               "\n</script>";
  };
  add_script(embedded::kChartJs);
  add_script(embedded::kPageAxesScript);
  add_script(embedded::kPageBaseScript);
  add_script(embedded::kPagePlotScript);
  for (const std::string_view script : page.scripts) add_script(script);
  const std::string title = html_escaped(page.title);
  const std::string notice = html_escaped(page.notice);
  const std::string text = html_escaped(page.text);
  const std::string data = json_for_script(page.json);
  return filled_in(embedded::kPageTemplate, {{"{{title}}", title},
                                             {"{{style}}", style},
                                             {"{{notice}}", notice},
                                             {"{{text}}", text},
                                             {"{{data}}", data},
                                             {"{{scripts}}", scripts}});
}

}  // namespace cclgym
