#include "cli/deployment/export_target.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "core/files/text_file.hpp"

namespace cclgym {

namespace fs = std::filesystem;

namespace {

// Larger files are not read: no export is as large.
constexpr std::size_t kMostExportBytes = std::size_t{256} << 20;

// True for the name of a file that a training run keeps in its folder.
bool is_of_training(const std::string& name) {
  constexpr std::array<std::string_view, 6> kKept{"train.yaml",  "train.source",   "metrics.csv",
                                                  "report.html", "evaluation.csv", "choices.txt"};
  return name.starts_with("seed-") || std::ranges::find(kKept, name) != kKept.end();
}

// Refuses an output path that is a file of the run itself.
void refuse_file_of_training(const Arguments& arguments, const char* option) {
  std::error_code error;
  const fs::path run = fs::weakly_canonical(fs::absolute(arguments.text("RUN")), error);
  const fs::path path = fs::weakly_canonical(fs::absolute(arguments.text(option)), error);
  const auto [end, rest] = std::ranges::mismatch(run, path);
  // Files with other names in the folder may be written.
  if (end == run.end() && rest != path.end() && is_of_training(rest->string())) {
    throw UserError(argument_location(option),
                    quoted(arguments.text(option), 200) + " is a file of the training itself");
  }
}

const char* form_name(ExportForm form) {
  switch (form) {
    case ExportForm::Policy:
      return "policy file";
    case ExportForm::TorchScript:
      return "TorchScript module";
    case ExportForm::Onnx:
      return "ONNX model";
    case ExportForm::TunerCsv:
      return "CSV for NCCL's tuner";
  }
  return "";
}

}  // namespace

bool is_export(ExportForm form, std::string_view bytes) {
  switch (form) {
    case ExportForm::Policy:
      return bytes.starts_with("CCLGYMPO");
    // The module is a ZIP archive, whose list of contents has the name of its class.
    case ExportForm::TorchScript:
      return bytes.starts_with("PK\3\4") && bytes.find("CclgymPolicy") != std::string_view::npos;
    // Field 1 of the model is the version of ONNX, a byte; field 2 is the producer.
    case ExportForm::Onnx:
      return bytes.starts_with('\x08') && bytes.size() > 2 &&
             bytes.substr(2).starts_with(
                 "\x12\x06"
                 "cclgym");
    case ExportForm::TunerCsv:
      return bytes.starts_with("# ") &&
             bytes.substr(0, bytes.find('\n')).find(": distilled by cclgym;") !=
                 std::string_view::npos;
  }
  return false;
}

void check_export_target(const Arguments& arguments, const char* option, ExportForm form,
                         bool force) {
  refuse_file_of_training(arguments, option);
  const std::string& path = arguments.text(option);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    throw UserError(argument_location(option), quoted(path, 200) + " is a folder; expected a file");
  }
  if (force || !fs::is_regular_file(status)) return;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (!error && bytes == 0) return;
  const bool ours = !error && bytes <= kMostExportBytes &&
                    is_export(form, read_text_file(path, kMostExportBytes));
  if (ours) return;
  throw UserError(argument_location(option),
                  quoted(path, 200) + " exists, but is not a " + form_name(form) +
                      " of cclgym export; choose another file, or add --force to write over it");
}

}  // namespace cclgym
