#include "experiments/published/published.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "collectives/library/algorithm_library.hpp"
#include "core/files/csv.hpp"
#include "core/units.hpp"
#include "sim/tuners/tuner.hpp"

namespace cclgym {

namespace {

// One parsed line of the file.
struct PublishedLine {
  std::string fabric;
  int servers = 0;
  int gpus = 0;
  std::string collective;
  std::string size_from;
  std::string size_to;
  std::string variant;
  std::string algorithm;
  std::string protocol;
  std::string channels;
  std::string instances;
  std::string judged_by;
  double speedup_low = 0;
  double speedup_high = 0;
  std::string baseline;
  std::string source;
};

constexpr std::array<CsvColumn<PublishedLine>, 16> kPublishedColumns{{
    {"fabric", &PublishedLine::fabric},
    {"servers", &PublishedLine::servers},
    {"gpus", &PublishedLine::gpus},
    {"collective", &PublishedLine::collective},
    {"size_from", &PublishedLine::size_from},
    {"size_to", &PublishedLine::size_to},
    {"variant", &PublishedLine::variant},
    {"algorithm", &PublishedLine::algorithm},
    {"protocol", &PublishedLine::protocol},
    {"channels", &PublishedLine::channels},
    {"instances", &PublishedLine::instances},
    {"judged_by", &PublishedLine::judged_by},
    {"speedup_low", &PublishedLine::speedup_low},
    {"speedup_high", &PublishedLine::speedup_high},
    {"baseline", &PublishedLine::baseline},
    {"source", &PublishedLine::source},
}};

constexpr std::array kSubjects{PublishedSubject::Best, PublishedSubject::Variant,
                               PublishedSubject::Fallback};

template <class All>
std::vector<std::string> names_of(const All& all) {
  std::vector<std::string> names;
  for (const auto one : all) names.emplace_back(to_string(one));
  return names;
}

std::vector<std::string> algorithm_names() { return AlgorithmLibrary::shipped().names(); }

bool is_algorithm(const std::string& name, const SourceLocation& where) {
  AlgorithmLibrary library = AlgorithmLibrary::shipped();
  library.add_spelled(name, where);
  return library.find(name) != nullptr;
}

class PublishedReader {
 public:
  PublishedReader(const PublishedLine& line, SourceLocation where)
      : line_(line), where_(std::move(where)) {}

  PublishedRow read() const {
    PublishedRow row;
    row.where = where_;
    check_plain();
    row.fabric = line_.fabric;
    row.servers = line_.servers;
    row.gpus = line_.gpus;
    row.variant = line_.variant;
    row.source = line_.source;
    row.collective = collective();
    read_sizes(row);
    read_variant(row);
    row.subject = subject();
    row.speedup_low = line_.speedup_low;
    row.speedup_high = line_.speedup_high;
    row.baseline = line_.baseline;
    if (!is_tuner(row.baseline) && !is_algorithm(row.baseline, where_)) {
      fail(unknown_name_message("baseline", row.baseline, algorithm_names()) +
           "; or a tuner (nccl-default:VERSION)");
    }
    if (row.subject == PublishedSubject::Variant && !row.has_variant()) {
      fail(
          "judged_by is variant, but algorithm, protocol, channels and instances are empty; "
          "expected the values that define the variant");
    }
    return row;
  }

 private:
  void check_plain() const {
    for (const auto& [text, name] : {std::pair{&line_.fabric, "fabric"},
                                     {&line_.variant, "variant"},
                                     {&line_.source, "source"}}) {
      if (text->empty()) fail(std::string(name) + " is empty; expected a name");
    }
    if (line_.servers < 1) fail(fmt::format("servers is {}; expected at least 1", line_.servers));
    if (line_.gpus < 1) fail(fmt::format("gpus is {}; expected at least 1", line_.gpus));
    for (const auto& [value, name] :
         {std::pair{line_.speedup_low, "speedup_low"}, {line_.speedup_high, "speedup_high"}}) {
      if (!std::isfinite(value) || value <= 0) {
        fail(fmt::format("{} is {}; expected a positive number", name, format_double(value)));
      }
    }
    if (line_.speedup_high < line_.speedup_low) {
      fail(fmt::format("speedup_high is {}; expected at least speedup_low, {}",
                       format_double(line_.speedup_high), format_double(line_.speedup_low)));
    }
  }

  std::string collective() const {
    const std::optional<CollectiveKind> kind = parse_collective(line_.collective);
    if (!kind || *kind == CollectiveKind::Custom) {
      fail(unknown_name_message("collective", line_.collective, names_of(all_collectives())));
    }
    return std::string(to_string(*kind));
  }

