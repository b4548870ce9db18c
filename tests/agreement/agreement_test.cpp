// Checks that the verifier, the data-level interpreter and the simulator agree on random programs,
// and that the verifier rejects every defective copy of a program that does harm.
//
// "Harm" is defined independently of the verifier: by an exhaustive exploration of the orders of
// execution, the interpreter or the tests' own numeric oracle.
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agreement/explorer.hpp"
#include "agreement/random_programs.hpp"
#include "collectives/compiler/compile.hpp"
#include "collectives/verifier/deadlock.hpp"
#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/mutations.hpp"
#include "collectives/verifier/numeric_oracle.hpp"
#include "collectives/verifier/verify.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "topology_models/machines/registry.hpp"

using namespace cclgym;

namespace {

constexpr std::size_t kMostStates = 2000;

/// Value of CCLGYM_RANDOM_PROGRAMS; by default, a number that suits an ordinary run of the tests.
int number_of_programs() {
  const char* wanted = std::getenv("CCLGYM_RANDOM_PROGRAMS");
  return wanted != nullptr ? std::atoi(wanted) : test::kSanitized ? 300 : 1500;
}

/// One simulator for each fabric and cost model used so far.
class Simulators {
 public:
  Simulator& any(int ranks, std::mt19937_64& random) {
    std::vector<FabricSpec> specs{{.name = "ring", .gpus = ranks},
                                  {.name = "fully_connected", .gpus = ranks}};
    if (ranks == 8) specs.push_back({.name = "dgx1"});
    if (ranks == 16) specs.push_back({.name = "dgx2"});
    if (ranks % 8 == 0) specs.push_back({.name = "ndv4", .servers = ranks / 8});
    const FabricSpec& spec = specs[random() % specs.size()];
    const char* model = random() % 2 == 0 ? "hockney" : "a100";
    auto& simulator = simulators_[{fabric_label(spec), model, ranks}];
    if (simulator == nullptr) {
      CostModel costs = shipped_cost_model(model);
      costs.max_thread_blocks = 0;  // the limits of a GPU are not tested here
      simulator = std::make_unique<Simulator>(make_fabric(spec), std::move(costs), "flow");
    }
    return *simulator;
  }

