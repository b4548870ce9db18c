# Embeds the report's page, styles and scripts in the binary, together with Chart.js (MIT licence).
# Chart.js is Debian's libjs-chart.js; 3.9.1 is in Debian 12, 13 and Ubuntu 24.04.
find_package(nlohmann_json REQUIRED)
find_file(CCLGYM_CHART_JS chart.min.js
  PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
  DOC "Chart.js 3, minified (package libjs-chart.js)")
if(NOT CCLGYM_CHART_JS)
  message(FATAL_ERROR "chart.min.js not found: install the package libjs-chart.js")
endif()

foreach(embedded
    kChartJs=${CCLGYM_CHART_JS}
    kReportTemplate=report/report_template.html
    kReportStyle=report/report.css
    kReportBaseScript=report/report_base.js
    kReportPlotsScript=report/report_plots.js
    kReportTablesScript=report/report_tables.js
    kReportSizePlotScript=report/report_size_plot.js
    kReportPublishedScript=report/report_published.js
    kReportCrossoversScript=report/report_crossovers.js
    kReportSpreadScript=report/report_spread.js
    kReportPageScript=report/report_page.js)
  string(REPLACE "=" ";" name_and_file ${embedded})
  list(GET name_and_file 0 name)
  list(GET name_and_file 1 file)
  get_filename_component(file ${file} ABSOLUTE)
  cclgym_embed(cclgym_experiments ${name} ${file})
endforeach()
