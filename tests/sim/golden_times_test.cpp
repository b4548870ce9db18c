// Compares times of engine "flow", in hexadecimal floating point, with a file: every build must
// give the same bits. CCLGYM_UPDATE_GOLDEN=1 rewrites the file.
#include <cstdlib>
#include <fmt/core.h>

#include "core/files/text_file.hpp"
#include "cost_models/parameters/shipped_sets.hpp"
#include "sim/sim_fixtures.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace cclgym;
using namespace cclgym::test;

TEST_CASE("times have the same bits in every build type", "[sim][golden-times]") {
  std::string text;
  for (const std::string name : {"dgx1", "ndv4"}) {
    const auto f = fabric(name);
    CostModel model = shipped_cost_model(name == "dgx1" ? "v100" : "a100");
    model.start_skew_s = 1e-6;
    Simulator simulator(f, model, "flow");
    for (const Combination& combination : combinations(f->ranks())) {
      for (const std::uint64_t bytes : {1000ULL, 12345678ULL}) {
        const Result result =
            simulator.simulate(call_of(combination.collective, bytes),
                               config_of(combination.algorithm, 3, Protocol::LL128), 42, 1);
        text += fmt::format("{} {} {} {} {:a}\n", name, to_string(combination.collective),
                            combination.algorithm, bytes, result.time_s);
      }
    }
  }
  const std::string path = source_path("tests/sim/golden_times.txt");
  if (std::getenv("CCLGYM_UPDATE_GOLDEN") != nullptr) write_text_file(path, text);
  CHECK(read_text_file(path, 1 << 20) == text);
}
