// cclgym verify: checks that a program is legal and computes its collective.
#include "collectives/verifier/verify.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/json_output.hpp"
#include "cli/programs/program_request.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "collectives/algorithms/algorithms.hpp"
#include "collectives/library/algorithm_library.hpp"
#include "collectives/msccl/msccl_xml.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "core/error.hpp"

namespace cclgym {

namespace {

constexpr int kWrong = 1;

const OptionSpec kInterleavings{.name = "interleavings",
                                .kind = OptionKind::Integer,
                                .description = "number of execution orders to try, with --execute",
                                .min = 1,
                                .max = 1000000,
                                .default_text = "16"};
const OptionSpec kSeed{.name = "seed",
                       .kind = OptionKind::Integer,
                       .description = "seed of the orders and the data, with --execute",
                       .min = 0,
                       .default_text = "0"};
const OptionSpec kSlots{.name = "slots",
                        .kind = OptionKind::Integer,
                        .description =
                            "number of messages that fit on a connection [default: that of the "
                            "file's protocol, 8 for LL and LL128 and 2 for Simple; 2 for an "
                            "algorithm]",
                        .min = 1,
                        .max = 8};

// Number of messages that fit on a connection.
struct Slots {
  std::int32_t count = 2;
  std::string of{};  // protocol that has so many; empty if --slots gives them

