// Parser of the JSON that nccl-tests, rccl-tests and NCCL's Inspector write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/measured/measured_file.hpp"

namespace cclgym {

/// True if the text begins as a document of JSON does.
[[nodiscard]] bool is_json_text(std::string_view text);

/// Reads one of
/// - the file of nccl-tests' -J (an object with `config.devices` and `results`);
/// - the file of rccl-tests' -Z json: objects with name, size, time, inPlace and either gpus or
///   ranks, one a line or in a list; rows in place are left out;
/// - lines of NCCL's Inspector plugin (2.28 and newer; objects with `header` and `coll_perf`). A
///   call takes as long as its slowest rank in the file. The messages of AllGather and
///   ReduceScatter count once per rank, as in nccl-tests.
/// Values that the file does not state must be in the context.
///
/// Throws UserError at the line of the error: a text that is not JSON or has another form, a value
/// that is missing or invalid, and wrong results.
[[nodiscard]] std::vector<Measurement> read_measured_json(std::string_view text,
                                                          const std::string& file,
                                                          const MeasuredFileContext& context);

}  // namespace cclgym
