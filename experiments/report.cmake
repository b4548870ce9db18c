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
cclgym_embed(cclgym_experiments chart_js ${CCLGYM_CHART_JS})
cclgym_embed(cclgym_experiments report_template ${CMAKE_CURRENT_SOURCE_DIR}/report_template.html)
cclgym_embed(cclgym_experiments report_style ${CMAKE_CURRENT_SOURCE_DIR}/report.css)
foreach(part base plots tables page)
  cclgym_embed(cclgym_experiments report_${part}_script ${CMAKE_CURRENT_SOURCE_DIR}/report_${part}.js)
endforeach()
