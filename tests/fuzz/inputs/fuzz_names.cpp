// Feeds arbitrary bytes to the readers of names and quantities on the command line: sizes, times,
// rates, ranges, releases of NCCL, parameters of level algorithms. The first byte chooses the
// reader.
#include <cmath>

#include "collectives/algorithms/levels/level_plan.hpp"
#include "core/options/option.hpp"
#include "core/units.hpp"
#include "cost_models/nccl/nccl_version.hpp"
#include "fuzz_support.hpp"

FUZZ_TARGET(names) {
  using namespace cclgym;
  std::string_view text = fuzz::text_of(data, size);
  const unsigned kind = fuzz::take_kind(text, 7);
  fuzz::guarded([&] {
    switch (kind) {
      case 0:
        return static_cast<void>(parse_bytes(text));
      case 1:
        if (!std::isfinite(parse_time_s(text))) std::abort();
        return;
      case 2:
        if (!std::isfinite(parse_real(text))) std::abort();
        return;
      case 3:
        return static_cast<void>(algorithms::parse_level_plan(text));
      case 4:
        return static_cast<void>(parse_nccl_version(text));
      case 5: {
        const OptionSpec spec{.name = "size", .kind = OptionKind::Bytes, .min = 1};
        for (const std::uint64_t one : read_bytes_range(text, spec, {})) {
          if (one == 0) std::abort();
        }
        return;
      }
      default: {
        const OptionSpec spec{.name = "n", .kind = OptionKind::Integer, .min = 1};
        (void)read_integer_range(text, spec, {});
      }
    }
  });
  return 0;
}
