#include "synthesis/lowering/lowering_testing.hpp"

#include "collectives/verifier/interpreter.hpp"
#include "collectives/verifier/verify.hpp"
#include "support/catch.hpp"

namespace cclgym::test {

std::shared_ptr<const ThreadBlockProgram> require_right(const Program& program) {
  const VerifyReport traced = verify(program);
  INFO(program.name << " traced: " << traced.to_string());
  REQUIRE(traced.ok);
  std::shared_ptr<const ThreadBlockProgram> result;
  for (const bool fuse : {false, true}) {
    result = std::make_shared<const ThreadBlockProgram>(
        compile(program, synthesis::lowered_compile_options(fuse)));
    const VerifyReport compiled = verify(*result, {.slots = 2});
    INFO("compiled: " << compiled.to_string());
    REQUIRE(compiled.ok);
    const ExecuteReport executed = execute(*result, {.interleavings = 4, .slots = 2});
    INFO("executed: " << executed.to_string());
    REQUIRE(executed.ok);
  }
  return result;
}

}  // namespace cclgym::test
