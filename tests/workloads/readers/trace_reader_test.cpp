#include "workloads/readers/traces/trace_reader.hpp"

#include <zlib.h>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace cclgym;
using namespace cclgym::test;

namespace {

std::string gzipped(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return read_file(path);
}

}  // namespace

TEST_CASE("compressed traces are decompressed", "[workloads][readers]") {
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += std::to_string(i % 977);
  const std::string bytes = gzipped(text);
  CHECK(gunzip(bytes, "a.gz", text.size()) == text);
  const TemporaryFile file(bytes, "a.gz");
  CHECK(read_trace_file(file.path()) == text);
  CHECK(thrown([&] { return gunzip(bytes, "a.gz", 1024); }) ==
        "a.gz: it has more than 1KiB after decompression");
  CHECK(thrown([&] { return gunzip(bytes.substr(0, bytes.size() / 2), "a.gz", text.size()); }) ==
        "a.gz: the gzip file is truncated");
  std::string damaged = bytes;
  damaged[bytes.size() - 6] = static_cast<char>(damaged[bytes.size() - 6] ^ 1);
  CHECK(thrown([&] { return gunzip(damaged, "a.gz", text.size()); }) ==
        "a.gz: the gzip file is damaged");
}

TEST_CASE("lists of ranks are read, and cut ones are not", "[workloads][readers]") {
  CHECK(parse_rank_list("[0, 1,2]") == std::vector<std::int32_t>{0, 1, 2});
  CHECK(parse_rank_list("[]") == std::vector<std::int32_t>{});
  CHECK(parse_rank_list(" [ 7 ]") == std::vector<std::int32_t>{7});
  for (const char* wrong :
       {"", "0, 1", "[0, 1, ...]", "[0 1]", "[-1]", "[0", "[0] 1", "[1.5]", "[99999999999]"}) {
    INFO(wrong);
    CHECK(!parse_rank_list(wrong));
  }
}

TEST_CASE("a rank numbers its groups by first use", "[workloads][readers]") {
  JobGraph job{.name = "j", .ranks = 4};
  job.groups_of.resize(4);
  TraceGroups groups(job);
  CHECK(groups.communicator(3, "tp", {2, 3}) == 0);
  CHECK(groups.communicator(3, "dp", {1, 3}) == 1);
  CHECK(groups.communicator(1, "dp", {1, 3}) == 0);
  CHECK(groups.communicator(3, "tp", {2, 3}) == 0);
  CHECK(groups.communicator(0, "tp", {0, 1}) == 0);
  CHECK(job.groups.size() == 3);
  CHECK(job.communicators.size() == 2);
  CHECK(job.groups_of[1] == std::vector<std::int32_t>{1});
}
