#include "experiments/measured/osu_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <optional>

#include "core/split.hpp"
#include "experiments/measured/log_lines.hpp"
#include "experiments/measured/measured_run.hpp"

namespace cclgym {

namespace {

// A benchmark by the words of its title.
struct OsuTest {
  std::string_view title;
  CollectiveKind collective;
  bool per_rank;  ///< OSU's size is a part of nccl-tests' size
};

constexpr std::array<OsuTest, 8> kOsuTests{{
    {"Allreduce", CollectiveKind::AllReduce, false},
    {"Allgather", CollectiveKind::AllGather, true},
    {"Reduce_scatter", CollectiveKind::ReduceScatter, false},
    {"Broadcast", CollectiveKind::Broadcast, false},
    {"Reduce", CollectiveKind::Reduce, false},
    {"Gather", CollectiveKind::Gather, true},
    {"Scatter", CollectiveKind::Scatter, true},
    {"All-to-All Personalized Exchange", CollectiveKind::AllToAll, true},
}};

// "NCCL-CUDA Allreduce" of the title "# OSU NCCL-CUDA Allreduce Latency Test v7.3".
std::optional<std::string_view> osu_title(std::string_view line) {
  constexpr std::string_view kOsu = "# OSU ";
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (!line.starts_with(kOsu)) return std::nullopt;
  line.remove_prefix(kOsu.size());
  return line.substr(0, line.find(" Latency Test"));
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (const std::string_view word : split(line, ' ')) {
    if (!word.empty()) fields.push_back(word);
  }
  return fields;
}

class OsuReader {
 public:
  OsuReader(const std::string& file, const MeasuredFileContext& context)
      : file_(file), context_(context) {}

  void line(const LogLine& log) {
    where_ = {file_, log.number, log.column};
    if (const auto title = osu_title(log.text)) {
      begin(*title);
      return;
    }
    const std::vector<std::string_view> fields = fields_of(log.text);
    if (!test_ || fields.empty() || fields.front().starts_with('#')) return;
    const auto bytes = number<std::uint64_t>(fields.front());
    if (!bytes) return;  // a line of another program
    const auto us = fields.size() > 1 ? number<double>(fields[1]) : std::nullopt;
    if (!us || !std::isfinite(*us) || *us <= 0) {
      throw UserError(where_, fmt::format("found {}; expected a size and a latency > 0 in us",
                                          quoted(log.text)));
    }
    if (*bytes > 0) add(*bytes, *us);
  }

  std::vector<Measurement> take() {
    if (rows_.empty()) throw UserError({file_, 0, 0}, "OSU's benchmark printed no line of results");
    return std::move(rows_);
  }

 private:
  template <class Number>
  static std::optional<Number> number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  void begin(std::string_view title) {
    const std::size_t blank = title.find(' ');
    const std::string_view name =
        blank == std::string_view::npos ? std::string_view() : title.substr(blank + 1);
    const auto found = std::ranges::find(kOsuTests, name, &OsuTest::title);
    if (found == kOsuTests.end()) {
      throw UserError(where_, fmt::format("the benchmark 'OSU {}' is not that of a blocking "
                                          "collective; expected, e.g., 'OSU NCCL Allreduce'",
                                          title));
    }
    test_ = &*found;
    mpi_ = title.starts_with("MPI");
  }

  void add(std::uint64_t bytes, double us) {
    MeasuredRun run;
    run.collective = test_->collective;
    Measurement row;
    row.where = where_;
    row.bytes = bytes;
    row.time_us = us;
    row.time_s = us * 1e-6;
    run.complete(row, context_);
    if (test_->per_rank) row.bytes *= static_cast<std::uint64_t>(row.ranks);
    if (mpi_) {
      row.notes.emplace_back(
          "the times are of MPI's collectives; the simulation is of NCCL's choice unless --tuner "
          "names another one (cclgym list algorithms)");
    }
    rows_.push_back(std::move(row));
  }

  const std::string& file_;
  const MeasuredFileContext& context_;
  SourceLocation where_;
  const OsuTest* test_ = nullptr;
  bool mpi_ = false;
  std::vector<Measurement> rows_;
};

}  // namespace

bool is_osu_text(std::string_view text) {
  bool found = false;
  for_each_log_line(
      text, [&](const LogLine& line) { found = found || osu_title(line.text).has_value(); });
  return found;
}

std::vector<Measurement> read_osu_text(std::string_view text, const std::string& file,
                                       const MeasuredFileContext& context) {
  OsuReader reader(file, context);
  for_each_log_line(text, [&](const LogLine& line) { reader.line(line); });
  return reader.take();
}

}  // namespace cclgym
