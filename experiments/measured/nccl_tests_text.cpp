#include "experiments/measured/nccl_tests_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>
#include <utility>

#include "collectives/contract.hpp"
#include "core/counted.hpp"
#include "experiments/measured/log_lines.hpp"
#include "experiments/measured/measured_run.hpp"

namespace cclgym {

namespace {

struct Word {
  std::string_view text;
  std::size_t column = 0;  // from 1
};

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == ' ' || line[i] == '\t') {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && line[end] != ' ' && line[end] != '\t') ++end;
    words.push_back({line.substr(i, end - i), i + 1});
    i = end;
  }
  return words;
}

// Positions of the numbers to read within a line of results.
struct Columns {
  std::size_t size = 0;
  std::size_t out_of_place_time = 0;
  std::optional<std::size_t> out_of_place_wrong;
  std::optional<std::size_t> in_place_time;
  std::optional<std::size_t> elements;
  std::optional<std::size_t> type;
  std::optional<std::size_t> redop;
  std::optional<std::size_t> root;
  std::size_t count = 0;
};

// A line of the log, or a row that the lines of others cut, put together.
struct Line {
  std::size_t number = 0;
  std::size_t column = 1;
  std::string text;
};

// Place of the first byte of NCCL_DEBUG's output ("alpha0:7000:7100 [0] NCCL INFO …"), which may
// stand behind a part of a row; npos if the line has none.
std::size_t debug_start(std::string_view text, const std::vector<MeasuredDevice>& devices) {
  constexpr std::array<std::string_view, 4> kLevels{"NCCL INFO", "NCCL WARN", "NCCL TRACE",
                                                    "NCCL ERROR"};
  std::size_t at = std::string_view::npos;
  for (const std::string_view level : kLevels) at = std::min(at, text.find(level));
  if (at == std::string_view::npos) return at;
  const std::size_t start = nccl_thread_start(text, at);
  const std::string_view word = text.substr(start, at - start);
  const std::string_view host = word.substr(0, word.find_first_of(": ["));
  for (const MeasuredDevice& device : devices) {
    if (host.ends_with(device.host)) return start + host.size() - device.host.size();
  }
  // A number of the row before it: "-1alpha0:7000:7100".
  const std::size_t letters = host.find_first_not_of("-.0123456789");
  return start + (letters == std::string_view::npos ? 0 : letters);
}

// True for "16,777,216", in which a page or a spreadsheet separated the thousands.
bool grouped_digits(std::string_view text) {
  return text.find(',') != std::string_view::npos &&
         text.find_first_not_of("0123456789,") == std::string_view::npos && text.front() != ',' &&
         text.back() != ',';
}

// The text without a time at its end, which NCCL may print before the host: "[2026-05-04 08:00:01]
// ".
std::string_view without_time(std::string_view text) {
  const std::size_t end = text.find_last_not_of(' ');
  if (end == std::string_view::npos || text[end] != ']') return text;
  const std::size_t open = text.rfind('[', end);
  return open == std::string_view::npos ? text : text.substr(0, open);
}

class NcclTestsReader {
 public:
  /// `cut_line`: number of a last line without an end, of a run that was stopped; 0: none.
  NcclTestsReader(const std::string& file, const MeasuredFileContext& context, std::size_t cut_line)
      : file_(file), context_(context), cut_line_(cut_line) {}

  void line(const LogLine& log) {
    const std::size_t start = debug_start(log.text, run_.devices);
    if (!short_row_.text.empty()) {
      // A warning of NCCL begins with a line break.
      const bool cut = start != std::string_view::npos &&
                       words_of(std::string_view(log.text).substr(0, start)).empty();
      if (!cut) fail_short_row();
      std::swap(cut_, short_row_);
      short_row_ = {};
    }
    if (start == std::string_view::npos) {
      whole_line(log.number, log.column, log.text);
      return;
    }
    debug_line(std::string_view(log.text).substr(start));
    const std::string_view front = without_time(std::string_view(log.text).substr(0, start));
    if (words_of(front).empty()) return;
    if (cut_.text.empty()) {
      cut_ = {log.number, log.column, std::string(front)};
    } else {
      cut_.text += front;
    }
  }

  std::vector<Measurement> take() {
    end_run();
    if (rows_.empty()) {
      if (heading_seen_) throw UserError({file_, 0, 0}, "nccl-tests printed no line of results");
      constexpr const char* kExpected =
          "expected CSV with a header line that has the column time_us_median or time_us, or the "
          "output of nccl-tests, which has the heading '# size count type'";
      if (first_.line == 0) throw UserError({file_, 0, 0}, fmt::format("is empty; {}", kExpected));
      throw UserError(first_, fmt::format("found '{}'; {}", first_text_, kExpected));
    }
    return std::move(rows_);
  }

