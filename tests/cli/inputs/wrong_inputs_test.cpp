// Wrong inputs of every command: each ends with exit code 2 (or 1) and a short message, never with
// a signal and never as a fault of cclgym.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A command that reads a file; {} stands for the file.
struct FileCommand {
  const char* name;
  Words words;
};

const std::vector<FileCommand>& file_commands() {
  static const std::vector<FileCommand> all{
      {"run", {"run", "{}"}},
      {"merge", {"merge", "{}"}},
      {"report", {"report", "{}"}},
      {"simulate fabric",
       {"simulate", "--fabric", "{}", "--collective", "allreduce", "--algorithm", "ring", "--size",
        "1KiB"}},
      {"simulate program", {"simulate", "--fabric", "dgx1", "--program", "{}", "--size", "1KiB"}},
      {"simulate cost model",
       {"simulate", "--fabric", "dgx1", "--collective", "allreduce", "--algorithm", "ring",
        "--size", "1KiB", "--cost-model", "{}"}},
      {"simulate noise",
       {"simulate", "--fabric", "dgx1", "--collective", "allreduce", "--algorithm", "ring",
        "--size", "1KiB", "--noise", "{}"}},
      {"simulate dispatch",
       {"simulate", "--fabric", "dgx1", "--collective", "allreduce", "--algorithm", "dispatch:{}",
        "--size", "1KiB"}},
      {"simulate dispatcher",
       {"simulate", "--fabric", "frontier", "--collective", "allreduce", "--algorithm", "pccl:{}",
        "--size", "1KiB"}},
      {"workload job", {"workload", "{}", "--fabric", "dgx1", "--format", "job"}},
      {"workload goal", {"workload", "{}", "--fabric", "dgx1", "--format", "goal"}},
      {"workload chakra", {"workload", "{}", "--fabric", "dgx1", "--format", "chakra"}},
      {"workload kineto", {"workload", "{}", "--fabric", "dgx1", "--format", "kineto"}},
      {"describe", {"describe", "fabric", "{}"}},
      {"list", {"list", "algorithms", "--programs", "mine={}"}},
      {"compile", {"compile", "{}", "--out", "made.xml"}},
      {"verify", {"verify", "{}"}},
      {"synthesize",
       {"synthesize", "--fabric", "{}", "--collective", "allgather", "--out", "made"}},
      {"check-certificate", {"check-certificate", "{}"}},
      {"tune-dispatch", {"tune-dispatch", "{}", "--out", "made.yaml"}},
      {"fit", {"fit", "--measured", "{}", "--fabric", "dgx1", "--out", "made.yaml"}},
      {"compare", {"compare", "--measured", "{}", "--fabric", "dgx1"}},
      {"train", {"train", "{}", "--dry-run"}},  // without LibTorch, too
      {"evaluate", {"evaluate", "{}"}},
      {"validate", {"validate", "{}", "--out", "made"}},
      {"validate --show", {"validate", "--show", "{}"}},
      {"loop", {"loop", "{}", "--out", "made"}},
      {"loop --show", {"loop", "--show", "{}"}},
      {"export", {"export", "{}", "--to", "made.policy"}},
      {"deploy policy", {"deploy", "--policy", "{}", "--for", "nccl-2.30", "--out", "made"}},
      {"deploy dispatch", {"deploy", "--dispatch", "{}", "--for", "nccl-2.30", "--out", "made"}}};
  return all;
}

// A fault of a file, and its bytes.
struct FileFault {
  const char* name;
  std::string bytes;
};

const std::vector<FileFault>& file_faults() {
  static const std::vector<FileFault> all{
      {"empty file", ""},
      {"bytes of another kind", std::string("\x7f"
                                            "ELF\x02\x01\x00\x00\xff\xfe",
                                            10)},
      {"truncated file", "name: e\nfabrics: [dgx1, "},
      {"unknown key", "name: e\nnonsense: 1\n"},
      {"duplicated key", "name: e\nname: f\n"},
      {"wrong type", "- 1\n- [2]\n"},
      {"not a number", "name: nan\nsizes: .nan\nranks: nan\n"},
      {"huge number", "name: 99999999999999999999999999\nsizes: [1e999]\n"},
      {"wrong header", "a,b,c\n1,2,3\n"},
      {"wrong root element", "<nothing><gpu/></nothing>\n"}};
  return all;
}

// Values of options that take a quantity, and commands that have it.
struct OptionCommand {
  const char* name;
  Words words;  ///< {} stands for the value
};

