#include "deploy/nccl_plugin/tuner_constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/units.hpp"
#include "deploy/nccl_plugin/nccl_names.hpp"

namespace cclgym {

namespace {

using Names = std::vector<std::string>;

// A table in cclgym_nccl_constants: its keys, the last varying fastest, and its first number's
// place.
struct TableOfConstants {
  std::string name;
  std::vector<Names> keys;
  std::size_t first;
};

template <std::size_t Bytes>
constexpr std::size_t number_at() {
  static_assert(Bytes % sizeof(double) == 0);
  return Bytes / sizeof(double);
}

std::vector<TableOfConstants> tables() {
  Names algorithms;
  for (const NcclAlgorithmNames& own : kNcclAlgorithmNames) algorithms.emplace_back(own.csv);
  const Names protocols{"ll", "ll128", "simple"};
  const Names links{"nvlink", "pci", "net"};
  const std::vector<Names> by_gpu{{"volta", "ampere", "hopper", "blackwell"}, {"1", "2", "4"}};
  using Constants = cclgym_nccl_constants;
  return {
      {"base_latency", {algorithms, protocols}, number_at<offsetof(Constants, base_latency)>()},
      {"hw_latency", {links, algorithms, protocols}, number_at<offsetof(Constants, hw_latency)>()},
      {"ll_max_bw", by_gpu, number_at<offsetof(Constants, ll_max_bw)>()},
      {"ring_ll128_bw", by_gpu, number_at<offsetof(Constants, ring_ll128_bw)>()},
      {"tree_ll128_bw", by_gpu, number_at<offsetof(Constants, tree_ll128_bw)>()},
      {"tree_bw", by_gpu, number_at<offsetof(Constants, tree_bw)>()},
      {"nvls_tree_bw", by_gpu, number_at<offsetof(Constants, nvls_tree_bw)>()},
  };
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',') {
      fields.emplace_back();
    } else if (c != ' ' && c != '\t' && c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

std::size_t count_in(const std::string& text, const SourceLocation& where) {
  const std::int64_t count = parse_integer(text, "a number of ranks or nodes", where);
  if (count < 1 || count > (1 << 24)) throw UserError(where, "machine: expected 1 .. 16777216");
  return static_cast<std::size_t>(count);
}

}  // namespace

void TunerConstants::apply(cclgym_nccl_constants& constants) const {
  double* numbers = &constants.base_latency[0][0];
  for (const TunerConstant& constant : values) numbers[constant.place] = constant.value;
}

TunerConstants parse_tuner_constants(std::string_view text, const std::string& name) {
  static_assert(sizeof(cclgym_nccl_constants) % sizeof(double) == 0);
  const std::vector<TableOfConstants> known = tables();
  TunerConstants constants;
  std::set<std::size_t> seen;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::vector<std::string> fields = fields_of(line.substr(0, line.find('#')));
    if (fields.size() == 1 && fields[0].empty()) continue;
    const SourceLocation where{.file = name, .line = number};
    if (fields[0] == "machine") {
      if (fields.size() != 3) throw UserError(where, "expected machine,RANKS,NODES");
      constants.ranks = count_in(fields[1], where);
      constants.nodes = count_in(fields[2], where);
      continue;
    }
    const auto table = std::ranges::find(known, fields[0], &TableOfConstants::name);
    if (table == known.end()) {
      Names names{"machine"};
      for (const TableOfConstants& own : known) names.push_back(own.name);
      throw UserError(where, unknown_name_message("table", fields[0], names));
    }
    if (fields.size() != table->keys.size() + 2) {
      throw UserError(where, std::to_string(fields.size()) + " columns; expected " +
                                 std::to_string(table->keys.size() + 2));
    }
    std::size_t place = 0;
    for (std::size_t k = 0; k < table->keys.size(); ++k) {
      const Names& names = table->keys[k];
      const auto key = std::ranges::find(names, fields[k + 1]);
      if (key == names.end()) {
        throw UserError(where, unknown_name_message("key", fields[k + 1], names));
      }
      place = place * names.size() + static_cast<std::size_t>(key - names.begin());
    }
    TunerConstant constant{.table = table->name, .place = table->first + place};
    constant.value = parse_real(fields.back(), "a constant", where);
    if (!(constant.value >= 0))
      throw UserError(where, "the constant is negative; expected at least 0");
    if (!seen.insert(constant.place).second) throw UserError(where, "the constant is given twice");
    constants.values.push_back(constant);
  }
  return constants;
}

}  // namespace cclgym
