#include "core/files/text_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/files/folder_lock.hpp"
#include "core/files/writable.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/needs.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

namespace cclgym {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t entries(const test::TemporaryFolder& folder) {
  return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
}

std::string contents(const std::string& path) {
  return read_text_file(path, std::size_t{1} << 20U);
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

TEST_CASE("a file is replaced as a whole, and nothing else is touched", "[core][text-file]") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "a.txt";
  write_text_file(path + ".partial", "somebody's");
  write_text_file(path, "one");
  CHECK(contents(path) == "one");
  write_text_file(path, "");
  CHECK(contents(path).empty());
  CHECK(contents(path + ".partial") == "somebody's");
  CHECK(entries(folder) == 2);
  // Maximum length of a file name.
  write_text_file(folder / std::string(255, 'x'), "long");
  CHECK(contents(folder / std::string(255, 'x')) == "long");
}

TEST_CASE("a new file has the usual permissions, a replaced one keeps its own",
          "[core][text-file]") {
  const test::TemporaryFolder folder;
  const mode_t mask = ::umask(027);
  write_text_file(folder / "new", "x");
  ::umask(mask);
  CHECK(mode_of(folder / "new") == 0640);
  REQUIRE(::chmod((folder / "new").c_str(), 0604) == 0);
  write_text_file(folder / "new", "y");
  CHECK(mode_of(folder / "new") == 0604);
  CHECK(contents(folder / "new") == "y");
}

TEST_CASE("a symbolic link is followed", "[core][text-file]") {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "sub");
  fs::create_symlink("sub/target", folder / "relative");
  fs::create_symlink(folder / "relative", folder / "absolute");
  write_text_file(folder / "absolute", "through a chain to nothing yet");
  CHECK(fs::is_symlink(folder / "absolute"));
  CHECK(fs::is_symlink(folder / "relative"));
  CHECK(fs::is_regular_file(fs::symlink_status(folder / "sub/target")));
  write_text_file(folder / "relative", "again");
  CHECK(fs::is_symlink(folder / "relative"));
  CHECK(contents(folder / "sub/target") == "again");
  fs::create_symlink("loop", folder / "loop");
  CHECK(thrown([&] {
          return write_text_file(folder / "loop", "x"), 0;
        }).find("loop': cannot be written: ") != std::string::npos);
  CHECK(fs::is_symlink(folder / "loop"));
}

TEST_CASE("a pipe is written to and stays a pipe", "[core][text-file]") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const std::string text(300'000, 'p');  // more than a pipe can hold
  std::string got;
  std::thread reader([&] { got = contents(path); });
  write_text_file(path, text);
  reader.join();
  CHECK(got == text);
  CHECK(fs::is_fifo(path));
  CHECK(entries(folder) == 1);
}

TEST_CASE("who must not wait reads regular files alone, and no more than their size",
          "[core][text-file]") {
  const test::TemporaryFolder folder;
  const auto refusal = [](const std::string& path, std::size_t most = 100) {
    return thrown([&] { return read_regular_file(path, most); });
  };
  write_text_file(folder / "a", "0123456789");
  CHECK(read_regular_file(folder / "a", 10) == "0123456789");
  CHECK(refusal(folder / "a", 9) == "'" + (folder / "a") + "': too large; expected at most 9B");
  write_text_file(folder / "empty", "");
  CHECK(read_regular_file(folder / "empty", 0).empty());
  fs::create_symlink("a", folder / "link");
  CHECK(read_regular_file(folder / "link", 10) == "0123456789");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(refusal(folder / "pipe") == "'" + (folder / "pipe") +
                                        "': not a regular file (a pipe or a device, say); expected "
                                        "a file");
  CHECK(refusal("/dev/zero").find("not a regular file") != std::string::npos);
  CHECK(refusal(folder / "none") == "'" + (folder / "none") + "' does not exist");
  CHECK(refusal(folder / ".").find("is a folder") != std::string::npos);
  CHECK(refusal("") == "an empty file name; expected the path of a file");
  // The kernel reports size 0 for this file.
  CHECK(read_regular_file("/proc/self/status", 1 << 20).empty());
}

TEST_CASE("a full device is told, and stays a device", "[core][text-file]") {
  SKIP_UNLESS(fs::is_character_file("/dev/full"), test::kNeedsDevFull);
  CHECK(thrown([] { return write_text_file("/dev/full", "text"), 0; }) ==
        "'/dev/full': cannot be written: No space left on device");
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("what cannot be a file is refused by name", "[core][text-file]") {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "sub");
  const auto refusal = [&](const std::string& path) {
    return thrown([&] { return write_text_file(path, "x"), 0; });
  };
  CHECK(refusal("") == "an empty file name; expected the path of a file");
  CHECK(refusal(std::string("a\0b", 3)).find("not a file name") != std::string::npos);
  CHECK(refusal(folder / "sub") == "'" + (folder / "sub") + "' is a folder; expected a file");
  CHECK(refusal(folder / "none/a").find("cannot be written: No such file") != std::string::npos);
  CHECK(entries(folder) == 1);
}

TEST_CASE("a check finds what would keep a file from being written, and leaves nothing",
          "[core][text-file]") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  const auto refused = [](const std::string& path) {
    return thrown([&] {
      check_writable(path);
      return 0;
    });
  };
  CHECK(refused(folder / "new") == "(nothing thrown)");
  CHECK(refused("/dev/null") == "(nothing thrown)");
  CHECK(entries(folder) == 1);
  write_text_file(folder / "old", "text");
  CHECK(refused(folder / "old") == "(nothing thrown)");
  CHECK(contents(folder / "old") == "text");
  CHECK(refused(folder / "sub") == "'" + (folder / "sub") + "' is a folder; expected a file");
  CHECK(refused(folder / "none/a") ==
        "'" + (folder / "none/a") + "': the folder '" + (folder / "none") + "' does not exist");
  CHECK(refused("/proc/a").starts_with("'/proc/a': cannot be written: "));
  CHECK(refused("").find("an empty file name") == 0);
  CHECK(entries(folder) == 2);
}

TEST_CASE("threads that write one file at once leave one of their texts", "[core][text-file]") {
  const test::TemporaryFolder folder;
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&folder, i] {
      for (int k = 0; k < 20; ++k) {
        write_text_file(folder / "shared", std::string(5000, static_cast<char>('a' + i)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = contents(folder / "shared");
  CHECK(text == std::string(5000, text[0]));
  CHECK(entries(folder) == 1);
}

TEST_CASE("a folder is locked for other processes until the lock is gone", "[core][files]") {
  const test::TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    CHECK(test::contains(thrown([&] {
                           const FolderLock other(folder.path());
                           return 0;
                         }),
                         "another command is writing there; wait for it or choose another folder"));
  }
  CHECK(thrown([&] {
          const FolderLock later(folder.path());
          return 0;
        }) == "(nothing thrown)");
}

}  // namespace
}  // namespace cclgym