const std::vector<OptionCommand>& option_commands() {
  const Words call{"simulate",    "--fabric", "dgx1",   "--collective", "allreduce",
                   "--algorithm", "ring",     "--size", "1KiB"};
  static const std::vector<OptionCommand> all = [&] {
    std::vector<OptionCommand> list;
    for (const char* const option :
         {"--channels", "--instances", "--threads", "--seed", "--slots", "--tile"}) {
      Words words = call;
      words.insert(words.end(), {option, "{}"});
      list.push_back({"simulate", words});
    }
    list.push_back({"simulate",
                    {"simulate", "--fabric", "dgx1", "--collective", "allreduce", "--algorithm",
                     "ring", "--size", "{}"}});
    list.push_back({"simulate",
                    {"simulate", "--fabric", "ring", "--gpus", "{}", "--collective", "allreduce",
                     "--algorithm", "ring", "--size", "1MiB"}});
    list.push_back({"describe", {"describe", "fabric", "ndv4", "--nodes", "{}"}});
    list.push_back(
        {"compile",
         {"compile", "ring", "--collective", "allreduce", "--gpus", "{}", "--out", "made.xml"}});
    list.push_back({"verify", {"verify", "ring", "--collective", "allreduce", "--gpus", "{}"}});
    list.push_back({"synthesize",
                    {"synthesize", "--fabric", "dgx1", "--collective", "allgather", "--out", "made",
                     "--time-limit", "{}"}});
    list.push_back({"run", {"run", "e.yaml", "--jobs", "{}"}});
    list.push_back({"run", {"run", "e.yaml", "--shard", "{}"}});
    list.push_back(
        {"tune-dispatch", {"tune-dispatch", "e.yaml", "--out", "made.yaml", "--tolerance", "{}"}});
    list.push_back({"train", {"train", "e.yaml", "--threads", "{}"}});
    list.push_back({"evaluate", {"evaluate", "e.yaml", "--calls", "{}"}});
    // Read before a worker starts, so that neither MPI nor CUDA is needed.
    for (const char* const option : {"--sizes", "--repeats", "--warmup", "--seed"}) {
      list.push_back({"calibrate", {"calibrate", "mpi", "--out", "made.csv", option, "{}"}});
    }
    list.push_back({"calibrate", {"calibrate", "{}", "--out", "made.csv"}});
    for (const char* const option : {"--rounds", "--within", "--repeats", "--backend"}) {
      list.push_back({"validate", {"validate", "e.yaml", "--out", "made", option, "{}"}});
    }
    return list;
  }();
  return all;
}

const Words kBadValues{"nan", "-1", "1e999", "abc", "", "99999999999999999999999", "1 parsec"};

class Counts {
 public:
  void add(const std::string& command, const std::string& fault) {
    ++counts_[command.substr(0, command.find(' '))][fault];
    ++total_;
  }
  [[nodiscard]] int total() const { return total_; }
  void print() const {
    for (const auto& [command, faults] : counts_) {
      std::printf("%-18s", command.c_str());
      int sum = 0;
      for (const auto& [fault, count] : faults) {
        std::printf(" %s: %d;", fault.c_str(), count);
        sum += count;
      }
      std::printf(" total %d\n", sum);
    }
    std::printf("wrong inputs: %d\n", total_);
  }

 private:
  std::map<std::string, std::map<std::string, int>> counts_;
  int total_ = 0;
};

Words filled(Words words, const std::string& value) {
  for (std::string& word : words) {
    if (const std::size_t at = word.find("{}"); at != std::string::npos) {
      word.replace(at, 2, value);
    }
  }
  return words;
}

// `file`: the wrong file, whose place the message must have; empty: there is none.
void check_refused(const Words& words, const std::string& folder, const std::string& file = "") {
  const Ended ended = run_program(words, folder);
  std::string line = "cclgym";
  for (const std::string& word : words) line += " '" + word + "'";
  INFO(line << "\n" << ended.code << ": " << ended.err);
  CHECK((ended.code == 2 || ended.code == 1));
  const std::size_t at = ended.err.find("error: ");
  // `verify` prints its faults on standard output.
  if (at == std::string::npos) {
    CHECK((words.front() == "verify" && !ended.out.empty()));
    return;
  }
  CHECK(ended.err.find("internal error") == std::string::npos);
  const std::string message = ended.err.substr(at);
  CHECK(std::count(message.begin(), message.end(), '\n') <= 2);
  CHECK(message.size() < 3000);
  CHECK_FALSE(fs::exists(folder + "/made"));
  if (file.empty()) return;
  // Text at fault has a line; bytes and files that cannot be read have none. wrong_lines_test.cpp
  // checks that the line is that of the fault.
  const std::size_t place = message.find(file + ":");
  const bool located = place != std::string::npos && message.size() > place + file.size() + 1 &&
                       std::isdigit(static_cast<unsigned char>(message[place + file.size() + 1]));
  const bool as_whole = std::ranges::any_of(
      std::array{"is empty", "found nothing", "byte 0", "checksum", "not a folder",
                 "Not a directory", "does not exist", "not the folder of a training",
                 "unknown algorithm"},
      [&](const char* text) { return message.find(text) != std::string::npos; });
  CHECK((located || as_whole));
}

TEST_CASE("wrong files: every command and kind of fault", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  Counts counts;
  fs::create_directory(folder / "folder");
  fs::create_directory(folder / "folder.yaml");
  for (const FileCommand& command : file_commands()) {
    for (const char* const ending : {".yaml"}) {
      check_refused(filled(command.words, "missing" + std::string(ending)), folder.path());
      counts.add(command.name, "missing file");
      check_refused(filled(command.words, "folder" + std::string(ending)), folder.path());
      counts.add(command.name, "folder");
      for (const FileFault& fault : file_faults()) {
        write_file(folder / ("wrong" + std::string(ending)), fault.bytes);
        const std::string wrong = "wrong" + std::string(ending);
        check_refused(filled(command.words, wrong), folder.path(), wrong);
        counts.add(command.name, fault.name);
      }
    }
  }
  counts.print();
  CHECK(counts.total() >= 300);
}

TEST_CASE("wrong values of options: every command with quantities", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  Counts counts;
  write_file(folder / "e.yaml",
             "name: e\nfabrics: [dgx1]\ncollectives: [allreduce]\nalgorithms: [ring]\nsizes: "
             "[1KiB]\n");
  std::size_t place = 0;
  for (const OptionCommand& command : option_commands()) {
    ++place;
    for (const std::string& value : kBadValues) {
      // Programs with a sanitizer start slowly. Every command and every value is still there.
      if (kSanitized && ++place % 3 != 0) continue;
      check_refused(filled(command.words, value), folder.path());
      counts.add(command.name, value.empty() ? "empty value" : value);
    }
  }
  counts.print();
  CHECK(counts.total() >= (kSanitized ? 50 : 100));
}

}  // namespace
}  // namespace cclgym::test
