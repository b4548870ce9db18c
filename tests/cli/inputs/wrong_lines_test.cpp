// Faults put into valid files: each command that reads the file names the line of the fault.
#include <algorithm>
#include <filesystem>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

using ArgumentWords = std::vector<std::string>;

// The first place of a text in a file, and what replaces it.
struct LineFault {
  const char* name;
  std::string from;
  std::string to;
};

// A valid file, and commands that read it; {} stands for the file in them.
struct FileKind {
  const char* name;
  std::string file;
  std::string text;
  std::vector<ArgumentWords> commands;
  std::vector<LineFault> faults;
};

std::string shipped(const std::string& path) { return read_file(source_path(path)); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

ArgumentWords simulation(const ArgumentWords& more) {
  ArgumentWords words{"simulate", "--collective", "allreduce", "--size", "1KiB"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

FileKind experiments() {
  return {.name = "experiment",
          .file = "e.yaml",
          .text =
              "name: e\n"
              "fabrics: [dgx1]\n"
              "collectives: [allreduce]\n"
              "algorithms: [ring, tree]\n"
              "protocols: [LL, Simple]\n"
              "channels: [1, 2]\n"
              "sizes: 1KiB..64KiB x4\n",
          .commands = {{"run", "{}", "--dry-run"},
                       {"tune-dispatch", "{}", "--out", "t.yaml", "--dry-run"}},
          .faults = {{"unknown key", "channels:", "chanels:"},
                     {"key twice", "channels: [1, 2]\n", "channels: [1, 2]\nchannels: [1]\n"},
                     {"unknown name", "[ring, tree]", "[ring, trea]"},
                     {"unknown fabric", "[dgx1]", "[dgx11]"},
                     {"not a number", "[1, 2]", "[1, x]"},
                     {"out of range", "[1, 2]", "[1, -2]"},
                     {"wrong type", "[LL, Simple]", "[LL, {a: 1}]"},
                     {"unit", "1KiB..64KiB", "1KiB..64KaB"}}};
}

FileKind fabrics() {
  return {.name = "fabric",
          .file = "f.yaml",
          .text = shipped("tests/fuzz/seeds/fabric/made-up-nvls.yaml"),
          .commands = {{"describe", "fabric", "{}"},
                       simulation({"--fabric", "{}", "--algorithm", "ring"}),
                       {"synthesize", "--fabric", "{}", "--collective", "allgather", "--dry-run",
                        "--out", "made"}},
          .faults = {{"unknown key", "name:", "nome: x\nname:"},
                     {"unit", "25 GB/s", "25 XB/s"},
                     {"unknown name", "nvswitch", "nvswitsh"},
                     {"out of range", "multiplicity: 14", "multiplicity: -14"}}};
}

FileKind trainings() {
  return {.name = "training",
          .file = "t.yaml",
          .text =
              "name: t\n"
              "train:\n"
              "  - options:\n"
              "      fabric: {name: ring, gpus: 4}\n"
              "      actions: stock-nccl\n"
              "      workload: {name: sweep, collectives: [allreduce], sizes: 1KiB..1MiB x4}\n"
              "agent: {encoder: [8], lstm: 4, head: 6, value: 4}\n"
              "ppo:\n"
              "  iterations: 1\n"
              "  clip: 0.2\n"
              "seeds: [1]\n",
          .commands = {{"train", "{}", "--dry-run"}},
          .faults = {{"unknown key", "clip:", "clap:"},
                     {"not a number", "clip: 0.2", "clip: nan"},
                     {"out of range", "lstm: 4", "lstm: -4"},
                     {"unknown name", "stock-nccl", "stock-ncc"},
                     {"wrong type", "seeds: [1]", "seeds: {a: 1}"},
                     {"unit", "1KiB..1MiB", "1KiB..1MaB"},
                     {"key twice", "  clip: 0.2\n", "  clip: 0.2\n  clip: 0.3\n"}}};
}

FileKind environments() {
  return {.name = "environment",
          .file = "v.yaml",
          .text =
              "fabric: {name: ring, gpus: 4}\n"
              "actions: stock-nccl\n"
              "workload:\n"
              "  name: sweep\n"
              "  collectives: [allreduce]\n"
              "  sizes: 1KiB..1MiB x4\n",
          .commands = {{"evaluate", "{}", "--against", "random", "--seeds", "1", "--dry-run"}},
          .faults = {{"unknown key", "  sizes:", "  size:"},
                     {"unknown name", "[allreduce]", "[allredude]"},
                     {"unit", "1MiB", "1MaB"},
                     {"not a number", "gpus: 4", "gpus: x"},
                     {"out of range", "gpus: 4", "gpus: -4"}}};
}

FileKind cost_models() {
  return {
      .name = "cost model",
      .file = "m.yaml",
      .text = shipped("cost_models/parameters/h100.yaml"),
      .commands = {simulation({"--fabric", "dgx1", "--algorithm", "ring", "--cost-model", "{}"}),
                   {"describe", "cost-model", "{}"}},
      .faults = {{"unknown key", "kernel_launch:", "kernel_lunch:"},
                 {"unit", "value: 19.19us", "value: 19.19parsec"},
                 {"not a number", "value: 5us", "value: x"},
                 {"no source", "  source: \"set by hand", "  sauce: \"set by hand"}}};
}

FileKind noises() {
  return {.name = "noise",
          .file = "n.yaml",
          .text = shipped("sim/noise/profiles/cloud-ib.yaml"),
          .commands = {simulation({"--fabric", "ndv4", "--algorithm", "ring", "--noise", "{}"})},
          .faults = {{"unknown key", "\nname:", "\nnome: x\nname:"}}};
}

FileKind tables() {
  return {.name = "dispatch table",
          .file = "d.yaml",
          .text =
              "tables:\n"
              "  - fabric: dgx1\n"
              "    collective: allreduce\n"
              "    ranges:\n"
              "      - {sizes: ..64KiB, algorithm: ring, protocol: LL}\n"
              "      - {sizes: 64KiB.., algorithm: tree, protocol: Simple, channels: 2}\n",
          .commands = {simulation({"--fabric", "dgx1", "--algorithm", "dispatch:{}"}),
                       {"deploy", "--dispatch", "{}", "--for", "nccl-2.30", "--dry-run", "--out",
                        "made"}},
          .faults = {{"unknown key", "channels: 2", "chanels: 2"},
                     {"unit", "64KiB,", "64KaB,"},
                     {"unknown name", "protocol: Simple", "protocol: Simpel"},
                     {"out of range", "channels: 2", "channels: -2"}}};
}

FileKind loops() {
  const std::string folder = source_path("calibration/");
  return {.name = "loop",
          .file = "l.yaml",
          .text = replaced(shipped("experiments/loop-netlab.yaml"), "../calibration/", folder),
          .commands = {{"loop", "{}", "--dry-run"}},
          .faults = {{"unknown key", "compute:", "computer:"},
                     {"unknown name", "collective: reduce,", "collective: reducer,"},
                     {"missing file", "loop-idle.csv\nhind", "loop-none.csv\nhind"},
                     {"wrong file", "prior: " + folder + "results/netlab/loop-idle.csv",
                      "prior: " + folder + "results/netlab/loop/events.csv"},
                     {"trigger that is none", "start: idle", "trigger: l.yaml\nstart: idle"},
                     {"unit", "compute: 2ms", "compute: 2parsec"},
                     {"time after the end", "at: 840", "at: 8400"}}};
}

FileKind measurements() {
  return {.name = "measurements",
          .file = "m.csv",
          .text =
              "system,ranks,nodes,collective,size_bytes,time_us_median\n"
              "lab,8,1,all_reduce,1024,30\n"
              "lab,8,1,all_reduce,65536,40\n"
              "lab,8,1,all_reduce,1048576,90\n",
          .commands = {{"compare", "--measured", "{}", "--fabric", "dgx1", "--nccl", "2.18"},
                       {"fit", "--measured", "{}", "--fabric", "dgx1", "--nccl", "2.18", "--start",
                        "v100", "--parameters", "kernel_launch", "--evaluations", "2", "--out",
                        "made.yaml"}},
          .faults = {{"unknown column", "time_us_median", "time_us_mode"},
                     {"not a number", "65536,40", "65536,x"},
                     {"NaN", "65536,40", "65536,nan"},
                     {"unknown name", "all_reduce,1048576", "all_reducer,1048576"},
                     {"column too many", "65536,40", "65536,40,1"},
                     {"column missing", "65536,40", "65536"}}};
}

// Rows of a run, or of a shard.
FileKind results(const std::string& file, const ArgumentWords& command) {
  return {.name = "results",
          .file = file,
          .text = "",  // written by the run
          .commands = {command},
          .faults = {{"not a number", ",1024,1,", ",x,1,"},
                     {"unknown column", ",size_bytes,", ",sizes,"},
                     {"column missing", ",Simple,", ","}}};
}

FileKind programs() {
  return {.name = "MSCCL XML",
          .file = "p.xml",
          .text = "",  // that of `compile`
          .commands = {{"verify", "{}"},
                       {"compile", "{}", "--out", "made.xml"},
                       {"simulate", "--fabric", "dgx1", "--program", "{}", "--size", "1KiB"},
                       {"list", "algorithms", "--programs", "mine={}"}},
          .faults = {{"not a number", "<gpu id=\"1\"", "<gpu id=\"x\""},
                     {"out of range", "<gpu id=\"2\"", "<gpu id=\"99\""},
                     {"unknown name", "type=\"s\"", "type=\"zz\""},
                     {"unknown element", "</gpu>", "<nothing/></gpu>"}}};
}

FileKind loop_records() {
  return {.name = "loop's record",
          .file = "record/calls.csv",
          .text = "",  // the first lines of the shipped one
          .commands = {{"loop", "--show", "record"}},
          .faults = {{"not a number", ",656.4,", ",x,"},
                     {"unknown column", ",size_bytes,", ",sizes,"},
                     {"column missing", ",656.4,", ","}}};
}

FileKind validations() {
  return {
      .name = "validation's rows",
      .file = "rows/idle.rows.csv",
      .text = shipped("calibration/results/netlab/validation/idle-1.rows.csv"),
      .commands = {{"validate", "--show", "rows"}},
      .faults = {{"unknown column", "size_bytes", "sizes"}, {"column missing", "allreduce,", ""}}};
}

// The line of the first byte that differs.
std::size_t changed_line(const std::string& before, const std::string& after) {
  const auto at = std::ranges::mismatch(before, after).in1;
  return 1 + static_cast<std::size_t>(std::count(before.begin(), at, '\n'));
}

// True if the message contains the file, this line and a column.
bool names_line(const std::string& message, const std::string& file, std::size_t line) {
  const std::string place = file + ":" + std::to_string(line) + ":";
  const std::size_t at = message.find(place);
  if (at == std::string::npos) return false;
  const char next = message.size() > at + place.size() ? message[at + place.size()] : ' ';
  return next >= '1' && next <= '9';
}

class LineFaults {
 public:
  explicit LineFaults(const TemporaryFolder& folder) : folder_(folder) {}

  void check(const FileKind& kind) {
    for (const ArgumentWords& command : kind.commands) {
      write_file(folder_ / kind.file, kind.text);
      const Ended valid = run_program(filled(command, kind.file), folder_.path());
      INFO(kind.name << ", valid: " << command.front() << "\n" << valid.err << valid.out);
      CHECK(valid.code == 0);
      std::filesystem::remove_all(folder_ / "made");
      std::filesystem::remove_all(folder_ / "made.xml");
      for (const LineFault& fault : kind.faults) check(kind, command, fault);
    }
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  static ArgumentWords filled(ArgumentWords words, const std::string& file) {
    for (std::string& word : words) {
      if (const auto at = word.find("{}"); at != std::string::npos) word.replace(at, 2, file);
    }
    return words;
  }

  void check(const FileKind& kind, const ArgumentWords& command, const LineFault& fault) {
    std::string text = kind.text;
    const std::size_t at = text.find(fault.from);
    INFO(kind.name << ", " << fault.name << ": " << command.front());
    REQUIRE(at != std::string::npos);
    text.replace(at, fault.from.size(), fault.to);
    write_file(folder_ / kind.file, text);
    const Ended ended = run_program(filled(command, kind.file), folder_.path());
    const std::size_t line = changed_line(kind.text, text);
    // `verify` prints faults of a program on standard output.
    const std::string said = ended.err + ended.out;
    INFO("line " << line << ", exit code " << ended.code << ": " << said);
    CHECK((ended.code == 1 || ended.code == 2));
    CHECK(names_line(said, kind.file, line));
    ++count_;
  }

  const TemporaryFolder& folder_;
  int count_ = 0;
};

TEST_CASE("a fault in a valid file is refused at its line", "[cli][wrong-inputs]") {
  const TemporaryFolder folder;
  const auto done = [&](const ArgumentWords& args) {
    const Ended ended = run_program(args, folder.path());
    INFO(args[0] << ": " << ended.err);
    REQUIRE(ended.code == 0);
  };
  LineFaults faults(folder);
  for (const FileKind& kind : {experiments(), fabrics(), trainings(), environments(), cost_models(),
                               noises(), tables(), loops(), measurements()}) {
    faults.check(kind);
  }
  FileKind xml = programs();
  done({"compile", "ring", "--collective", "allreduce", "--gpus", "8", "--out", xml.file});
  xml.text = read_file(folder / xml.file);
  faults.check(xml);
  write_file(folder / "e.yaml", experiments().text);
  done({"run", "e.yaml", "--out", "run", "--quiet"});
  for (const char* shard : {"1/2", "2/2"}) {
    done({"run", "e.yaml", "--shard", shard, "--out", "parts", "--quiet"});
  }
  for (FileKind rows : {results("run/results.csv", {"report", "run"}),
                        results("parts/shard-1-of-2.csv", {"merge", "parts", "--out", "made"})}) {
    rows.text = read_file(folder / rows.file);
    faults.check(rows);
  }
  std::filesystem::copy(source_path("calibration/results/netlab/loop"), folder / "record");
  FileKind record = loop_records();
  record.text = read_file(folder / record.file);
  faults.check(record);
  std::filesystem::create_directory(folder / "rows");
  faults.check(validations());
  CHECK(faults.count() >= 100);
}

}  // namespace
}  // namespace cclgym::test
