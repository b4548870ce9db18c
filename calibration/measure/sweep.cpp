#include "calibration/measure/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>

#include "core/error.hpp"
#include "core/files/locked_file.hpp"
#include "core/files/text_file.hpp"
#include "core/random.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kLargestSweepFile = std::size_t{1} << 32;

// Fields are not quoted, and their texts come from workers: a separator or a control character must
// not break the row.
bool breaks_field(char c) {
  return c == ',' || c == '"' || (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

std::string plain(std::string text) {
  std::ranges::replace_if(text, breaks_field, ';');
  return text;
}

std::string joined(const TextMap& texts) {
  std::string line;
  for (const auto& [key, value] : texts) line += (line.empty() ? "" : ";") + key + "=" + value;
  return plain(line);
}

std::string key_of(const std::vector<std::string>& cell) {
  std::string key;
  for (const std::string& value : cell) key += (key.empty() ? "" : ",") + value;
  return key;
}

std::string header_of(const SweepPlan& plan) {
  std::vector<std::string> names = plan.columns;
  names.insert(names.end(), sweep_result_columns().begin(), sweep_result_columns().end());
  return key_of(names);
}

// Statistics of the samples: the columns from time_us_median to samples_us.
std::string statistics(const std::vector<double>& samples_s) {
  if (samples_s.empty()) return ",,,,,0,0,";
  const Quartiles quartiles = quartiles_of(samples_s);
  const double range = 3 * (quartiles.q3 - quartiles.q1);
  std::string shown;
  int outliers = 0;
  for (const double sample : samples_s) {
    const bool outlier = sample < quartiles.q1 - range || sample > quartiles.q3 + range;
    outliers += outlier ? 1 : 0;
    shown += fmt::format("{}{:.3f}{}", shown.empty() ? "" : " ", sample * 1e6, outlier ? "!" : "");
  }
  const auto [least, most] = std::ranges::minmax(samples_s);
  return fmt::format("{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{},{},{}", quartiles.median * 1e6,
                     quartiles.q1 * 1e6, quartiles.q3 * 1e6, least * 1e6, most * 1e6,
                     samples_s.size(), outliers, shown);
}

// Cells contain parts of the worker's environment, so they are checked.
void check_cells(const SweepPlan& plan, const std::string& worker) {
  for (const auto& cell : plan.cells) {
    for (std::size_t i = 0; i < cell.size(); ++i) {
      if (std::ranges::none_of(cell[i], breaks_field)) continue;
      throw UserError(
          fmt::format("column {} of the sweep of '{}' would be {}; expected a text "
                      "without commas, quotes and line breaks",
                      plan.columns[i], worker, quoted(cell[i], 200)));
    }
  }
}

// The sweep's file and its rows.
class SweepFile {
 public:
  SweepFile(LockedFile& file, const SweepPlan& plan, const SweepOptions& options)
      : path_(options.path), file_(file) {
    read(plan, options.fresh);
    if (file_.empty()) file_.append(header_of(plan) + "\n");
  }

  [[nodiscard]] bool has(const std::string& key) const { return keys_.contains(key); }
  [[nodiscard]] std::size_t rows() const { return keys_.size(); }
  [[nodiscard]] bool dropped_row() const { return dropped_row_; }
  [[nodiscard]] const std::set<std::string>& environments() const { return environments_; }
  void append(const std::string& line) { file_.append(line + "\n"); }

 private:
  // Truncates the file only once all of it is known to come from a sweep.
  void read(const SweepPlan& plan, bool fresh) {
    const std::string text = read_text_file(path_, kLargestSweepFile);
    if (fresh) {
      check_any_sweep(text, plan);
      file_.truncate(0);
      return;
    }
    std::set<std::string> wanted;
    for (const auto& cell : plan.cells) wanted.insert(key_of(cell));
    std::size_t number = 0;
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      if (++number > 1) {
        read_row(plan, line, number, wanted);
      } else if (line != header_of(plan)) {
        refuse_header(line, plan);
      }
    }
    if (begin == text.size()) return;
    // The last line has no end: a sweep was killed while writing it.
    const std::string piece = text.substr(begin);
    if (number == 0 && !header_of(plan).starts_with(piece)) refuse_header(piece, plan);
    if (number > 0 && std::ranges::none_of(wanted, [&](const std::string& key) {
          return (key + ",").starts_with(piece) || piece.starts_with(key + ",");
        })) {
      refuse_row(piece, number + 1);
    }
    dropped_row_ = number > 0;
    file_.truncate(begin);
  }

  // --fresh deletes rows of any sweep, but no other file.
  void check_any_sweep(const std::string& text, const SweepPlan& plan) const {
    const std::size_t end = text.find('\n');
    const std::string line = text.substr(0, end);
    const std::string columns = "," + key_of(sweep_result_columns());
    // A sweep killed while writing its header leaves the beginning of that header.
    const bool piece = end == std::string::npos && header_of(plan).starts_with(line);
    if (line.ends_with(columns) || piece) return;
    throw UserError({path_, 1, 1},
                    fmt::format("found {}; expected the header of a sweep, which ends with the "
                                "columns {}: --fresh deletes only the rows of a sweep; "
                                "choose another file with --out",
                                quoted(line, 200), columns.substr(1)));
  }

  [[noreturn]] void refuse_header(const std::string& line, const SweepPlan& plan) const {
    throw UserError({path_, 1, 1},
                    fmt::format("found {}; expected the columns {}: a sweep continues only its "
                                "own rows; choose another file with --out, or start over with "
                                "--fresh",
                                quoted(line, 200), header_of(plan)));
  }

  [[noreturn]] void refuse_row(const std::string& found, std::size_t number) const {
    throw UserError(
        {path_, number, 1},
        fmt::format("{} is not a cell of this sweep; choose another file with --out, or "
                    "start over with --fresh",
                    quoted(found, 200)));
  }

  void read_row(const SweepPlan& plan, const std::string& line, std::size_t number,
                const std::set<std::string>& wanted) {
    std::vector<std::string> fields;
    for (std::size_t from = 0; from <= line.size();) {
      const std::size_t comma = std::min(line.find(',', from), line.size());
      fields.push_back(line.substr(from, comma - from));
      from = comma + 1;
    }
    const std::size_t expected = plan.columns.size() + sweep_result_columns().size();
    if (fields.size() != expected) {
      throw UserError({path_, number, 1},
                      fmt::format("found {} fields; expected {}", fields.size(), expected));
    }
    environments_.insert(fields[expected - 3]);
    fields.resize(plan.columns.size());
    const std::string key = key_of(fields);
    if (!wanted.contains(key)) refuse_row(key, number);
    keys_.insert(key);
  }

  std::string path_;
  LockedFile& file_;
  std::set<std::string> keys_;
  std::set<std::string> environments_;
  bool dropped_row_ = false;
};

// Removes a file that did not exist before if nothing was written to it.
class NewFile {
 public:
  explicit NewFile(const std::string& path)
      : path_(path), there_(::access(path.c_str(), F_OK) == 0) {}
  ~NewFile() {
    std::error_code error;
    if (!there_ && std::filesystem::file_size(path_, error) == 0 && !error) {
      ::unlink(path_.c_str());
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

 private:
  std::string path_;
  bool there_;
};

// Order in which the cells are measured.
std::vector<std::size_t> random_order(const SweepPlan& plan, std::uint64_t seed) {
  Random random = Random::stream(seed, {0x5feeb});
  const auto shuffle = [&](std::vector<std::size_t>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      const auto other = random.integer(0, static_cast<std::int64_t>(i) - 1);
      std::swap(values[i - 1], values[static_cast<std::size_t>(other)]);
    }
  };
  std::map<std::size_t, std::vector<std::size_t>> blocks;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    blocks[plan.blocks.empty() ? i : plan.blocks[i]].push_back(i);
  }
  std::vector<std::size_t> names;
  for (const auto& [block, cells] : blocks) names.push_back(block);
  shuffle(names);
  std::vector<std::size_t> order;
  for (const std::size_t block : names) {
    shuffle(blocks[block]);
    order.insert(order.end(), blocks[block].begin(), blocks[block].end());
  }
  return order;
}

SweepPlan plan_of(const MeasurementBackend& backend, const WorkerProcess& worker) {
  if (worker.name() != backend.name) {
    throw UserError(fmt::format("the worker is one of '{}'; expected one of '{}'", worker.name(),
                                backend.name));
  }
  SweepPlan plan = backend.plan(worker.environment());
  check_cells(plan, backend.name);
  return plan;
}

}  // namespace

