// The columns of results.csv, in order.
#pragma once

#include <array>

#include "core/files/csv.hpp"
#include "experiments/run/results.hpp"

namespace cclgym {

inline constexpr std::array<CsvColumn<ResultRow>, 29> kResultColumns{{
    {"experiment_hash", &ResultRow::experiment_hash},
    {"cell_key", &ResultRow::cell_key},
    {"fabric", &ResultRow::fabric},
    {"nodes", &ResultRow::servers},
    {"ranks", &ResultRow::ranks},
    {"collective", &ResultRow::collective},
    {"algorithm", &ResultRow::algorithm},
    {"program", &ResultRow::program},
    {"protocol", &ResultRow::protocol},
    {"channels", &ResultRow::channels},
    {"instances", &ResultRow::instances},
    {"threads", &ResultRow::threads},
    {"tile_bytes", &ResultRow::tile_bytes},
    {"slots", &ResultRow::slots},
    {"legal_in", &ResultRow::legal_in},
    {"size_bytes", &ResultRow::size_bytes},
    {"seed", &ResultRow::seed},
    {"repetitions", &ResultRow::repetitions},
    {"time_us", &ResultRow::time_us},
    {"time_min_us", &ResultRow::time_min_us},
    {"time_max_us", &ResultRow::time_max_us},
    {"algbw_GBps", &ResultRow::algbw_GBps},
    {"busbw_GBps", &ResultRow::busbw_GBps},
    {"steps", &ResultRow::steps},
    {"flows", &ResultRow::flows},
    {"engine", &ResultRow::engine},
    {"cost_model", &ResultRow::cost_model},
    {"cost_model_hash", &ResultRow::cost_model_hash},
    {"version", &ResultRow::version},
}};

}  // namespace cclgym
