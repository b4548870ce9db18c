// Feeds arbitrary bytes to the readers of tables: results of a run, measured times beside them,
// links of a timeline, and published speedups. The first byte chooses the reader.
#include "experiments/measured/measured_rows.hpp"
#include "experiments/published/published.hpp"
#include "experiments/run/link_table.hpp"
#include "experiments/run/results.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(results) {
  using namespace cclgym;
  std::string_view text = fuzz::text_of(data, size);
  const unsigned kind = fuzz::take_kind(text, 4);
  fuzz::guarded([&] {
    if (kind == 3) {
      for (const PublishedRow& row : parse_published(text, "fuzz.csv")) {
        if (row.range_text().empty()) std::abort();
      }
      return;
    }
    const std::string path = fuzz::file_of(text);
    if (kind == 1) {
      for (const MeasuredRow& row : read_measured(path)) {
        if (row.size_bytes == 0 || !(row.time_us > 0)) std::abort();
      }
    } else if (kind == 2) {
      (void)read_link_table(path);
    } else {
      for (const ResultRow& row : read_results(path).rows) {
        if (to_csv(row).find('\n') != std::string::npos) std::abort();
      }
    }
  });
  return 0;
}
