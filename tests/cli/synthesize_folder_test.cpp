// Tests of the output folder of cclgym synthesize: interruptions, continuation, other input.
#include <csignal>
#include <filesystem>
#include <map>
#include <sys/wait.h>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace cclgym::test {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

// Texts of all files below a folder but synthesis.txt, whose lines are in the order of the answers.
Files file_texts(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    if (entry.is_regular_file() && name != "synthesis.txt") {
      files[name] = read_file(entry.path().string());
    }
  }
  return files;
}

// A synthesis of step schedules whose time limit no machine reaches.
std::vector<std::string> synthesis_into(const std::string& out, const std::string& fabric,
                                        const std::string& collective) {
  return {"synthesize", "--fabric",     fabric,  "--collective", collective, "--pareto",
          "--no-sweep", "--time-limit", "86400", "-o",           out};
}

std::vector<std::string> exchange_into(const std::string& out) {
  return synthesis_into(out, "dgx1", "alltoall");
}

std::vector<std::string> gather_into(const std::string& out) {
  return synthesis_into(out, "z52", "allgather");
}

std::vector<std::string> with(std::vector<std::string> args, const std::vector<std::string>& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// A search that needs more than one turn.
std::vector<std::string> failed_link_into(const std::string& out) {
  return with(synthesis_into(out, "dgx1", "allgather"), {"--without", "gpu0:gpu4"});
}

bool has_answer(const std::string& out) {
  return fs::exists(out + "/synthesis.txt") &&
         contains(read_file(out + "/synthesis.txt"), "\nfound broadcast ");
}

// A search without end in practice, whose first answers come soon.
std::vector<std::string> long_search_into(const std::string& out) {
  return with(synthesis_into(out, "dgx1", "broadcast"), {"--without", "gpu0:gpu4, gpu1:gpu5"});
}

// Starts the long search and sends the signal after its first answer. Returns the wait status.
int interrupt_after_answer(const std::string& out, const std::string& err, int signal) {
  const pid_t program = start_program(long_search_into(out), err);
  CHECK(comes_true([&] { return has_answer(out) || has_ended(program); }));
  ::kill(program, signal);
  int status = 0;
  ::waitpid(program, &status, 0);
  return status;
}

TEST_CASE("synthesize continues after a limit, and ends with the files of one long run",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  const Ended whole = run_program(failed_link_into("whole"), folder.path());
  INFO(whole.err);
  REQUIRE(whole.code == 0);
  CHECK_FALSE(contains(whole.out, "may go on"));

  // Nothing can be found before the first turn of a search: the exit code is 1, and the bounds are
  // said.
  const Ended first =
      run_program(with(failed_link_into("parts"), {"--max-conflicts", "1"}), folder.path());
  CHECK(first.code == 1);
  CHECK(contains(first.out, "allgather on dgx1 without=gpu0:gpu4: 0 programs\nbounds: steps >= 3"));
  CHECK(contains(first.out, "may go on"));
  CHECK(fs::exists(folder / "parts/report.html"));
  const Ended part =
      run_program(with(failed_link_into("parts"), {"--max-conflicts", "500"}), folder.path());
  CHECK(part.code == 0);
  CHECK(contains(part.out, "may go on"));
  CHECK(file_texts(folder / "parts") != file_texts(folder / "whole"));
  const Ended last = run_program(failed_link_into("parts"), folder.path());
  INFO(last.err);
  CHECK(last.code == 0);
  CHECK(file_texts(folder / "parts") == file_texts(folder / "whole"));

  // A further run searches for nothing, and keeps the refutations that are proven.
  const Ended again = run_program(failed_link_into("parts"), folder.path());
  CHECK(again.code == 0);
  CHECK(contains(again.err, "continuing: "));
  CHECK(again.out == last.out);
  CHECK(file_texts(folder / "parts") == file_texts(folder / "whole"));
}

TEST_CASE(
    "after a kill there is no report and no file of the other input; another run completes it",
    "[cli][synthesize]") {
  const TemporaryFolder folder;
  const std::string out = folder / "made";
  REQUIRE(run_program(gather_into(out)).code == 0);
  REQUIRE(fs::exists(out + "/report.html"));
  write_file(out + "/programs/mine.xml", "<algo/>");
  // Another input, killed during its search.
  const int killed = interrupt_after_answer(out, "/dev/null", SIGKILL);
  REQUIRE(WIFSIGNALED(killed));
  CHECK_FALSE(fs::exists(out + "/report.html"));
  for (const auto& entry : fs::directory_iterator(out + "/programs")) {
    CHECK(entry.path().filename() == "mine.xml");
  }

  const Ended ended = run_program(exchange_into(out));
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(fs::exists(out + "/report.html"));
  Files files = file_texts(out);
  CHECK(files.extract("programs/mine.xml").mapped() == "<algo/>");
  REQUIRE(run_program(exchange_into(folder / "fresh")).code == 0);
  CHECK(files == file_texts(folder / "fresh"));
}

TEST_CASE("Ctrl-C during a search ends with exit code 130 and says how to go on",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  const std::string out = folder / "made";
  const int status = interrupt_after_answer(out, folder / "err", SIGINT);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(contains(read_file(folder / "err"),
                 "interrupted: the answers so far are kept; the same command continues\n"));
  CHECK_FALSE(fs::exists(out + "/report.html"));
  // The answer that was found is enough for a program.
  const Ended ended = run_program(with(long_search_into(out), {"--max-conflicts", "1"}));
  CHECK(ended.code == 0);
  CHECK(contains(ended.err, " of an earlier run "));
  CHECK(contains(ended.out, "note: The search stopped early: the best program has R/C "));
}

TEST_CASE("synthesize removes its own files for another input, and refuses foreign ones",
          "[cli][synthesize]") {
  const TemporaryFolder folder;
  REQUIRE(run_program(gather_into("made"), folder.path()).code == 0);
  write_file(folder / "made/notes.txt", "mine");
  const Ended other = run_program(synthesis_into("made", "z52", "reducescatter"), folder.path());
  CHECK(other.code == 0);
  CHECK(contains(other.err, "a synthesis of other input, whose files are removed\n"));
  CHECK(read_file(folder / "made/notes.txt") == "mine");
  for (const auto& entry : fs::directory_iterator(folder / "made/programs")) {
    CHECK(entry.path().filename().string().starts_with("reducescatter-"));
  }

  const auto refused = [&](const std::string& out, const std::string& message) {
    const Ended ended = run_program(gather_into(out), folder.path());
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, message));
  };
  write_file(folder / "theirs/report.html", "theirs");
  refused("theirs", "theirs/report.html': not written by cclgym synthesize");
  CHECK(read_file(folder / "theirs/report.html") == "theirs");
  write_file(folder / "file", "text");
  refused("file", "'file' is a file; expected a folder");
  refused("file/below", "cannot be made");

  // Any change of synthesis.txt is found.
  std::string text = read_file(folder / "made/synthesis.txt");
  text[text.find("reducescatter")] = 'R';
  write_file(folder / "made/synthesis.txt", text);
  refused("made", "made/synthesis.txt: damaged (its hash is not that of its text)");
  write_file(folder / "made/synthesis.txt", "cclgym synthesize ");
  refused("made", "made/synthesis.txt: damaged");
  write_file(folder / "made/synthesis.txt", "another program");
  refused("made", "made/synthesis.txt': not written by cclgym synthesize");
}

}  // namespace
}  // namespace cclgym::test
