#include "calibration/html_page.hpp"

#include "experiments/report.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kChartJs;
extern const std::string_view kReportStyle;
extern const std::string_view kPageTemplate;
extern const std::string_view kPageBase;
}  // namespace embedded

namespace {

std::string replaced(std::string text, std::string_view name, std::string_view value) {
  const std::size_t place = text.find(name);
  if (place != std::string::npos) text.replace(place, name.size(), value);
  return text;
}

}  // namespace

std::string html_page(const HtmlPage& page) {
  // From the end to the beginning, so that what was put in is never searched for a name.
  std::string text(embedded::kPageTemplate);
  text = replaced(std::move(text), "{{script}}", javascript_for_script(page.script));
  text = replaced(std::move(text), "{{base}}", javascript_for_script(embedded::kPageBase));
  text = replaced(std::move(text), "{{chart_js}}", javascript_for_script(embedded::kChartJs));
  text = replaced(std::move(text), "{{data}}", json_for_script(page.json));
  text = replaced(std::move(text), "{{text}}", html_escaped(page.text));
  text = replaced(std::move(text), "{{style}}", embedded::kReportStyle);
  return replaced(std::move(text), "{{title}}", html_escaped(page.title));
}

}  // namespace cclgym