  [[nodiscard]] std::string text() const {
    return fmt::format("{} slot{}{}", count, count == 1 ? "" : "s",
                       of.empty() ? "" : fmt::format(" ({})", of));
  }
};

std::string plural(std::int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Result of a check for --json.
struct Verdict {
  std::string form{};  // "in place", "out of place", or empty
  bool ok = true;
  std::vector<std::string> problems{};
  int interleavings = 0;  // executed ones
};

Verdict verdict_of(const ThreadBlockProgram& program, const Slots& slots, const std::string& form,
                   const std::optional<ExecuteOptions>& execution) {
  const VerifyReport report = verify(program, {.slots = slots.count});
  Verdict verdict{.form = form, .ok = report.ok, .problems = report.problems};
  if (!report.ok || !execution) return verdict;
  const ExecuteReport executed = execute(program, *execution);
  verdict.ok = executed.ok;
  verdict.interleavings = executed.interleavings;
  if (!executed.ok) verdict.problems.push_back(executed.to_string());
  return verdict;
}

// Prints the program and the verdicts as one JSON value; returns true if all are right.
bool print_verdicts(const ThreadBlockProgram& program, const Slots& slots,
                    const std::vector<Verdict>& verdicts) {
  nlohmann::ordered_json json{{"program", program.name},
                              {"collective", program.contract.name()},
                              {"ranks", program.contract.ranks()},
                              {"channels", program.channels},
                              {"thread_blocks", program.thread_blocks()},
                              {"steps", program.instructions()},
                              {"slots", slots.count},
                              {"checks", nlohmann::ordered_json::array()}};
  bool ok = true;
  for (const Verdict& verdict : verdicts) {
    ok = ok && verdict.ok;
    json["checks"].push_back({{"form", verdict.form},
                              {"ok", verdict.ok},
                              {"interleavings", verdict.interleavings},
                              {"problems", verdict.problems}});
  }
  json["ok"] = ok;
  print_json(json);
  return ok;
}

// Prints whether the program is correct, and its errors if not; `form` begins the lines. Also
// executes the program if `execution` is set.
bool check(const ThreadBlockProgram& program, const Slots& slots, const std::string& form,
           const std::optional<ExecuteOptions>& execution) {
  const VerifyReport report = verify(program, {.slots = slots.count});
  if (!report.ok) {
    print_out("{}wrong with {}:\n{}", form, slots.text(), report.to_string());
    return false;
  }
  if (program.contract.kind() == CollectiveKind::Custom) {
    print_out(
        "{}right: no races, deadlocks or unmatched messages (custom: it requires no result), with "
        "{}\n",
        form, slots.text());
  } else {
    print_out("{}right: computes {} in every order of execution, with {}\n", form,
              program.contract.name(), slots.text());
  }
  if (!execution) return true;
  const ExecuteReport executed = execute(program, *execution);
  if (!executed.ok) {
    print_out("{}wrong when executed, interleaving {}:\n{}", form, executed.interleavings,
              executed.to_string());
    return false;
  }
  print_out("{}executed {} with {}: right\n", form, plural(executed.interleavings, "interleaving"),
            plural(slots.count, "slot"));
  return true;
}

// A name that is neither is that of a file, unless a collective is named.
bool names_algorithm(const std::string& name, const Arguments& arguments) {
  return algorithms::spells_levels(name) || AlgorithmLibrary::shipped().find(name) != nullptr ||
         (arguments.has("collective") && !name.ends_with(".xml"));
}

void print_program(const ThreadBlockProgram& program) {
  print_out("{} {} for {} GPUs, {}, {} thread blocks, {} steps\n", program.name,
            program.contract.name(), program.contract.ranks(), plural(program.channels, "channel"),
            program.thread_blocks(), program.instructions());
}

int verify_program(const std::vector<std::string>& args) {
  ArgumentReader reader(verify_command());
  reader.positional("PROGRAM",
                    "program in MSCCL XML (FILE.xml), in either dialect, or name of an algorithm "
                    "(cclgym list algorithms)");
  add_program_request(reader);
  const auto arguments =
      reader
          .flag("execute",
                "also execute the program on numbers, with thread blocks interleaved at random")
          .option(kInterleavings, "N")
          .option(kSeed, "S")
          .option(kSlots, "K")
          .flag("json", kJsonHelp)
          .read(args);
  if (!arguments) return 0;
  for (const OptionSpec& only : {kInterleavings, kSeed}) {
    if (arguments->has(only.name) && !arguments->has("execute")) {
      throw UserError(
          argument_location(only.name),
          "this option is about the execution, which --execute requests; add --execute");
    }
  }
  const std::string& name = arguments->text("PROGRAM");
  Slots slots;
  if (arguments->has("slots")) slots.count = static_cast<int>(arguments->integer(kSlots));
  std::optional<ExecuteOptions> execution;
  const ExecuteOptions wanted{.interleavings = static_cast<int>(arguments->integer(kInterleavings)),
                              .seed = static_cast<std::uint64_t>(arguments->integer(kSeed)),
                              .slots = slots.count};
  if (arguments->has("execute")) execution = wanted;

  const bool json = wants_json(*arguments);
  if (names_algorithm(name, *arguments)) {
    const auto program = requested_program(*arguments, "PROGRAM", slots.count);
    if (json) {
      const std::vector<Verdict> verdicts{verdict_of(*program, slots, "", execution)};
      return print_verdicts(*program, slots, verdicts) ? 0 : kWrong;
    }
    print_program(*program);
    return check(*program, slots, "", execution) ? 0 : kWrong;
  }
  refuse_program_request(*arguments);
  const XmlProgram read = read_msccl_xml_file(name);
  if (!arguments->has("slots")) {
    slots = {.count = executor_slots(read.settings.protocol), .of = read.settings.protocol};
    if (execution) execution->slots = slots.count;
  }
  if (read.settings.end_bytes <= read.settings.min_bytes) {
    print_error(
        "note: the executor never uses {}: maxBytes is {}, and microsoft/msccl uses a program only "
        "below it\n",
        quoted(name, 200), read.settings.end_bytes);
  }
  const ThreadBlockProgram& program = read.program;
  const Contract& contract = program.contract;
  if (json) {
    std::vector<Verdict> verdicts;
    if (read.settings.also_in_place) {
      verdicts.push_back(verdict_of(program, slots, "out of place", execution));
      verdicts.push_back(verdict_of(in_place_form(program), slots, "in place", execution));
    } else {
      verdicts.push_back(verdict_of(program, slots, "", execution));
    }
    return print_verdicts(program, slots, verdicts) ? 0 : kWrong;
  }
  print_out("{}: ", name);
  print_program(program);
  if (is_rooted(contract.kind())) {
    print_out(
        "root: rank {}{}\n", contract.root(),
        read.root_assumed ? " (assumed: the file does not state it, and no rank stands out)" : "");
  }
  if (!read.settings.also_in_place) return check(program, slots, "", execution) ? 0 : kWrong;
  const bool apart = check(program, slots, "out of place: ", execution);
  const bool in_place = check(in_place_form(program), slots, "in place: ", execution);
  return apart && in_place ? 0 : kWrong;
}

}  // namespace

const Command& verify_command() {
  static const Command command{
      .name = "verify",
      .summary = "Check that a program is legal and computes its collective",
      .usage = "FILE.xml [options] | ALGORITHM --collective C --gpus N [options]",
      .examples =
          "  cclgym verify allreduce.xml\n"
          "      exit code 0: correct; 1: wrong, with the reasons; 2: invalid file\n"
          "  cclgym verify allreduce.xml --execute --interleavings 100 --slots 8\n"
          "      with room for 8 messages on a connection, whatever the file's protocol; also "
          "executes\n"
          "      the program on numbers, in 100 orders\n"
          "  cclgym verify hierarchical:4x8:ring+recursive --collective allgather --gpus 32 "
          "--nodes 8\n",
      .run = verify_program};
  return command;
}

}  // namespace cclgym
