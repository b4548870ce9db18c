// Files that cclgym export writes, and what it may write over.
#pragma once

#include <string>
#include <string_view>

#include "cli/support/command.hpp"

namespace cclgym {

enum class ExportForm { Policy, TorchScript, Onnx, TunerCsv };

/// True if the bytes are those of a file of this form that cclgym export wrote.
[[nodiscard]] bool is_export(ExportForm form, std::string_view bytes);

/// Throws UserError at `option` if its value is a file that a training run keeps in its folder RUN,
/// if it is a folder, or, without `force`, if it is a file with other contents than an export of
/// this form. Empty files, devices and pipes are let through.
void check_export_target(const Arguments& arguments, const char* option, ExportForm form,
                         bool force);

}  // namespace cclgym
