#include "calibration/page/html_page.hpp"

#include "experiments/report/report.hpp"

namespace cclgym {

namespace embedded {
extern const std::string_view kChartJs;
extern const std::string_view kReportStyle;
extern const std::string_view kPageTemplate;
extern const std::string_view kPageBase;
}  // namespace embedded

std::string html_page(const HtmlPage& page) {
  const std::string script = javascript_for_script(page.script);
  const std::string base = javascript_for_script(embedded::kPageBase);
  const std::string chart_js = javascript_for_script(embedded::kChartJs);
  const std::string data = json_for_script(page.json);
  const std::string text = html_escaped(page.text);
  const std::string title = html_escaped(page.title);
  return filled_in(embedded::kPageTemplate, {{"{{title}}", title},
                                             {"{{style}}", embedded::kReportStyle},
                                             {"{{text}}", text},
                                             {"{{data}}", data},
                                             {"{{chart_js}}", chart_js},
                                             {"{{base}}", base},
                                             {"{{script}}", script}});
}

}  // namespace cclgym
