#include "experiments/measured/nccl_tests_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <set>

#include "core/counted.hpp"

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

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Positions of the numbers to read within a line of results.
struct Columns {
  std::size_t size = 0;
  std::size_t out_of_place_time = 0;
  std::optional<std::size_t> out_of_place_wrong;
  std::optional<std::size_t> in_place_time;
  std::size_t count = 0;
};

class NcclTestsReader {
 public:
  NcclTestsReader(const std::string& file, const MeasuredFileContext& context)
      : file_(file), context_(context) {}

  void line(std::string_view text, std::size_t number) {
    number_ = number;
    const std::vector<Word> words = words_of(text);
    if (words.empty()) return;
    if (first_.line == 0) {
      constexpr std::size_t kShown = 40;
      first_ = {file_, number, words.front().column};
      first_text_ = text.substr(first_.column - 1, kShown);
    }
    if (words.front().text.starts_with('#')) {
      comment(text, words);
    } else if (columns_ && number_of<std::uint64_t>(words.front().text)) {
      results(words);
    } else {
      program_line(words);
    }
  }

  std::vector<Measurement> take() {
    if (rows_.empty()) {
      if (columns_) throw UserError({file_, 0, 0}, "nccl-tests printed no line of results");
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

  void comment(std::string_view text, const std::vector<Word>& words) {
    const auto at = [&](std::size_t i) {
      return i < words.size() ? words[i].text : std::string_view();
    };
    if (at(1) == "nThread" || at(1) == "nThread:") {
      ranks_ = 0;  // a new run begins
      hosts_.clear();
      columns_.reset();
      return;
    }
    if (at(1) == "Rank") {
      for (std::size_t i = 2; i + 1 < words.size(); ++i) {
        if (at(i) != "on") continue;
        ++ranks_;
        hosts_.emplace(at(i + 1));
        return;
      }
    }
    constexpr std::string_view kStarting = "Collective test starting:";
    if (const std::size_t place = text.find(kStarting); place != std::string_view::npos) {
      const auto rest = words_of(text.substr(place + kStarting.size()));
      if (!rest.empty()) said_ = measured_collective(rest.front().text);
      return;
    }
    if (at(1) == "size" && at(2) == "count") heading(words);
    if (columns_ && !at(1).empty() && at(1).front() == '(') units(words);
  }

  // Reads "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong".
  void heading(const std::vector<Word>& words) {
    Columns columns;
    bool time_seen = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view name = words[i].text;
      if (name == "time") {
        if (time_seen) {
          columns.in_place_time = i - 1;
        } else {
          columns.out_of_place_time = i - 1;
        }
        time_seen = true;
      }
      const bool wrong = name == "#wrong" || name == "error" || name == "wrong";
      if (wrong && !columns.in_place_time) columns.out_of_place_wrong = i - 1;
    }
    if (!time_seen) fail(words.front(), "the heading of nccl-tests has no column 'time'");
    columns.count = words.size() - 1;
    columns_ = columns;
  }

  // Checks "# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)".
  void units(const std::vector<Word>& words) const {
    if (words[1].text != "(B)") {
      fail(words[1], fmt::format("sizes are in {}; expected (B)", words[1].text));
    }
    for (const Word& word : words) {
      const bool time =
          word.text == "(ms)" || word.text == "(ns)" || word.text == "(s)" || word.text == "(sec)";
      if (time) fail(word, fmt::format("times are in {}; expected (us)", word.text));
    }
  }

  // Reads "./all_reduce_perf -b 8 …" or "NCCL version 2.18.3+cuda12.1".
  void program_line(const std::vector<Word>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string_view word = words[i].text;
      if (word == "version" && i > 0 && words[i - 1].text == "NCCL" && i + 1 < words.size()) {
        const std::string_view release = words[i + 1].text;
        version_ = std::string(release.substr(0, release.find('+')));
      }
      if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos) {
        word.remove_prefix(slash + 1);
      }
      if (word.ends_with("_perf") && measured_collective(word)) said_ = measured_collective(word);
    }
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
    if (words.size() < columns_->count) {
      fail(words.front(),
           fmt::format("found {} fields; the heading has {}", words.size(), columns_->count));
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
    const auto collective = said_ ? said_ : context_.collective;
    if (!collective) {
      fail(words.front(),
           "the output does not name the collective; give it with "
           "--collective");
    }
    row.collective = *collective;
    const int ranks = ranks_ > 0 ? ranks_ : context_.ranks.value_or(0);
    if (ranks == 0) {
      fail(words.front(),
           "the output does not state the number of ranks ('#  Rank  0 … on "
           "HOST'); give it with --ranks");
    }
    if (ranks == 1) refuse_lone_rank(words.front());
    require_as_said("ranks", ranks, context_.ranks, words.front());
    row.ranks = ranks;
    row.nodes_stated = ranks_ > 0 || context_.nodes.has_value();
    row.nodes = ranks_ > 0 ? static_cast<int>(hosts_.size()) : context_.nodes.value_or(1);
    require_as_said("nodes", row.nodes, context_.nodes, words.front());
    if (row.nodes < 1 || row.ranks % row.nodes != 0) {
      fail(words.front(),
           fmt::format("{} ranks do not fill {} nodes evenly", row.ranks, row.nodes));
    }
    row.system = context_.system.value_or("");
    row.nccl_version = !version_.empty() ? version_ : context_.nccl_version.value_or("");
    if (context_.nccl_version && row.nccl_version != *context_.nccl_version) {
      fail(words.front(), fmt::format("the output is of NCCL {}, but --nccl says {}; leave it out",
                                      row.nccl_version, *context_.nccl_version));
    }
    row.where = {file_, number_, words.front().column};
    rows_.push_back(std::move(row));
  }

  // An option must not contradict the output.
  void require_as_said(std::string_view name, int printed, const std::optional<int>& option,
                       const Word& word) const {
    if (!option || *option == printed) return;
    const std::string_view one = name.substr(0, name.size() - 1);
    fail(word, fmt::format("the list of devices has {}, but --{} says {}; leave it out",
                           counted(printed, one), name, *option));
  }

  // Times of one rank tell nothing about calls of several, even if mpirun started eight such runs.
  [[noreturn]] void refuse_lone_rank(const Word& word) const {
    const std::string ranks =
        context_.ranks ? fmt::format(", but --ranks says {}; expected the lines of all {}",
                                     *context_.ranks, *context_.ranks)
                       : "; expected at least 2";
    fail(word, fmt::format("the list of devices has 1 rank ('#  Rank  0 … on HOST'){} "
                           "(nccl-tests built without MPI=1 runs every process alone)",
                           ranks));
  }

  const std::string& file_;
  const MeasuredFileContext& context_;
  std::size_t number_ = 0;
  SourceLocation first_;  // of the first line that is not empty
  std::string first_text_;
  std::optional<Columns> columns_;
  std::optional<CollectiveKind> said_;
  std::string version_;
  int ranks_ = 0;
  std::set<std::string, std::less<>> hosts_;
  std::vector<Measurement> rows_;
};

}  // namespace

std::vector<Measurement> read_nccl_tests_text(std::string_view text, const std::string& file,
                                              const MeasuredFileContext& context) {
  NcclTestsReader reader(file, context);
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.line(line, ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.take();
}

}  // namespace cclgym
