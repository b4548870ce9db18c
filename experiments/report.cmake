# The report's page, styles and scripts go into the binary, and Chart.js (MIT licence) with them. It
# comes from Debian's libjs-chart.js; 3.9.1 is in Debian 12, 13 and Ubuntu 24.04.
find_package(nlohmann_json REQUIRED)
find_file(CCLGYM_CHART_JS chart.min.js
  PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
  DOC "Chart.js 3, minified (package libjs-chart.js)")
if(NOT CCLGYM_CHART_JS)
  message(FATAL_ERROR "chart.min.js not found: install the package libjs-chart.js")
endif()

target_sources(cclgym_experiments PRIVATE
  report.cpp report_json.cpp report_summary.cpp table.cpp)
target_link_libraries(cclgym_experiments PRIVATE nlohmann_json::nlohmann_json)
foreach(embedded
    kChartJs=${CCLGYM_CHART_JS}
    kReportTemplate=report_template.html
    kReportStyle=report.css
    kReportBaseScript=report_base.js
    kReportPlotsScript=report_plots.js
    kReportTablesScript=report_tables.js
    kReportSizePlotScript=report_size_plot.js
    kReportPublishedScript=report_published.js
    kReportCrossoversScript=report_crossovers.js
    kReportSpreadScript=report_spread.js
    kReportPageScript=report_page.js)
  string(REPLACE "=" ";" name_and_file ${embedded})
  list(GET name_and_file 0 name)
  list(GET name_and_file 1 file)
  get_filename_component(file ${file} ABSOLUTE)
  cclgym_embed(cclgym_experiments ${name} ${file})
endforeach()
