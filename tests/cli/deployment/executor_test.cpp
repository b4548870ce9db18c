// Tests of what commands say about a program in the executors of MSCCL XML: slots and call sizes.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace cclgym::test {
namespace {

std::string step_of(int number, const std::string& type, const std::string& from, int source,
                    int target, int count = 1) {
  return fmt::format(
      "<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"o\" dstoff=\"{}\" "
      "cnt=\"{}\" "
      "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>",
      number, type, from, source, target, count);
}

// AllGather of two GPUs, each of which sends all of its chunks before it receives any: a connection
// must hold as many messages as there are chunks. `attributes` follow those of every file.
std::string all_at_once(int chunks, const std::string& protocol, const std::string& attributes) {
  std::string text = fmt::format(
      "<algo name=\"at-once\" proto=\"{}\" nchannels=\"1\" nchunksperloop=\"{}\" ngpus=\"2\" "
      "coll=\"allgather\" inplace=\"0\"{}>",
      protocol, 2 * chunks, attributes);
  for (int gpu = 0; gpu < 2; ++gpu) {
    text += fmt::format(
        "<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"0\">"
        "<tb id=\"0\" send=\"{}\" recv=\"{}\" chan=\"0\">",
        gpu, chunks, 2 * chunks, 1 - gpu, 1 - gpu);
    for (int k = 0; k < chunks; ++k) text += step_of(k, "s", "i", k, gpu * chunks + k);
    for (int k = 0; k < chunks; ++k) {
      text += step_of(chunks + k, "r", "i", k, (1 - gpu) * chunks + k);
    }
    text += "</tb><tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">" +
            step_of(0, "cpy", "i", 0, gpu * chunks, chunks) + "</tb></gpu>";
  }
  return text + "</algo>";
}

std::string azure(const std::string& min, const std::string& max) {
  return " outofplace=\"1\" minBytes=\"" + min + "\" maxBytes=\"" + max + "\"";
}

Ended run(const TemporaryFolder& folder, const std::vector<std::string>& args) {
  return run_program(args, folder.path());
}

Ended simulate(const TemporaryFolder& folder, const std::string& size,
               std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"simulate", "--fabric", "hgx-h100", "--gpus-per-node", "2",
                             "--program", "p.xml", "--size", size});
  return run(folder, more);
}

TEST_CASE("verify takes the slots of the file's protocol", "[cli][executor]") {
  const TemporaryFolder folder;
  const auto verdict = [&](int chunks, const std::string& protocol,
                           std::vector<std::string> more = {}) {
    write_file(folder / "p.xml", all_at_once(chunks, protocol, azure("393216", "0")));
    more.insert(more.begin(), {"verify", "p.xml"});
    return run(folder, more);
  };
  for (const char* protocol : {"LL", "LL128"}) {
    const Ended right = verdict(8, protocol);
    INFO(right.out << right.err);
    CHECK(right.code == 0);
    CHECK(contains(right.out,
                   std::string("in every order of execution, with 8 slots (") + protocol + ")\n"));
    CHECK(verdict(9, protocol).code == 1);
  }
  CHECK(verdict(2, "Simple").code == 0);
  const Ended wrong = verdict(3, "Simple");
  CHECK(wrong.code == 1);
  CHECK(contains(wrong.out, "wrong with 2 slots (Simple):\n"));
  const Ended given = verdict(3, "Simple", {"--slots", "3"});
  CHECK(given.code == 0);
  CHECK(contains(given.out, "with 3 slots\n"));
  const Ended executed = verdict(8, "LL", {"--execute"});
  CHECK(executed.code == 0);
  CHECK(contains(executed.out, "with 8 slots: right"));
  const Ended json = verdict(3, "Simple", {"--json"});
  CHECK(json.code == 1);
  CHECK(nlohmann::json::parse(json.out)["slots"] == 2);
}

TEST_CASE("verify says that microsoft/msccl never uses a file", "[cli][executor]") {
  const TemporaryFolder folder;
  write_file(folder / "p.xml", all_at_once(1, "LL", " minBytes=\"0\" maxBytes=\"0\""));
  const Ended never = run(folder, {"verify", "p.xml"});
  CHECK(never.code == 0);
  CHECK(contains(never.err, "note: the executor never uses"));
  const Ended compiled = run(folder, {"compile", "p.xml", "--dialect", "azure", "--out", "a.xml"});
  CHECK(compiled.code == 2);
  CHECK(contains(compiled.err, "no call would use it"));
}