 private:
  [[noreturn]] void fail(const Word& word, const std::string& message) const {
    throw UserError({file_, number_, word.column}, message);
  }

  void whole_line(std::size_t number, std::size_t column, std::string_view text) {
    Line joined;
    if (!cut_.text.empty()) {
      std::swap(joined, cut_);
      joined.text += text;
      was_cut_ = true;
    } else {
      joined = {number, column, std::string(text)};
    }
    number_ = joined.number;
    row_ = std::move(joined);
    plain_line(row_.text, row_.column);
    was_cut_ = false;
  }

  void plain_line(std::string_view text, std::size_t column) {
    std::vector<Word> words = words_of(text);
    if (words.empty()) return;
    for (Word& word : words) word.column += column - 1;
    if (first_.line == 0) {
      constexpr std::size_t kShown = 40;
      first_ = {file_, number_, words.front().column};
      first_text_ = text.substr(words.front().column - column, kShown);
    }
    if (columns_ && number_of<std::uint64_t>(words.front().text)) {
      results(words);
      return;
    }
    if (columns_ && grouped_digits(words.front().text)) {
      fail(words.front(), fmt::format("size is {}; expected a number without separators",
                                      quoted(words.front().text)));
    }
    commented_ = words.front().text.starts_with('#');
    // Pages and chats drop the # of a heading.
    while (!words.empty() && words.front().text.starts_with('#') &&
           words.front().text != "#wrong") {
      words.front().text.remove_prefix(1);
      if (!words.front().text.empty()) break;
      words.erase(words.begin());
    }
    if (!words.empty() && !comment(text, words)) program_line(text, words);
  }

  // A run ends where the next begins: at its first line after a heading or a list of devices.
  void begin_run() {
    if (columns_ || !run_.devices.empty()) end_run();
  }

  [[noreturn]] void fail_short_row() const {
    const std::vector<Word> words = words_of(short_row_.text);
    throw UserError(
        {file_, short_row_.number, words.front().column + short_row_.column - 1},
        fmt::format("found {} fields; the heading has {} (a log that was cut ends so: delete the "
                    "line; if output of NCCL_DEBUG stands in a row, set NCCL_DEBUG_FILE for the "
                    "run)",
                    words.size(), columns_->count));
  }

  void end_run() {
    if (!short_row_.text.empty()) fail_short_row();
    if (!cut_.text.empty()) {
      number_ = cut_.number;
      fail({cut_.text, cut_.column},
           "the row is cut off by output of NCCL_DEBUG; set "
           "NCCL_DEBUG_FILE for the run");
    }
    for (std::size_t i = 0; i < of_run_.size(); ++i) {
      Measurement& row = of_run_[i];
      run_.complete(row, context_);
      check_bandwidths(row, bandwidths_[i].first, bandwidths_[i].second);
      rows_.push_back(std::move(row));
    }
    of_run_.clear();
    bandwidths_.clear();
    MeasuredRun next;
    next.version = run_.version;
    next.variables = std::move(run_.variables);
    next.variables.next_run();
    run_ = std::move(next);
    columns_.reset();
  }

  // Returns false for a line that nccl-tests did not print.
  bool comment(std::string_view text, const std::vector<Word>& words) {
    const auto at = [&](std::size_t i) {
      return i < words.size() ? words[i].text : std::string_view();
    };
    constexpr std::string_view kStarting = "Collective test starting:";
    if (at(0) == "nccl-tests" || at(0) == "rccl-tests") {
      begin_run();
      for (const Word& word : words) release_code(word.text);
    } else if (at(0) == "nThread" || at(0) == "nThread:") {
      begin_run();
      settings(words);
    } else if (at(0) == "Rank") {
      device(words);
    } else if (!columns_ && !run_.devices.empty() && (at(0) == "..." || at(0) == "…")) {
      fail(words.front(),
           "the list of devices is cut; expected the lines of all ranks, or no list and --ranks");
    } else if (const std::size_t place = text.find(kStarting); place != std::string_view::npos) {
      begin_run();
      const auto rest = words_of(text.substr(place + kStarting.size()));
      if (!rest.empty()) run_.collective = collective_of(rest.front().text);
      if (!rest.empty() && !run_.collective) run_.unknown = rest.front().text;
    } else if (text.find("Collective test concluded:") != std::string_view::npos) {
      if (columns_) end_run();  // the name is not that of the next run
    } else if (at(0) == "size" && at(1) == "count") {
      heading(words);
    } else if (columns_ && at(0).starts_with('(') && text.find("/s)") != std::string_view::npos) {
      units(words);
    } else if (at(0) == "Out" && at(2) == "bounds") {
      out_of_bounds(words);
    } else {
      return at(0) == "Using" || at(0) == "Avg" || at(0) == "out-of-place";
    }
    return true;
  }