  void read_sizes(PublishedRow& row) const {
    row.size_from = parse_bytes(line_.size_from, "size_from", where_);
    if (line_.size_to.empty()) return;
    row.size_to = parse_bytes(line_.size_to, "size_to", where_);
    if (*row.size_to < row.size_from) {
      fail(fmt::format("size_to is {}; expected at least size_from, {}", line_.size_to,
                       line_.size_from));
    }
  }

  void read_variant(PublishedRow& row) const {
    row.algorithms = values_of(line_.algorithm);
    for (const std::string& name : row.algorithms) {
      if (!is_algorithm(name, where_))
        fail(unknown_name_message("algorithm", name, algorithm_names()));
    }
    for (const std::string& name : values_of(line_.protocol)) {
      const std::optional<Protocol> protocol = parse_protocol(name);
      if (!protocol) fail(unknown_name_message("protocol", name, names_of(all_protocols())));
      row.protocols.push_back(*protocol);
    }
    row.channels = numbers_of("channels", line_.channels);
    row.instances = numbers_of("instances", line_.instances);
  }

  PublishedSubject subject() const {
    for (const PublishedSubject one : kSubjects) {
      if (to_string(one) == line_.judged_by) return one;
    }
    fail(unknown_name_message("judged_by", line_.judged_by, names_of(kSubjects)));
  }

  std::vector<int> numbers_of(std::string_view column, const std::string& text) const {
    std::vector<int> numbers;
    for (const std::string& value : values_of(text)) {
      const std::int64_t number = parse_integer(value, column, where_);
      if (number < 1 || number > 1024) {
        fail(fmt::format("{} is {}; expected 1 .. 1024", column, number));
      }
      numbers.push_back(static_cast<int>(number));
    }
    return numbers;
  }

  // The values between the '|'; none for an empty text.
  static std::vector<std::string> values_of(std::string_view text) {
    std::vector<std::string> values;
    while (!text.empty()) {
      const std::size_t bar = text.find('|');
      values.emplace_back(text.substr(0, bar));
      if (bar == std::string_view::npos) break;
      text.remove_prefix(bar + 1);
      if (text.empty()) values.emplace_back();
    }
    return values;
  }

  [[noreturn]] void fail(const std::string& message) const { throw UserError(where_, message); }

  const PublishedLine& line_;
  SourceLocation where_;
};

template <class Value>
bool among(const std::vector<Value>& values, const Value& value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

std::string_view to_string(PublishedSubject subject) {
  switch (subject) {
    case PublishedSubject::Best:
      return "best";
    case PublishedSubject::Variant:
      return "variant";
    case PublishedSubject::Fallback:
      return "fallback";
  }
  return "";
}

bool PublishedRow::has_variant() const {
  return !algorithms.empty() || !protocols.empty() || !channels.empty() || !instances.empty();
}

bool PublishedRow::selects(const ResultRow& row) const {
  const std::optional<Protocol> protocol = parse_protocol(row.protocol);
  return among(algorithms, row.algorithm) && protocol && among(protocols, *protocol) &&
         among(channels, row.channels) && among(instances, row.instances);
}

bool PublishedRow::covers(std::uint64_t bytes) const {
  return bytes >= size_from && (!size_to || bytes <= *size_to);
}

bool PublishedRow::is_of(const ExperimentFabric& candidate) const {
  const int count = candidate.fabric->servers();
  const bool same_name =
      candidate.label == fabric || candidate.label == fmt::format("{} nodes={}", fabric, count);
  return same_name && count == servers && candidate.fabric->ranks() == gpus;
}

std::string PublishedRow::range_text() const {
  const std::string from = format_bytes(size_from);
  if (!size_to) return from + "..";
  return *size_to == size_from ? from : from + ".." + format_bytes(*size_to);
}

std::vector<PublishedRow> parse_published(std::string_view text, const std::string& path) {
  const CsvRows<PublishedLine> file =
      parse_csv(text, path, kPublishedColumns, {.comments = true, .keep_unended = true});
  std::vector<PublishedRow> rows;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    rows.push_back(PublishedReader(file.rows[i], file.where[i]).read());
    rows.back().number = static_cast<int>(i) + 1;
  }
  return rows;
}

std::vector<PublishedRow> read_published(const std::string& path) {
  constexpr std::size_t kLargestFile = std::size_t{1} << 26;
  return parse_published(read_text_file(path, kLargestFile), path);
}

std::vector<PublishedRow> read_published_files(const Experiment& experiment) {
  std::vector<PublishedRow> rows;
  for (const std::string& path : experiment.published) {
    std::vector<PublishedRow> of_file = read_published(path);
    rows.insert(rows.end(), std::make_move_iterator(of_file.begin()),
                std::make_move_iterator(of_file.end()));
  }
  return rows;
}

}  // namespace cclgym
