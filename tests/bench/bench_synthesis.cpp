// Measures the bars of schedule synthesis, and prints one line per case with tabs between its
// fields. scripts/synthesis-bars makes the table of docs/synthesis-bars.md from them.
//   bench_synthesis [--quick] [--list] [ROW...]
//   bench_synthesis --programs FOLDER
// --quick leaves out what takes more than 5 s, and names it on stderr. --programs writes the
// algorithms of SCCL's figures.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <vector>

#include "bench/synthesis/bars.hpp"
#include "bench/synthesis/rows.hpp"

namespace cclgym::bench {
namespace {

struct Row {
  std::string name;
  std::function<void(bool quick)> run;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{{"sccl-tables", [](bool) { sccl_tables(); }},
                                    {"dgx1-alltoall", [](bool) { dgx1_alltoall(); }},
                                    {"dgx1-front", [](bool) { dgx1_front(); }},
                                    {"teccl-table3", [](bool quick) { teccl_table3(quick); }},
                                    {"ndv2-x2", [](bool quick) { ndv2_x2(quick); }},
                                    {"ndv2-x4", [](bool) { ndv2_x4(); }},
                                    {"teccl-table4", [](bool quick) { teccl_table4(quick); }},
                                    {"published-fabrics", [](bool) { published_fabrics(); }},
                                    {"large-allgather", [](bool quick) { large_allgather(quick); }},
                                    {"allreduce-shares", [](bool) { allreduce_rows(); }},
                                    {"large-alltoall", [](bool) { large_alltoall(); }},
                                    {"failures", [](bool) { failures_and_groups(); }},
                                    {"lowered", [](bool quick) { lowered_programs(quick); }}};
  return all;
}

int run(const std::vector<std::string>& arguments) {
  bool quick = false;
  std::vector<std::string> wanted;
  if (arguments.size() == 2 && arguments[0] == "--programs") {
    write_sccl_programs(arguments[1]);
    return 0;
  }
  for (const std::string& argument : arguments) {
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--list") {
      for (const Row& row : rows()) fmt::print("{}\n", row.name);
      return 0;
    } else if (std::ranges::any_of(rows(), [&](const Row& row) { return row.name == argument; })) {
      wanted.push_back(argument);
    } else {
      fmt::print(stderr, "no row is called '{}'; --list prints the names\n", argument);
      return 2;
    }
  }
  for (const Row& row : rows()) {
    if (!wanted.empty() && std::ranges::find(wanted, row.name) == wanted.end()) continue;
    begin_row(row.name);
    try {
      row.run(quick);
    } catch (const std::exception& error) {
      print_bar({.name = row.name, .target = "no error", .value = error.what()});
    }
  }
  return 0;
}

}  // namespace
}  // namespace cclgym::bench

int main(int count, char** arguments) {
  return cclgym::bench::run({arguments + 1, arguments + count});
}
