// A measured CSV in a folder of its own.
#pragma once

#include <string>

#include "support/temporary_folder.hpp"

namespace cclgym::test {

inline constexpr const char* kCsvHeader =
    "system,ranks,nodes,collective,size_bytes,time_us_median\n";

/// The file `path`, m.csv, which is deleted in the end.
struct CsvFile {
  TemporaryFolder folder{};
  std::string path = folder / "m.csv";
  explicit CsvFile(const std::string& text) { write_file(path, text); }
};

}  // namespace cclgym::test