  // Reads "nThread 1 nGpus 1 minBytes 8 … iters: 20 agg iters: 1 validation: 1 graph: 0".
  void settings(const std::vector<Word>& words) {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const int value = number_of<int>(words[i + 1].text).value_or(0);
      if (words[i].text == "iters:" && words[i - 1].text == "agg" && value > 1) {
        run_.notes.push_back(fmt::format(
            "{} calls ran in a group (agg iters); the simulation is of single calls", value));
      }
      if (words[i].text == "graph:" && value > 0) {
        run_.notes.emplace_back("CUDA graphs launched the calls; the simulation launches each");
      }
    }
  }

  // Checks the ranks by the ratio of the two bandwidths, which nccl-tests computes from them.
  void check_bandwidths(Measurement& row, double algbw, double busbw) const {
    constexpr double kEnoughDigits = 10;  // GB/s with two decimals
    constexpr double kTolerance = 0.005;
    if (algbw < kEnoughDigits || row.ranks < 2) return;
    const double expected = bus_bandwidth_factor(row.collective, row.ranks);
    if (std::abs(busbw / algbw - expected) <= kTolerance * expected) return;
    row.notes.push_back(
        fmt::format("the bandwidths of the output are not those of {}: busbw is {:.3f} of algbw, "
                    "expected {:.3f}",
                    counted(row.ranks, "rank"), busbw / algbw, expected));
  }

  // "./build/all_reduce_perf" or, with an option of the build, "all_reduce_perf_mpi".
  static std::optional<CollectiveKind> collective_of(std::string_view program) {
    if (const std::size_t slash = program.rfind('/'); slash != std::string_view::npos) {
      program.remove_prefix(slash + 1);
    }
    constexpr std::string_view kPerf = "_perf";
    const std::size_t perf = program.find(kPerf);
    if (perf == std::string_view::npos) return std::nullopt;
    return measured_collective(program.substr(0, perf + kPerf.size()));
  }

  // "nccl-library=22809", "rccl-library=22707"
  void release_code(std::string_view word) {
    constexpr std::string_view kLibrary = "ccl-library=";
    if (word.empty() || !word.substr(1).starts_with(kLibrary)) return;
    word.remove_prefix(1);
    if (const auto code = number_of<int>(word.substr(kLibrary.size()))) {
      run_.set_version_code(*code);
    }
  }

  // Reads "Rank  0 Group  0 Pid   7000 on     alpha0 device  0 [0000:10:00] NVIDIA H100 80GB HBM3".
  void device(const std::vector<Word>& words) {
    MeasuredDevice device;
    std::size_t i = 1;
    if (i >= words.size()) return;
    const auto rank = number_of<int>(words[i].text);
    if (!rank) return;
    device.rank = *rank;
    for (; i + 1 < words.size() && words[i].text != "on"; ++i) {
      if (words[i].text == "Group") device.group = number_of<int>(words[i + 1].text).value_or(0);
    }
    if (i + 1 >= words.size()) return;
    device.host = words[++i].text;
    for (++i; i < words.size() && words[i].text != "device"; ++i) {
    }
    if (i + 1 >= words.size()) return;
    device.place = words[++i].text;
    if (i + 1 < words.size() && words[i + 1].text.starts_with('[')) {
      device.place += words[++i].text;
    }
    for (++i; i < words.size(); ++i) {
      if (!device.model.empty()) device.model += ' ';
      device.model += words[i].text;
    }
    // ROCm's name for a GPU whose firmware has none, such as an MI300X.
    if (device.model == "AMD Radeon Graphics") device.model.clear();
    if (columns_) end_run();
    run_.devices.push_back(std::move(device));
  }

  // Reads "size count type redop root time algbw busbw #wrong time algbw busbw #wrong".
  void heading(const std::vector<Word>& words) {
    Columns columns;
    bool time_seen = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view name = words[i].text;
      if (name == "count") columns.elements = i;
      if (name == "type") columns.type = i;
      if (name == "redop") columns.redop = i;
      if (name == "root") columns.root = i;
      if (name == "time") {
        if (time_seen) {
          columns.in_place_time = i;
        } else {
          columns.out_of_place_time = i;
        }
        time_seen = true;
      }
      const bool wrong = name == "#wrong" || name == "error" || name == "wrong";
      if (wrong && !columns.in_place_time) columns.out_of_place_wrong = i;
    }
    if (!time_seen) fail(words.front(), "the heading of nccl-tests has no column 'time'");
    columns.count = words.size();
    columns_ = columns;
    heading_seen_ = true;
  }

  // Checks "(B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)".
  void units(const std::vector<Word>& words) const {
    if (words[0].text != "(B)") {
      fail(words[0], fmt::format("sizes are in {}; expected (B)", words[0].text));
    }
    for (const Word& word : words) {
      const bool time =
          word.text == "(ms)" || word.text == "(ns)" || word.text == "(s)" || word.text == "(sec)";
      if (time) fail(word, fmt::format("times are in {}; expected (us)", word.text));
    }
  }

  // Checks "Out of bounds values : 0 OK".
  void out_of_bounds(const std::vector<Word>& words) const {
    for (const Word& word : words) {
      const auto count = number_of<std::uint64_t>(word.text);
      if (count && *count > 0) {
        fail(word, fmt::format("the summary says that {} values were wrong; times of a wrong run "
                               "are meaningless",
                               *count));
      }
    }
  }

  // Reads "./all_reduce_perf -b 8 …", with variables in front, or "NCCL version 2.18.3+cuda12.1".
  // A command in front of it may export variables, for all later runs.
  void program_line(std::string_view text, const std::vector<Word>& words) {
    release(words);
    const bool variables = text.find("NCCL_") != std::string_view::npos;
    const auto program = std::ranges::find_if(
        words, [](const Word& word) { return collective_of(word.text).has_value(); });
    if (columns_ && (variables || program != words.end())) end_run();
    if (program != words.end()) {
      run_.collective = collective_of(program->text);
      program_options(program + 1, words.end());
    }
    if (words.front().text == "echo") return;
    // A prompt of root is a #, too.
    if (program != words.end() || !commented_) {
      run_.variables.command(text);
    } else if (variables && text.find('=') != std::string_view::npos) {
      run_.notes.push_back(
          fmt::format("line {} is a comment, whose variables are not used: {}", number_, text));
    }
  }

  // Options of nccl-tests that its output does not repeat.
  template <class Iterator>
  void program_options(Iterator word, Iterator end) {
    for (; word != end && word + 1 != end; ++word) {
      if (number_of<int>((word + 1)->text).value_or(0) <= 0) continue;
      if (word->text == "-R" || word->text == "--local_register") {
        run_.notes.push_back(
            fmt::format("the buffers were registered ({} {}), for which NCCL has other kernels; "
                        "the simulation is of buffers that were not",
                        word->text, (word + 1)->text));
      }
      if (word->text == "-D" || word->text == "--device_implementation") {
        run_.notes.push_back(
            fmt::format("kernels of the test ran the calls ({} {}); the simulation is of NCCL's",
                        word->text, (word + 1)->text));
      }
    }
  }

  void release(const std::vector<Word>& words) {
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const bool library = words[i - 1].text == "NCCL" || words[i - 1].text == "RCCL";
      if (words[i].text != "version" || !library) continue;
      // RCCL prints "RCCL version : 2.27.7-HEAD:4cf9a23".
      const bool colon = words[i + 1].text == ":" && i + 2 < words.size();
      const std::string_view found = words[i + (colon ? 2 : 1)].text;
      if (!number_of<int>(found.substr(0, found.find('.')))) continue;
      run_.version = std::string(found.substr(0, found.find_first_not_of("0123456789.")));
    }
  }

  // Reads "Using network Socket" and "Selected Provider is efa".
  void network(const std::vector<Word>& words) {
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      const std::string_view last = words[i + 2].text;
      if (words[i].text == "Using" && words[i + 1].text == "network") {
        if (last == "Socket") run_.network = NetworkKind::Tcp;
        if (last.starts_with("IB")) run_.network = NetworkKind::InfiniBand;
        // Google's.
        if (last.starts_with("FasTrak") || last.starts_with("GPUDirectTCPX")) {
          run_.network = NetworkKind::Other;
        }
      }
      const bool provider = words[i].text == "Provider" || words[i].text == "provider";
      if (!provider || words[i + 1].text != "is") continue;
      if (last.starts_with("efa")) run_.network = NetworkKind::Efa;
      if (last.starts_with("cxi")) run_.network = NetworkKind::Slingshot;
      if (last.starts_with("tcp")) run_.network = NetworkKind::Tcp;
    }
  }

  // Reads "alpha0:7000:7100 [0] NCCL INFO NCCL_ALGO set by environment to Tree".
  void debug_line(std::string_view text) {
    const std::vector<Word> words = words_of(text);
    release(words);
    network(words);
    for (std::size_t i = 0; i + 5 < words.size(); ++i) {
      const bool set = words[i + 1].text == "set" && words[i + 2].text == "by" &&
                       words[i + 3].text == "environment" && words[i + 4].text == "to";
      if (set) run_.variables.set(words[i].text, words[i + 5].text);
    }
  }

  [[nodiscard]] PrintedCall printed(const std::vector<Word>& words) const {
    const auto text = [&](const std::optional<std::size_t>& at) {
      return at ? words[*at].text : std::string_view();
    };
    return {.count = number_of<std::uint64_t>(text(columns_->elements)).value_or(0),
            .type = std::string(text(columns_->type)),
            .redop = std::string(text(columns_->redop)),
            .root = number_of<int>(text(columns_->root))};
  }

  double time_of(const Word& word) const {
    const std::optional<double> us = number_of<double>(word.text);
    if (!us || !std::isfinite(*us) || *us <= 0) {
      fail(word,
           fmt::format("time is {}; expected a number of microseconds > 0", quoted(word.text)));
    }
    return *us * 1e-6;
  }

  void results(const std::vector<Word>& words) {
    if (words.size() < columns_->count && number_ == cut_line_ && !of_run_.empty()) {
      of_run_.back().notes.push_back(
          fmt::format("the log ends inside a row, line {}, which is left out", number_));
      return;
    }
    if (words.size() < columns_->count || (was_cut_ && words.size() > columns_->count)) {
      short_row_ = row_;
      if (words.size() > columns_->count) fail_short_row();
      return;
    }
    Measurement row;
    row.bytes = *number_of<std::uint64_t>(words.front().text);
    if (row.bytes == 0) return;
    // A test that only runs in place prints N/A for the other time.
    const Word& out_of_place = words[columns_->out_of_place_time];
    const bool in_place = out_of_place.text == "N/A" && columns_->in_place_time;
    row.time_s = time_of(in_place ? words[*columns_->in_place_time] : out_of_place);
    row.time_us = row.time_s * 1e6;
    if (columns_->out_of_place_wrong && !in_place) {
      const Word& wrong = words[*columns_->out_of_place_wrong];
      const std::optional<double> count = number_of<double>(wrong.text);
      // Old releases print the max error of floating-point numbers here, as 1e-07.
      if (count && *count >= 1) {
        fail(wrong,
             fmt::format("nccl-tests found {} wrong values; times of a wrong run are meaningless",
                         wrong.text));
      }
    }
    row.where = {file_, number_, words.front().column};
    row.printed = printed(words);
    of_run_.push_back(std::move(row));
    // algbw and busbw stand behind the time.
    const std::size_t time = in_place ? *columns_->in_place_time : columns_->out_of_place_time;
    const auto bandwidth = [&](std::size_t at) {
      return at < words.size() ? number_of<double>(words[at].text).value_or(0) : 0;
    };
    bandwidths_.emplace_back(bandwidth(time + 1), bandwidth(time + 2));
  }

  const std::string& file_;
  const MeasuredFileContext& context_;
  std::size_t cut_line_;
  std::size_t number_ = 0;
  SourceLocation first_;  // of the first line that is not empty
  std::string first_text_;
  Line row_;                // the line that is read
  Line short_row_;          // a row with too few fields, whose rest follows if NCCL's output cut it
  Line cut_;                // first part of a row whose rest follows
  bool was_cut_ = false;    // the line was put together
  bool commented_ = false;  // it begins with #
  bool heading_seen_ = false;
  std::optional<Columns> columns_;
  MeasuredRun run_;
  std::vector<Measurement> of_run_;
  std::vector<std::pair<double, double>> bandwidths_;  // algbw and busbw of these rows, GB/s
  std::vector<Measurement> rows_;
};

}  // namespace

std::vector<Measurement> read_nccl_tests_text(std::string_view text, const std::string& file,
                                              const MeasuredFileContext& context) {
  const bool cut = !text.empty() && text.back() != '\n';
  const auto ends = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  NcclTestsReader reader(file, context, cut ? ends + 1 : 0);
  for_each_log_line(text, [&](const LogLine& line) { reader.line(line); });
  return reader.take();
}

}  // namespace cclgym
