// Parser of the CSV of the backend `cuda`.
#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <optional>

#include "calibration/cuda/cuda_fit.hpp"
#include "core/error.hpp"
#include "core/files/csv.hpp"
#include "core/files/text_file.hpp"

namespace cclgym {

namespace {

// Indices of the columns that are read.
class Columns {
 public:
  Columns(const CsvLine& header, const SourceLocation& where) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      std::string name;
      header.read(i, "a column's name", name);
      if (!places_.emplace(name, i).second) {
        throw UserError(where, "two columns " + quoted(name));
      }
    }
    for (const char* name : {"benchmark", "protocol", "flags", "threads", "blocks", "bytes",
                             "chunk_bytes", "time_us_median"}) {
      if (!places_.contains(name)) throw UserError(where, fmt::format("no column '{}'", name));
    }
  }

  template <class Value>
  void read(const CsvLine& line, const char* name, Value& value) const {
    const auto place = places_.find(name);
    if (place != places_.end()) line.read(place->second, name, value);
  }
  [[nodiscard]] std::size_t place(const char* name) const { return places_.at(name); }
  [[nodiscard]] std::size_t size() const { return places_.size(); }

 private:
  std::map<std::string, std::size_t> places_;
};

}  // namespace

CudaMeasurements parse_cuda_measurements(std::string_view text, const std::string& file) {
  CudaMeasurements measured;
  std::optional<Columns> columns;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content.empty() || content.front() == '#') continue;
    const CsvLine line(content, file, number);
    if (!columns) {
      columns.emplace(line, SourceLocation{file, number, 1});
      continue;
    }
    if (line.size() != columns->size()) {
      line.fail(0, fmt::format("found {} fields; expected {}", line.size(), columns->size()));
    }
    std::string time;
    columns->read(line, "time_us_median", time);
    if (time.empty()) continue;
    CudaRow row;
    double time_us = 0;
    columns->read(line, "benchmark", row.benchmark);
    columns->read(line, "protocol", row.protocol);
    columns->read(line, "flags", row.flags);
    columns->read(line, "threads", row.threads);
    columns->read(line, "blocks", row.blocks);
    columns->read(line, "bytes", row.bytes);
    columns->read(line, "chunk_bytes", row.chunk_bytes);
    columns->read(line, "time_us_median", time_us);
    if (!(time_us > 0)) {
      line.fail(columns->place("time_us_median"), "a time must be > 0; found " + quoted(time));
    }
    row.time_s = time_us * 1e-6;
    CudaMeasurements about;
    columns->read(line, "device", about.device);
    columns->read(line, "driver", about.driver);
    columns->read(line, "cuda_runtime", about.cuda_runtime);
    columns->read(line, "sms", about.sms);
    if (!measured.rows.empty() && about.device != measured.device) {
      line.fail(columns->place("device"),
                fmt::format("measured on {}, rows before on {}", quoted(about.device),
                            quoted(measured.device)));
    }
    measured.device = about.device;
    measured.driver = about.driver;
    measured.cuda_runtime = about.cuda_runtime;
    measured.sms = about.sms;
    measured.rows.push_back(std::move(row));
  }
  if (measured.rows.empty()) throw UserError({file, 0, 0}, "no row with a time");
  return measured;
}

CudaMeasurements read_cuda_measurements(const std::string& path) {
  constexpr std::size_t kLargestFile = std::size_t{1} << 30;
  return parse_cuda_measurements(read_text_file(path, kLargestFile), path);
}

}  // namespace cclgym
