// Manual pages and completions, made from the arguments that commands declare.
#include "cli/reference/reference.hpp"

#include <algorithm>
#include <string>

#include "support/catch.hpp"

namespace cclgym {
namespace {

const Command& command_called(const std::string& name) {
  const auto& all = all_commands();
  const auto found = std::ranges::find(all, name, &Command::name);
  REQUIRE(found != all.end());
  return **found;
}

bool has(const std::vector<ArgumentRecord>& records, const std::string& name) {
  return std::ranges::find(records, name, &ArgumentRecord::name) != records.end();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int nothing(const std::vector<std::string>& args) {
  ArgumentReader reader(command_called("list"));
  reader.positional("FILE", ".a file: 'read'")
      .option("size,s", "BYTES", "bytes [default: 1]\\n")
      .option({.name = "way", .kind = OptionKind::Choice, .choices = {"up", "down"}}, "WAY")
      .flag("fast", "it's fast");
  return reader.read(args) ? 1 : 0;
}

CommandRecord made_up() {
  static const Command command{
      .name = "move", .summary = "Move it", .usage = "FILE", .examples = ".x\n", .run = nothing};
  return {&command, argument_records(command)};
}

}  // namespace

TEST_CASE("the arguments of a command are known without running it", "[cli][reference]") {
  const std::vector<ArgumentRecord> records = made_up().arguments;
  REQUIRE(records.size() == 5);
  CHECK(records[0].name == "FILE");
  CHECK(records[0].positional);
  CHECK(records[1].name == "size");
  CHECK(records[1].short_name == "s");
  CHECK(records[1].value_name == "BYTES");
  CHECK(records[2].choices == std::vector<std::string>{"up", "down"});
  CHECK(records[3].value_name.empty());
  CHECK(records[4].name == "help");
  for (const Command* command : all_commands()) {
    INFO(command->name);
    CHECK(argument_records(*command).size() > 1);
  }
}

TEST_CASE("the reference has the options of all modes of a command", "[cli][reference]") {
  const std::vector<ArgumentRecord> calibrate = argument_records(command_called("calibrate"));
  CHECK(has(calibrate, "launch"));  // mpi
  CHECK(has(calibrate, "nccl"));    // nccl
  CHECK(has(argument_records(command_called("validate")), "nccl"));
  CHECK(std::ranges::count(calibrate, "out", &ArgumentRecord::name) == 1);
}

TEST_CASE("first words come from a command's usage or its modes", "[cli][reference]") {
  CHECK(first_words(command_called("calibrate")) ==
        std::vector<std::string>{"mpi", "nccl", "cuda"});
  const std::vector<std::string> topics = first_words(command_called("list"));
  CHECK(topics.front() == "fabrics");
  CHECK(topics.back() == "workloads");
  CHECK(first_words(command_called("run")).empty());
}

TEST_CASE("texts are escaped for each shell and for man", "[cli][reference]") {
  const std::vector<CommandRecord> commands{made_up()};
  const std::string bash = bash_completion(commands);
  CHECK(contains(bash, "options='--size -s --way --fast --help -h'"));
  CHECK(contains(bash, "--way) words='up down' ;;"));
  CHECK(contains(bash, "--size|-s) return ;;"));
  const std::string zsh = zsh_completion(commands);
  CHECK(contains(zsh, "'--fast[it'\\''s fast]'"));
  CHECK(contains(zsh, "[bytes \\[default\\: 1\\]\\\\n]:BYTES:_files'"));
  const std::string fish = fish_completion(commands);
  CHECK(contains(fish, "-l fast -d 'it\\'s fast'"));
  CHECK(contains(fish, "-l way -r -f -a 'up down'"));
  const std::string manual = command_manual(commands.front());
  CHECK(contains(manual, "\n\\&.a file: 'read'\n"));
  CHECK(contains(manual, "\\fB\\-s, \\-\\-size\\fR \\fIBYTES\\fR"));
  CHECK(contains(manual, "\n.nf\n\\&.x\n.fi\n"));
}

}  // namespace cclgym
