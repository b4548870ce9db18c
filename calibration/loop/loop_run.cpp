#include "calibration/loop/loop_run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <thread>

#include "calibration/measure/worker_process.hpp"
#include "core/error.hpp"
#include "core/files/csv.hpp"
#include "core/files/text_file.hpp"
#include "core/progress.hpp"

namespace cclgym {

namespace {

using nlohmann::json;

constexpr double kStart_s = 60;
// The longest time between two lines of the worker: connections of all algorithms are made first.
constexpr double kSilence_s = 120;

const std::array<CsvColumn<LoopRow>, 12>& row_columns() {
  static const std::array<CsvColumn<LoopRow>, 12> columns{
      {{"at_s", &LoopRow::at_s},
       {"iteration", &LoopRow::iteration},
       {"call", &LoopRow::call},
       {"collective", &LoopRow::collective},
       {"size_bytes", &LoopRow::size_bytes},
       {"lane", &LoopRow::lane},
       {"algorithm", &LoopRow::algorithm},
       {"segment_bytes", &LoopRow::segment_bytes},
       {"time_us", &LoopRow::time_us},
       {"late", &LoopRow::late},
       {"state", &LoopRow::state},
       {"received_bytes", &LoopRow::received_bytes}}};
  return columns;
}

const std::array<CsvColumn<LoopHappening>, 4>& happening_columns() {
  static const std::array<CsvColumn<LoopHappening>, 4> columns{{{"at_s", &LoopHappening::at_s},
                                                                {"what", &LoopHappening::what},
                                                                {"label", &LoopHappening::label},
                                                                {"call", &LoopHappening::call}}};
  return columns;
}

const std::array<CsvColumn<LoopAgreement>, 8>& agreement_columns() {
  static const std::array<CsvColumn<LoopAgreement>, 8> columns{
      {{"lane", &LoopAgreement::lane},
       {"calls", &LoopAgreement::calls},
       {"changes", &LoopAgreement::changes},
       {"dropped", &LoopAgreement::dropped},
       {"waits", &LoopAgreement::waits},
       {"longest_wait_s", &LoopAgreement::longest_wait_s},
       {"states", &LoopAgreement::states},
       {"off", &LoopAgreement::off}}};
  return columns;
}

template <class Row, std::size_t N>
std::string csv_text(const std::array<CsvColumn<Row>, N>& columns, const std::vector<Row>& rows) {
  std::string text = csv_header(columns) + "\n";
  for (const Row& row : rows) text += csv_line(columns, row) + "\n";
  return text;
}

template <class Row, std::size_t N>
CsvRows<Row> read_rows(const std::array<CsvColumn<Row>, N>& columns,
                       const std::filesystem::path& path) {
  constexpr std::size_t kLargestFile = std::size_t{1} << 30;
  return parse_csv(read_text_file(path.string(), kLargestFile), path.string(), columns, {});
}

std::vector<LoopRow> read_calls(const std::filesystem::path& path) {
  CsvRows<LoopRow> read = read_rows(row_columns(), path);
  for (std::size_t i = 0; i < read.rows.size(); ++i) {
    const LoopRow& row = read.rows[i];
    if (row.time_us > 0 && std::isfinite(row.time_us) && std::isfinite(row.at_s)) continue;
    throw UserError(read.where[i], fmt::format("time_us is {} and at_s is {}; expected a time > 0, "
                                               "and finite numbers",
                                               row.time_us, row.at_s));
  }
  return std::move(read.rows);
}

/// Runs the commands of the events at their times, in a thread of its own.
class EventRunner {
 public:
  explicit EventRunner(const std::vector<LoopEvent>& events) : events_(events) {}
  ~EventRunner() { stop(); }
  EventRunner(const EventRunner&) = delete;
  EventRunner& operator=(const EventRunner&) = delete;