Quartiles quartiles_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

SweepProgress planned_sweep(const MeasurementBackend& backend, const SweepOptions& options) {
  const WorkerProcess worker(backend.command, "", options.start_s, options.clock);
  const SweepPlan plan = plan_of(backend, worker);
  SweepProgress progress{.total = plan.cells.size()};
  std::error_code error;
  if (options.fresh || !std::filesystem::exists(options.path, error)) return progress;
  const std::string text = read_text_file(options.path, kLargestSweepFile);
  for (const auto& cell : plan.cells) {
    // A row begins with its cell.
    if (text.find("\n" + key_of(cell) + ",") != std::string::npos) ++progress.found;
  }
  progress.done = progress.found;
  return progress;
}

SweepResult sweep(const MeasurementBackend& backend, const SweepOptions& options,
                  const std::function<void(const SweepProgress&)>& progress) {
  const std::string log = options.path + ".log";
  // Two sweeps at once would disturb each other, even while a worker starts.
  const NewFile made(options.path);
  LockedFile locked(options.path);
  auto worker =
      std::make_unique<WorkerProcess>(backend.command, log, options.start_s, options.clock);
  const std::string environment = joined(worker->environment());
  const SweepPlan plan = plan_of(backend, *worker);
  SweepFile file(locked, plan, options);
  SweepResult result;
  result.dropped_row = file.dropped_row();
  if (!file.environments().empty() && !file.environments().contains(environment)) {
    result.environment_note = *file.environments().begin();
  }
  result.progress = {file.rows(), file.rows(), plan.cells.size()};
  if (progress) progress(result.progress);
  const std::vector<std::size_t> order = random_order(plan, options.seed);
  int failures = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::vector<std::string>& cell = plan.cells[order[place]];
    if (file.has(key_of(cell))) continue;
    if (!worker || !worker->running()) {
      worker.reset();
      worker =
          std::make_unique<WorkerProcess>(backend.command, log, options.start_s, options.clock);
    }
    MeasureRequest request{options.warmup, options.repeats, options.most_s, {}};
    for (std::size_t i = 0; i < plan.columns.size(); ++i) request.cell[plan.columns[i]] = cell[i];
    const MeasureAnswer answer = worker->measure(request, options.timeout_s);
    file.append(fmt::format("{},{},{},{},{},{},{},{},{}", key_of(cell), to_string(answer.status),
                            statistics(answer.samples_s), place, std::time(nullptr), options.warmup,
                            environment, joined(answer.extra), plain(answer.message)));
    ++result.progress.done;
    const bool good = answer.status == MeasureStatus::Ok || answer.status == MeasureStatus::Refused;
    result.refused += answer.status == MeasureStatus::Refused ? 1 : 0;
    failures = good ? 0 : failures + 1;
    if (!good) {
      worker.reset();  // a failed worker may be in any state
      ++result.failed;
      result.last_failure =
          fmt::format("{} ({}): {}", key_of(cell), to_string(answer.status), answer.message);
    }
    if (progress) progress(result.progress);
    if (failures >= kMostFailures) {
      throw UserError(
          fmt::format("{} measurements in a row failed, the last one {}; the "
                      "worker's log is {}",
                      failures, result.last_failure, log));
    }
  }
  return result;
}

}  // namespace cclgym
