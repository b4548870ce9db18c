// Tests of the grammar of `source`, and of the sources of all values of all shipped sets.
#include "cost_models/parameters/value_source.hpp"

#include <map>
#include <regex>

#include "core/files/text_file.hpp"
#include "cost_models/parameters/check_sources.hpp"
#include "cost_models/parameters/parameter_set.hpp"
#include "cost_models/parameters/shipped_set_files.hpp"
#include "support/catch.hpp"
#include "support/thrown.hpp"

namespace cclgym::test {
namespace {

std::string refusal(const std::string& text) {
  return thrown([&] { return read_source(text, {"m.yaml", 3, 11}); });
}

std::map<std::string, ParameterSet> shipped_sets() {
  std::map<std::string, ParameterSet> sets;
  for (const std::string& file : shipped_set_files()) {
    ParameterSet set = load_parameter_set(file);
    const std::string name = set.model.name;
    const bool added = sets.emplace(name, std::move(set)).second;
    REQUIRE(added);  // names are unique
  }
  return sets;
}

TEST_CASE("a source is fitted, taken over, measured or set by hand",
          "[cost_models][value-source]") {
  const ValueSource wide = read_source(
      "fitted to 3 rows of A; 95 %: 2.5 GB/s to 1000 GB/s, not "
      "determined; began at 11 GB/s");
  CHECK(wide.kind == SourceKind::Fitted);
  CHECK_FALSE(wide.determined);
  CHECK(read_source("fitted to 3 rows of A; 95 %: 2us to 19.9us").determined);
  CHECK(read_source("fitted to 3 rows; 95 %: 0.6 to 0.8; by an earlier fit").determined);
  CHECK_FALSE(read_source("fitted to 3 rows of A; no interval; then rounded").determined);
  const ValueSource taken = read_source("taken over from set a100: fitted to x; 95 %: 1us to 2us");
  CHECK(taken.kind == SourceKind::TakenOver);
  CHECK(taken.set == "a100");
  CHECK(taken.there == "fitted to x; 95 %: 1us to 2us");
  const ValueSource constant = read_source("taken over from NCCL: NCCL_STEPS");
  CHECK(constant.kind == SourceKind::TakenOver);
  CHECK(constant.set.empty());
  CHECK(read_source("measured: NPKit on A100").kind == SourceKind::Measured);
  CHECK(read_source("set by hand: why").kind == SourceKind::SetByHand);
  CHECK_NOTHROW(read_source(kDefaultSource));
}

TEST_CASE("sources that say too little are refused with their place",
          "[cost_models][value-source]") {
  // Former texts of the shipped sets.
  CHECK(refusal("set by hand, near the a100 set or as NCCL has it; these rows do not determine it")
            .starts_with("m.yaml:3:11: source: found 'set by hand, near the a100 set"));
  CHECK(refusal("as in the set a100, where the fit began") ==
        "m.yaml:3:11: source: found 'as in the set a100, where the fit began'; expected one that "
        "begins with 'fitted to', 'taken over from', 'measured: ' or 'set by hand: '");
  CHECK(refusal("fitted to 571 rows of Polaris") ==
        "m.yaml:3:11: source: found 'fitted to 571 rows of Polaris'; expected 'fitted to ROWS; 95 "
        "%: LOW to HIGH', or 'fitted to ROWS; no interval'");
  CHECK(refusal("fitted to 571 rows; 95 %: 2.5 GB/s to 1000 GB/s; began at 11 GB/s") ==
        "m.yaml:3:11: source: found '95 %: 2.5 GB/s to 1000 GB/s'; expected ', not determined' "
        "behind it: the interval's ends differ by 10 times or more");
  CHECK(refusal("fitted to rows; 95 %: 1us to 10us").find("not determined") != std::string::npos);
  CHECK(refusal("fitted to rows; 95 %: 1us to 9us, not determined").find("less than 10") !=
        std::string::npos);
  for (const char* text :
       {"", "fitted to rows; 95 %: 1us", "fitted to rows; 95 %: 2us to 1us", "fitted to ",
        "fitted to rows; 95 %: soon to late", "fitted to rows; 95 %: 0us to 1us",
        "set by hand: ", "set by hand", "measured by NPKit", "measured: ", "taken over from NCCL",
        "taken over from NCCL: ", "taken over from set a100: as there",
        "taken over from set a100: not said there"}) {
    INFO(text);
    CHECK(refusal(text).starts_with("m.yaml:3:11: source: found "));
  }
}

TEST_CASE("sources are written so that they are read", "[cost_models][value-source]") {
  const CostParameter& rate = cost_parameter("protocols.LL.thread_block_rate");
  CHECK(fitted_source(rate, "3 rows of A", 2.5e9, 24e9, "began at 11 GB/s") ==
        "fitted to 3 rows of A; 95 %: 2.5 GB/s to 24 GB/s; began at 11 GB/s");
  CHECK(fitted_source(rate, "3 rows of A", 2.5e9, 25e9, "") ==
        "fitted to 3 rows of A; 95 %: 2.5 GB/s to 25 GB/s, not determined");
  CHECK_NOTHROW(read_source(fitted_source(rate, "3 rows of A (a log; another)", 1e9, 2e9, "")));
  // The printed interval is rounded to a decade, and the printed text decides.
  CHECK_NOTHROW(read_source(fitted_source(rate, "rows", 1e9, 9.99999e9, "")));
  CHECK(read_source(taken_over_source("a100", "set by hand: why")).set == "a100");
}

TEST_CASE("every value of a shipped set says where it comes from", "[cost_models][value-source]") {
  REQUIRE(shipped_set_files().size() == 26);
  for (const std::string& file : shipped_set_files()) {
    INFO(file);
    const std::string text = read_text_file(file, 1 << 20);
    CHECK(thrown([&] {
            check_sources(parse_yaml(text, file));
            return 0;
          }) == "(nothing thrown)");
    // Any missing or malformed source is noticed.
    static const std::regex source_line("\n +source: [^\n]*");
    auto lines = std::sregex_iterator(text.begin(), text.end(), source_line);
    REQUIRE(lines != std::sregex_iterator());
    for (; lines != std::sregex_iterator(); ++lines) {
      const std::string line = lines->str();
      const auto with = [&](const std::string& instead) {
        std::string changed = text;
        changed.replace(static_cast<std::size_t>(lines->position()), line.size(), instead);
        return thrown([&] {
          check_sources(parse_yaml(changed, "m.yaml"));
          return 0;
        });
      };
      INFO(line);
      CHECK(with("").find("found a value without a source") != std::string::npos);
      const std::string key = line.substr(0, line.find(':'));
      CHECK(with(key + ": near the a100 set").find("found 'near the a100 set'") !=
            std::string::npos);
    }
  }
}

TEST_CASE("an interval of a shipped set says whether it determines the value",
          "[cost_models][value-source]") {
  // This pattern is independent of read_source.
  static const std::regex interval(
      "95 %: ([0-9.e-]+)(us| GB/s|) to ([0-9.e-]+)(us| GB/s|)(, not determined)?[;\"]");
  int seen = 0;
  int undetermined = 0;
  for (const std::string& file : shipped_set_files()) {
    const std::string text = read_text_file(file, 1 << 20);
    for (auto found = std::sregex_iterator(text.begin(), text.end(), interval);
         found != std::sregex_iterator(); ++found) {
      INFO(file << ": " << found->str());
      const bool wide = std::stod((*found)[3]) >= 10 * std::stod((*found)[1]);
      CHECK((*found)[2] == (*found)[4]);
      CHECK((*found)[5].matched == wide);
      ++seen;
      if (wide) ++undetermined;
    }
    std::size_t stated = 0;
    for (std::size_t at = text.find("95 %"); at != std::string::npos;
         at = text.find("95 %", at + 1))
      ++stated;
    INFO(file);
    CHECK(stated == static_cast<std::size_t>(std::distance(
                        std::sregex_iterator(text.begin(), text.end(), interval), {})));
  }
  CHECK(seen > 150);
  CHECK(undetermined > 50);
}

TEST_CASE("a fitted value of a shipped set lies in its interval", "[cost_models][value-source]") {
  static const std::regex interval("95 %: ([0-9.e-]+)[^ ]*( GB/s)? to ([0-9.e-]+)");
  int fitted = 0;
  for (const auto& [name, set] : shipped_sets()) {
    for (const auto& [parameter, source] : set.sources) {
      std::smatch found;
      if (!source.starts_with("fitted to ") || !std::regex_search(source, found, interval))
        continue;
      const CostParameter& record = cost_parameter(parameter);
      const double value = std::stod(parameter_text(record, record.get(set.model).value()));
      INFO(name << ", " << parameter << " = " << value << ": " << found.str());
      CHECK(value >= std::stod(found[1]));
      CHECK(value <= std::stod(found[3]));
      ++fitted;
    }
  }
  CHECK(fitted > 150);
}

TEST_CASE("what a shipped set calls the default is the default", "[cost_models][value-source]") {
  int defaults = 0;
  for (const auto& [name, set] : shipped_sets()) {
    for (const CostParameter& parameter : cost_parameters()) {
      const auto source = set.sources.find(parameter.name);
      if (source == set.sources.end() || !source->second.ends_with(kDefaultSource)) continue;
      INFO(name << ", " << parameter.name);
      CHECK(parameter.get(set.model) == parameter.get(CostModel{}));
      ++defaults;
    }
  }
  CHECK(defaults > 100);
}

TEST_CASE("what a shipped set took over from another stands there", "[cost_models][value-source]") {
  const std::map<std::string, ParameterSet> sets = shipped_sets();
  int taken = 0;
  for (const auto& [name, set] : sets) {
    for (const CostParameter& parameter : cost_parameters()) {
      if (!set.sources.contains(parameter.name)) continue;
      const ValueSource source = read_source(set.sources.at(parameter.name));
      if (source.set.empty()) continue;
      INFO(name << ", " << parameter.name << ", from " << source.set);
      REQUIRE(sets.contains(source.set));
      const ParameterSet& from = sets.at(source.set);
      CHECK(parameter.get(set.model) == parameter.get(from.model));
      CHECK(source.there == from.source_of(parameter.name));
      ++taken;
    }
  }
  CHECK(taken > 300);
}

// True if the value was fitted, in this set or in the set that it was taken from.
bool is_fitted(std::string source) {
  ValueSource read = read_source(source);
  while (!read.set.empty()) {
    source = read.there;
    read = read_source(source);
  }
  return read.kind == SourceKind::Fitted;
}

TEST_CASE("a shipped set with a fitted value lists the rows, its start's included",
          "[cost_models][value-source]") {
  const std::map<std::string, ParameterSet> sets = shipped_sets();
  for (const auto& [name, set] : sets) {
    INFO(name);
    REQUIRE(set.fitted_to);
    bool fitted = false;
    for (const auto& [parameter, text] : set.sources) {
      if (!is_fitted(text)) continue;
      fitted = true;
      const ValueSource source = read_source(text);
      if (source.set.empty()) continue;
      for (const FittedRows& rows : *sets.at(source.set).fitted_to) {
        CHECK(std::any_of(set.fitted_to->begin(), set.fitted_to->end(),
                          [&](const FittedRows& each) { return each.same_rows(rows); }));
      }
    }
    CHECK(fitted == !set.fitted_to->empty());
  }
}

}  // namespace
}  // namespace cclgym::test