  void start() {
    begin_s_ = steady_now_s();
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  /// Changes that were made, after stop().
  [[nodiscard]] const std::vector<LoopHappening>& done() const { return done_; }
  /// The command that failed; empty if none did. May be called while the thread runs.
  [[nodiscard]] std::string failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  void run() {
    for (const LoopEvent& event : events_) {
      {
        std::unique_lock lock(mutex_);
        const double wait_s = begin_s_ + event.at_s - steady_now_s();
        changed_.wait_for(lock, std::chrono::duration<double>(wait_s), [&] { return ending_; });
        if (ending_) return;
      }
      done_.push_back({.at_s = steady_now_s() - begin_s_, .what = "change", .label = event.label});
      if (event.run.empty()) continue;
      // Commands must not read the terminal, or write between the tables.
      const int status = std::system(("{ " + event.run + "\n} </dev/null >&2").c_str());
      if (status == 0) continue;
      const std::lock_guard lock(mutex_);
      failed_ = fmt::format("'{}' failed with status {}", event.run,
                            WIFEXITED(status) ? WEXITSTATUS(status) : status);
      return;
    }
  }

  const std::vector<LoopEvent>& events_;
  std::vector<LoopHappening> done_;
  double begin_s_ = 0;
  mutable std::mutex mutex_;  ///< guards ending_ and failed_
  std::condition_variable changed_;
  bool ending_ = false;
  std::string failed_;
  std::thread thread_;
};

// A row of the worker, as described in calibration/mpi/mpi_loop.hpp, with as many decimals as a
// measurement has.
LoopRow row_of(const json& row, const LoopPlan& plan) {
  const auto call = row.at(2).get<std::size_t>();
  const LoopPlanCall& planned = plan.calls.at(call);
  const MpiConfig& config = planned.configs.at(row.at(4).get<std::size_t>());
  return {.at_s = std::round(row.at(0).get<double>() * 1e3) / 1e3,
          .iteration = row.at(1).get<std::int64_t>(),
          .call = static_cast<std::int64_t>(call),
          .collective = std::string(to_string(planned.call.collective)),
          .size_bytes = planned.call.bytes,
          .lane = plan.lanes.at(row.at(3).get<std::size_t>()).name,
          .algorithm = config.algorithm,
          .segment_bytes = config.segment_bytes,
          .time_us = std::round(row.at(5).get<double>() * 10) / 10,
          .late = row.at(6).get<double>() > 0 ? 1 : 0,
          .state = row.at(7).get<std::int64_t>(),
          .received_bytes = row.at(8).get<double>()};
}

// The answer to joined calls, as described in calibration/mpi/mpi_loop.hpp.
std::string choose(const json& joined, PolicyChooser& chooser) {
  json alarms = json::array();
  for (const json& call : joined) {
    const bool alarm = chooser.observe({.group = call.at(1).get<std::size_t>(),
                                        .config = call.at(2).get<std::size_t>(),
                                        .time_s = call.at(3).get<double>(),
                                        .bytes = call.at(4).get<double>()});
    if (alarm) alarms.push_back(call.at(0));
  }
  return json{{"table", chooser.table()}, {"alarms", alarms}}.dump();
}

void add_result(const json& result, LoopRecord& record) {
  for (const json& lane : result.at("lanes")) {
    if (!lane.contains("changes")) continue;
    const auto name = lane.at("name").get<std::string>();
    record.agreement.push_back({.lane = name,
                                .calls = lane.at("calls").get<std::uint64_t>(),
                                .changes = lane.at("changes").get<std::uint64_t>(),
                                .dropped = lane.at("dropped").get<std::uint64_t>(),
                                .waits = lane.at("waits").get<std::uint64_t>(),
                                .longest_wait_s = lane.at("longest_wait_s").get<double>(),
                                .states = lane.value("states", std::uint64_t{0}),
                                .off = lane.at("off").get<std::string>()});
    for (const json& alarm : lane.at("alarms")) {
      record.happenings.push_back({.at_s = alarm.at(1).get<double>(),
                                   .what = "alarm",
                                   .label = name,
                                   .call = alarm.at(0).get<std::int64_t>()});
    }
  }
}

}  // namespace

LoopRecord run_loop(const LoopConfig& config, const LoopPlan& plan,
                    const std::vector<std::string>& launch, const std::string& log,
                    const std::string& partial, const LoopWatch& watch) {
  const MeasurementBackend backend = mpi_backend({}, launch);
  WorkerProcess worker(backend.command, log, kStart_s);
  if (worker.name() != backend.name) {
    throw UserError(fmt::format("the worker is '{}'; expected '{}'", worker.name(), backend.name));
  }
  const auto found = worker.environment().find("ranks");
  if (found == worker.environment().end() || found->second != std::to_string(plan.ranks)) {
    throw UserError(fmt::format("the launcher started {} ranks, but the sweeps are of {}",
                                found == worker.environment().end() ? "no" : found->second,
                                plan.ranks));
  }
  LoopRecord record;
  EventRunner events(config.events);
  std::ofstream part;
  const auto heard = [&](const std::string& line) {
    const json message = json::parse(line);
    if (message.contains("begun")) {
      watch.begun();
      part.open(partial, std::ios::binary | std::ios::trunc);
      part << csv_header(row_columns()) << '\n' << std::flush;
      if (!part) throw UserError(fmt::format("'{}' cannot be written", partial));
      events.start();
    }
    if (message.contains("joined")) worker.tell(choose(message.at("joined"), *plan.chooser));
    if (!message.contains("rows")) return;
    std::string lines;
    for (const json& row : message.at("rows")) {
      record.rows.push_back(row_of(row, plan));
      lines += csv_line(row_columns(), record.rows.back()) + "\n";
    }
    part << lines << std::flush;
    if (!record.rows.empty()) watch.progress(record.rows.back().at_s);
    if (const std::string failed = events.failed(); !failed.empty()) throw UserError(failed);
  };
  const std::string result = worker.converse("loop", loop_request(config, plan), heard, kSilence_s);
  events.stop();
  if (const std::string failed = events.failed(); !failed.empty()) throw UserError(failed);
  record.happenings = events.done();
  add_result(json::parse(result), record);
  for (LoopHappening& one : record.happenings) one.at_s = std::round(one.at_s * 1e3) / 1e3;
  std::ranges::stable_sort(record.happenings, {}, &LoopHappening::at_s);
  return record;
}

void write_loop_record(const LoopRecord& record, const std::string& folder) {
  const std::filesystem::path in(folder);
  write_text_file((in / kLoopEventsFile).string(),
                  csv_text(happening_columns(), record.happenings));
  write_text_file((in / kLoopAgreementFile).string(),
                  csv_text(agreement_columns(), record.agreement));
  write_text_file((in / kLoopCallsFile).string(), csv_text(row_columns(), record.rows));
}

LoopRecord read_loop_record(const std::string& folder) {
  const std::filesystem::path in(folder);
  return {.rows = read_calls(in / kLoopCallsFile),
          .happenings = read_rows(happening_columns(), in / kLoopEventsFile).rows,
          .agreement = read_rows(agreement_columns(), in / kLoopAgreementFile).rows};
}

}  // namespace cclgym