 private:
  std::map<std::tuple<std::string, std::string, int>, std::unique_ptr<Simulator>> simulators_;
};

std::int64_t messages(const ThreadBlockProgram& program) {
  std::int64_t count = 0;
  for (const GpuProgram& gpu : program.gpus) {
    for (const ThreadBlock& block : gpu.thread_blocks) {
      for (const Instruction& step : block.steps) count += sends(step.opcode) ? 1 : 0;
    }
  }
  return count;
}

/// Requires that the program completes in the simulator with this many slots and sends all its
/// messages.
void require_simulates(const std::shared_ptr<const ThreadBlockProgram>& program, int slots,
                       Simulators& simulators, std::mt19937_64& random) {
  Call call;
  call.collective = program->contract.kind();
  call.root = program->contract.root();
  const std::uint64_t chunk = 4 * (1 + random() % 100000);
  call.bytes = static_cast<std::uint64_t>(program->contract.chunks_per_call()) * chunk;
  Config config;
  config.channels = program->channels;
  config.slots = slots;
  if (random() % 2 == 0) config.tile_bytes = 1 + chunk / (1 + random() % 5);
  Simulator& simulator = simulators.any(program->contract.ranks(), random);
  INFO("simulated on " << simulator.fabric().name() << ", " << simulator.cost_model().name
                       << ", chunks of " << chunk << " B, tiles of " << config.tile_bytes);
  const Result result = simulator.record_program(program, call, config).result;
  REQUIRE(result.time_s >= 0);
  REQUIRE(result.flows == messages(*program) * result.tiles);
  REQUIRE(std::ssize(result.rank_time_s) == program->contract.ranks());
}

bool has(const VerifyReport& report, const char* what) {
  return report.to_string().find(what) != std::string::npos;
}

struct Tally {
  int programs = 0;
  std::int64_t steps = 0;
  int explored = 0;  ///< correct programs that were explored exhaustively
  int mutants = 0;
  int ill_formed = 0;  ///< mutants
  int harmful = 0;
  int verifier_caught = 0;     ///< harmful mutants
  int interpreter_caught = 0;  ///< harmful mutants
  int proven_harmless = 0;     ///< accepted by both, and explored exhaustively
  int accepted = 0;            ///< accepted by both
  int strict = 0;              ///< rejected, although every order gives the right result
};

test::Outcome run_once(const ThreadBlockProgram& program, std::uint64_t seed) {
  test::NumericMemory memory(program.contract, test::scratch_of(program), seed);
  return test::interpret(program, memory, seed);
}

/// Requires that all checks accept the program, for every number of slots that it was compiled for.
void require_right(const test::RandomProgram& random_program, const ThreadBlockProgram& program,
                   std::mt19937_64& random, Tally& tally) {
  const Program& traced = random_program.program;
  const VerifyReport in_order = verify(traced);
  INFO("traced: " << in_order.to_string());
  REQUIRE(in_order.ok);
  test::NumericMemory memory(traced.contract, traced.scratch_chunks, random());
  test::execute_in_order(traced, memory);
  REQUIRE(memory.outputs_right());

  for (const std::int32_t slots : {0, random_program.options.slots}) {
    const VerifyReport report = verify(program, {.slots = slots});
    INFO("compiled, " << slots << " slots: " << report.to_string());
    REQUIRE(report.ok);
  }
  // With fewer slots than it was compiled for, the program may deadlock. All checks must agree on
  // that.
  const auto slots = static_cast<std::int32_t>(1 + random() % 8);
  const bool enough = !find_deadlock(program, slots);
  INFO("executed with " << slots << " slots");
  if (slots >= random_program.options.slots) REQUIRE(enough);
  REQUIRE(verify(program, {.slots = slots}).ok == enough);
  const ExecuteReport executed =
      execute(program, {.interleavings = 4, .seed = random(), .slots = slots});
  INFO(executed.to_string());
  REQUIRE(executed.ok == enough);

  const test::Exploration explored = test::explore(program, kMostStates / 10);
  REQUIRE_FALSE(explored.wrong);
  REQUIRE_FALSE(explored.order_dependent);
  tally.explored += explored.complete ? 1 : 0;
}

/// Requires that the verifier rejects every harmful mutant, and harmless mutants only where it may.
void judge_mutant(const ThreadBlockProgram& mutant, std::mt19937_64& random, Tally& tally) {
  ++tally.mutants;
  const VerifyReport report = verify(mutant);
  for (const char* form : {"out of range", "peer", "overlap", "does not exist"}) {
    if (!has(report, form)) continue;
    ++tally.ill_formed;  // no interpreter can run it
    return;
  }
  INFO("verifier: " << report.to_string());
  const test::Exploration explored = test::explore(mutant, kMostStates);
  const ExecuteReport executed =
      execute(mutant, {.interleavings = 8, .seed = random(), .slots = 8});
  INFO("interpreter: " << executed.to_string());
  bool out_of_order = false;
  for (int i = 0; i < 4; ++i) {
    out_of_order = out_of_order || run_once(mutant, random()) != test::Outcome::Right;
  }
  const bool slots_missing = report.ok && find_deadlock(mutant, 8).has_value();
  const bool harmful = explored.wrong || out_of_order || (!executed.ok && !slots_missing);
  if (harmful) {
    ++tally.harmful;
    tally.verifier_caught += report.ok ? 0 : 1;
    tally.interpreter_caught += executed.ok ? 0 : 1;
    REQUIRE_FALSE(report.ok);
  }
  if (report.ok) {
    REQUIRE(verify(mutant, {.slots = 8}).ok == executed.ok);
    REQUIRE_FALSE(explored.order_dependent);
    ++tally.accepted;
    tally.proven_harmless += explored.complete ? 1 : 0;
    return;
  }
  tally.strict += harmful ? 0 : 1;
  // Findings of the verifier that apply to every order must hold in the orders tried.
  if (has(report, "deadlock") || has(report, "unmatched") || has(report, "count mismatch")) {
    REQUIRE(harmful);
    REQUIRE_FALSE(executed.ok);
  } else if (has(report, "race")) {
    if (explored.complete) REQUIRE(explored.order_dependent);
  } else if (has(report, "wrong output")) {
    REQUIRE_FALSE(executed.ok);
  } else {
    REQUIRE(has(report, "uninitialised data"));
  }
}

/// Judges a mutant of the traced program, whose operations have only one order.
void judge_operations(const Program& mutant, const CompileOptions& options, Tally& tally) {
  ++tally.mutants;
  const VerifyReport report = verify(mutant);
  test::NumericMemory memory(mutant.contract, mutant.scratch_chunks, 3);
  test::execute_in_order(mutant, memory);
  const bool harmful = !memory.outputs_right();
  INFO("verifier: " << report.to_string());
  if (harmful) {
    ++tally.harmful;
    ++tally.verifier_caught;
    REQUIRE_FALSE(report.ok);
  }
  const ThreadBlockProgram compiled = compile(mutant, options);
  REQUIRE(verify(compiled).ok == report.ok);
  const bool executed = execute(compiled, {.interleavings = 2, .slots = 8}).ok;
  if (harmful) {
    tally.interpreter_caught += executed ? 0 : 1;
    REQUIRE_FALSE(executed);
  } else if (report.ok) {
    REQUIRE((executed || find_deadlock(compiled, 8)));
    ++tally.accepted;
    ++tally.proven_harmless;
  } else {
    ++tally.strict;
    REQUIRE(has(report, "holds nothing"));
  }
}

}  // namespace