TEST_CASE("simulate warns of a program that hangs in the executor", "[cli][executor]") {
  const TemporaryFolder folder;
  write_file(folder / "p.xml", all_at_once(3, "Simple", azure("0", "0")));
  const Ended hangs = simulate(folder, "64KiB");
  INFO(hangs.err);
  CHECK(hangs.code == 0);
  CHECK(contains(hangs.err,
                 "warning: program 'at-once' hangs in the executor: with protocol "
                 "Simple a connection holds 2 messages, and the program needs 3; "
                 "protocol LL or LL128 has 8\n"));
  CHECK(simulate(folder, "64KiB", {"--protocol", "LL"}).err.empty());
  const Ended named = run(folder, {"simulate", "--fabric", "hgx-h100", "--gpus-per-node", "2",
                                   "--programs", "mine=p.xml", "--collective", "allgather",
                                   "--algorithm", "mine", "--size", "64KiB"});
  CHECK(contains(named.err, "hangs in the executor"));
  const Ended compiled = run(folder, {"compile", "p.xml", "--out", "c.xml"});
  CHECK(compiled.code == 0);
  CHECK(contains(compiled.err, "hangs in the executor"));
  CHECK(run(folder, {"compile", "p.xml", "--protocol", "LL", "--out", "c.xml"}).err.empty());
}

TEST_CASE("simulate notes that the executor does not use the file for the size",
          "[cli][executor]") {
  const TemporaryFolder folder;
  const auto noted = [&](const std::string& attributes, const std::string& size) {
    write_file(folder / "p.xml", all_at_once(2, "LL", attributes));
    const Ended ended = simulate(folder, size);
    CHECK(ended.code == 0);
    return ended.err;
  };
  CHECK(noted(azure("0", "32768"), "4MiB") ==
        "note: the executor does not use 'p.xml' for calls of 4MiB: minBytes is 0 and maxBytes "
        "32768\n");
  CHECK(noted(azure("0", "32768"), "32KiB").empty());
  CHECK(noted(azure("65536", "0"), "32KiB") ==
        "note: the executor does not use 'p.xml' for calls of 32KiB: minBytes is 65536 and "
        "maxBytes 0\n");
  CHECK(noted(azure("65536", "0"), "1GiB").empty());
  CHECK(contains(noted(" minBytes=\"0\" maxBytes=\"32768\"", "32KiB"),
                 "maxBytes 32768, below which microsoft/msccl uses a program\n"));
  CHECK(contains(noted("", "128MiB"), "does not use 'p.xml' for calls of 128MiB"));
}

TEST_CASE("compile translates call sizes into either dialect", "[cli][executor]") {
  const TemporaryFolder folder;
  const auto max_bytes = [&](const std::string& attributes, std::vector<std::string> more) {
    write_file(folder / "p.xml", all_at_once(1, "LL", attributes));
    more.insert(more.begin(), {"compile", "p.xml", "--out", "c.xml"});
    const Ended ended = run(folder, more);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    const std::string text = read_file(folder / "c.xml");
    const std::size_t from = text.find("maxBytes=\"") + 10;
    return text.substr(from, text.find('"', from) - from);
  };
  CHECK(max_bytes(azure("1024", "2097151"), {"--dialect", "microsoft"}) == "2097152");
  CHECK(max_bytes(azure("0", "0"), {"--dialect", "microsoft"}) == "9223372036854775807");
  CHECK(max_bytes(" minBytes=\"0\" maxBytes=\"2097152\"", {"--dialect", "azure"}) == "2097151");
  CHECK(max_bytes("", {"--max-bytes", "1MiB"}) == "1048577");
  CHECK(max_bytes(azure("0", "4096"), {"--max-bytes", "1MiB"}) == "1048576");
  CHECK(max_bytes(azure("0", "4096"), {"--max-bytes", "0B"}) == "0");
}

}  // namespace
}  // namespace cclgym::test
