# Embeds the scripts of the report in the binary; core/report has the page around them.
foreach(embedded
    kReportBaseScript=report/report_base.js
    kReportPlotsScript=report/report_plots.js
    kReportTablesScript=report/report_tables.js
    kReportSizePlotScript=report/report_size_plot.js
    kReportPublishedScript=report/report_published.js
    kReportCrossoversScript=report/report_crossovers.js
    kReportHeatmapsScript=report/report_heatmaps.js
    kReportSpreadScript=report/report_spread.js
    kReportPageScript=report/report_page.js
    kRunComparisonScript=report/run_comparison.js)
  string(REPLACE "=" ";" name_and_file ${embedded})
  list(GET name_and_file 0 name)
  list(GET name_and_file 1 file)
  get_filename_component(file ${file} ABSOLUTE)
  cclgym_embed(cclgym_experiments ${name} ${file})
endforeach()
