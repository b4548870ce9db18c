// main() for Catch2 2; Catch2 3 has its own. Catch2 3 counts skipped tests; Catch2 2 counts them as
// passed.
#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"

int main(int argc, char** argv) {
  const int failed = Catch::Session().run(argc, argv);
  if (const int count = cclgym::test::tests_not_run(); count > 0) {
    std::printf("%d of these test cases did not run: see the lines above\n", count);
  }
  return failed;
}
