# Embeds the page of all HTML reports in the binary, with Chart.js (MIT licence).
# Chart.js is Debian's libjs-chart.js; 3.9.1 is in Debian 12, 13 and Ubuntu 24.04.
find_file(CCLGYM_CHART_JS chart.min.js
  PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
  DOC "Chart.js 3, minified (package libjs-chart.js)")
if(NOT CCLGYM_CHART_JS)
  message(FATAL_ERROR "chart.min.js not found: install the package libjs-chart.js")
endif()
cclgym_embed(cclgym_core kChartJs ${CCLGYM_CHART_JS})
cclgym_embed(cclgym_core kPageTemplate ${CMAKE_CURRENT_SOURCE_DIR}/report/page.html)
cclgym_embed(cclgym_core kPageStyle ${CMAKE_CURRENT_SOURCE_DIR}/report/page.css)
cclgym_embed(cclgym_core kPageAxesScript ${CMAKE_CURRENT_SOURCE_DIR}/report/page_axes.js)
cclgym_embed(cclgym_core kPageBaseScript ${CMAKE_CURRENT_SOURCE_DIR}/report/page_base.js)
cclgym_embed(cclgym_core kPagePlotScript ${CMAKE_CURRENT_SOURCE_DIR}/report/page_plot.js)