TEST_CASE("agreement: random programs and their defective copies", "[agreement][agreement]") {
  const int programs = number_of_programs();
  Simulators simulators;
  std::map<std::string, Tally> tallies;  // by family of programs, and by kind of defect
  for (int seed = 0; seed < programs; ++seed) {
    const test::RandomProgram random_program =
        test::random_program(static_cast<std::uint64_t>(seed));
    const auto program = std::make_shared<const ThreadBlockProgram>(
        compile(random_program.program, random_program.options));
    INFO("seed " << seed << ": " << random_program.family << ", " << program->name << " "
                 << program->contract.name() << " on " << program->contract.ranks() << " ranks");
    std::mt19937_64 random(static_cast<std::uint64_t>(seed) + 1);
    Tally& family = tallies[random_program.family];
    ++family.programs;
    family.steps += program->instructions();
    require_right(random_program, *program, random, family);
    const auto slots = static_cast<int>(random() % 2 == 0 ? 0 : random_program.options.slots);
    require_simulates(program, slots, simulators, random);

    for (bool done = false; !done;) {
      if (random() % 4 == 0) {
        const auto mutant = test::mutate(random_program.program, random);
        if (!mutant) continue;
        INFO(mutant->what);
        judge_operations(mutant->program, random_program.options, tallies[mutant->what]);
      } else {
        const auto mutant = test::mutate(*program, random);
        if (!mutant) continue;
        INFO(mutant->what);
        judge_mutant(mutant->program, random, tallies[mutant->what]);
      }
      done = true;
    }
  }

  Tally all;
  std::string table;
  for (const auto& [what, tally] : tallies) {
    table +=
        tally.programs > 0
            ? fmt::format("{}: {} programs, {} steps, {} explored exhaustively\n", what,
                          tally.programs, tally.steps, tally.explored)
            : fmt::format(
                  "{}: {} mutants, {} ill-formed, {} harmful (verifier {}, "
                  "interpreter {}), {} accepted ({} proven), {} strict\n",
                  what, tally.mutants, tally.ill_formed, tally.harmful, tally.verifier_caught,
                  tally.interpreter_caught, tally.accepted, tally.proven_harmless, tally.strict);
    all.mutants += tally.mutants;
    all.ill_formed += tally.ill_formed;
    all.harmful += tally.harmful;
    all.verifier_caught += tally.verifier_caught;
    all.interpreter_caught += tally.interpreter_caught;
    all.accepted += tally.accepted;
    all.proven_harmless += tally.proven_harmless;
    all.strict += tally.strict;
  }
  table += fmt::format(
      "in all: {} programs; {} mutants, {} ill-formed, {} harmful (verifier {}, "
      "interpreter {}), {} accepted ({} proven), {} strict\n",
      programs, all.mutants, all.ill_formed, all.harmful, all.verifier_caught,
      all.interpreter_caught, all.accepted, all.proven_harmless, all.strict);
  INFO(table);
  if (std::getenv("CCLGYM_RANDOM_PROGRAMS") != nullptr) WARN(table);
  // Ensures that the test found enough harmful and harmless mutants.
  CHECK(all.mutants == programs);
  CHECK(all.verifier_caught == all.harmful);
  CHECK(all.harmful > programs / 2);
  CHECK(all.accepted > programs / 50);
  CHECK(2 * all.proven_harmless > all.accepted);
  CHECK(tallies.size() > 15);
}
