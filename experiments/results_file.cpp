#include "experiments/results_file.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "core/text_file.hpp"
#include "experiments/results.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 32;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UserError(fmt::format(
      "{}: {}; choose another folder with --out, or start over with --fresh", path, why));
}

}  // namespace

ResultsFile::ResultsFile(const std::string& path, const Experiment& experiment, bool fresh)
    : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot be opened for writing", errno);
  try {
    lock();
    if (fresh && ::ftruncate(file_, 0) != 0) fail("cannot be emptied", errno);
    if (!fresh) resume(experiment);
    if (::lseek(file_, 0, SEEK_END) == 0) write_all(result_header() + "\n");
  } catch (...) {
    ::close(file_);
    throw;
  }
}

ResultsFile::~ResultsFile() { ::close(file_); }

void ResultsFile::append(const std::string& line) { write_all(line + "\n"); }

void ResultsFile::lock() {
  // The workers of a run that was just killed may hold the file for some milliseconds more.
  constexpr int kTries = 25;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
    if (errno != EWOULDBLOCK && errno != EINTR) fail("cannot be locked", errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw UserError(path_ +
                  ": another run is writing this file; wait for it or choose another folder "
                  "with --out");
}

void ResultsFile::resume(const Experiment& experiment) {
  ResultTable table;
  try {
    table = read_results(path_);
  } catch (const UserError& error) {
    throw UserError(
        fmt::format("{}\n  a run goes on only with its own results; choose another "
                    "folder with --out, or start over with --fresh",
                    error.what()));
  }
  const std::string hash = experiment.hash();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const ResultRow& row = table.rows[i];
    if (row.experiment_hash != hash) {
      refuse(path_, fmt::format("has results of another experiment or version: line {} is of {}, "
                                "this experiment is {}",
                                i + 2, row.experiment_hash, hash));
    }
    if (i >= experiment.cells.size() || row.cell_key != cell_key(experiment, experiment.cells[i])) {
      refuse(path_, fmt::format("line {} is cell {}; expected {}", i + 2, quoted(row.cell_key, 200),
                                i < experiment.cells.size()
                                    ? quoted(cell_key(experiment, experiment.cells[i]), 200)
                                    : "the end of the file"));
    }
  }
  rows_found_ = table.rows.size();
  if (!table.truncated) return;
  const std::string text = read_text_file(path_, kLargestFile);
  const std::size_t last_break = text.rfind('\n');
  const std::size_t whole = last_break == std::string::npos ? 0 : last_break + 1;
  dropped_row_ = whole > 0;  // otherwise only a piece of the header, or nothing, was there
  if (::ftruncate(file_, static_cast<off_t>(whole)) != 0) fail("cannot be shortened", errno);
}

void ResultsFile::write_all(const std::string& text) {
  const off_t start = ::lseek(file_, 0, SEEK_END);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file_, text.data() + done, text.size() - done);
    if (written < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      // A full disk: leave whole rows only. If this fails, too, the next run drops the piece.
      [[maybe_unused]] const int ignored = ::ftruncate(file_, start);
      fail("cannot be written", error);
    }
    done += static_cast<std::size_t>(written);
  }
}

void ResultsFile::fail(const std::string& what, int error) const {
  throw UserError(fmt::format("{}: {}: {}", path_, what, std::generic_category().message(error)));
}

}  // namespace cclgym
