// cclgym check-certificate: verifies what cclgym synthesize claims, without a solver.
#include "synthesis/certificates/check_certificate.hpp"

#include <fmt/core.h>

#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "synthesis/certificates/certificate_file.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20U;

void check_file(const std::string& path) {
  const synthesis::FabricCertificate file =
      synthesis::read_certificate(read_text_file(path, kMaxBytes), path);
  const std::string claim = synthesis::statement(file);
  if (const std::string problem = synthesis::check_certificate(*file.fabric, file.certificate);
      !problem.empty()) {
    throw UserError({.file = path}, fmt::format("does not hold: {}: {}", claim, problem));
  }
  print_out("{}: holds: {}\n", path, claim);
}

int check_certificates(const std::vector<std::string>& args) {
  ArgumentReader reader(check_certificate_command());
  reader.positional("FILE",
                    "certificate of cclgym synthesize (DIR/certificates/*.json); any number");
  // One argument at a time: an option, of which there is only --help, ends the list.
  std::vector<std::vector<std::string>> each;
  for (const std::string& arg : args) each.push_back({arg});
  if (each.empty()) each.emplace_back();
  std::vector<std::string> paths;
  for (const std::vector<std::string>& one : each) {
    const auto arguments = reader.read(one);
    if (!arguments) return 0;
    paths.push_back(arguments->required("FILE"));
  }
  for (const std::string& path : paths) check_file(path);
  return 0;
}

}  // namespace

const Command& check_certificate_command() {
  static const Command command{
      .name = "check-certificate",
      .summary = "Verify certificates of cclgym synthesize without a solver",
      .usage = "FILE...",
      .examples =
          "  cclgym check-certificate dgx1-allgather/certificates/*.json\n"
          "      makes the fabric of each file, checks the evidence in exact arithmetic, and\n"
          "      prints the claim; stops with exit code 2 at the first one that does not hold\n",
      .run = check_certificates};
  return command;
}

}  // namespace cclgym
