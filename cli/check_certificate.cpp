// cclgym check-certificate: verifies what cclgym synthesize claims, without a solver.
#include "synthesis/certificates/check_certificate.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "cli/output/json_output.hpp"
#include "cli/support/command.hpp"
#include "cli/support/print.hpp"
#include "core/error.hpp"
#include "core/files/text_file.hpp"
#include "experiments/run/run_folder.hpp"
#include "synthesis/certificates/certificate_file.hpp"

namespace cclgym {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20U;

// Writes the formula and the proof of a refutation for other checkers.
void write_proof(const synthesis::FabricCertificate& file, const std::string& path,
                 const std::string& folder, bool json) {
  const auto* refutation = std::get_if<synthesis::RefutationEvidence>(&file.certificate.evidence);
  if (refutation == nullptr) return;
  const std::filesystem::path stem =
      std::filesystem::path(folder) / std::filesystem::path(path).stem();
  const std::string formula = stem.string() + ".cnf";
  const std::string proof = stem.string() + ".drat";
  write_text_file(formula, synthesis::refuted_formula(*file.fabric, file.certificate).value());
  write_text_file(proof, refutation->proof);
  if (!json) print_out("{}: check it with: drat-trim {} {}\n", path, formula, proof);
}

// Returns the claim of the file.
std::string check_file(const std::string& path, const std::optional<std::string>& drat, bool json) {
  const synthesis::FabricCertificate file =
      synthesis::read_certificate(read_text_file(path, kMaxBytes), path);
  const std::string claim = synthesis::statement(file);
  if (const std::string problem = synthesis::check_certificate(*file.fabric, file.certificate);
      !problem.empty()) {
    throw UserError({.file = path}, fmt::format("does not hold: {}: {}", claim, problem));
  }
  if (!json) print_out("{}: holds: {}\n", path, claim);
  if (drat) write_proof(file, path, *drat, json);
  return claim;
}

int check_certificates(const std::vector<std::string>& args) {
  ArgumentReader reader(check_certificate_command());
  reader.repeated("FILE", "certificates of cclgym synthesize (DIR/certificates/*.json)")
      .option("drat", "DIR",
              "also write the formula (.cnf) and the proof (.drat) of each refutation into this "
              "folder, for other checkers such as drat-trim")
      .flag("json", kJsonHelp);
  const auto arguments = reader.read(args);
  if (!arguments) return 0;
  std::optional<std::string> drat;
  if (arguments->has("drat")) {
    drat = arguments->text("drat");
    make_folder(*drat);
  }
  const bool json = wants_json(*arguments);
  nlohmann::ordered_json claims = nlohmann::ordered_json::array();
  for (const std::string& path : arguments->texts("FILE")) {
    claims.push_back({{"file", path}, {"claim", check_file(path, drat, json)}});
  }
  if (json) print_json(claims);
  return 0;
}

}  // namespace

const Command& check_certificate_command() {
  static const Command command{
      .name = "check-certificate",
      .summary = "Verify certificates of cclgym synthesize without a solver",
      .usage = "FILE... [--drat DIR]",
      .examples =
          "  cclgym check-certificate dgx1-allgather/certificates/*.json\n"
          "      makes the fabric of each file, checks the evidence in exact arithmetic, and\n"
          "      prints the claim; stops with exit code 2 at the first one that does not hold\n"
          "  cclgym check-certificate gather-rup-5-2-6.json --drat /tmp\n"
          "      also writes a formula and its proof of unsatisfiability for drat-trim\n",
      .run = check_certificates};
  return command;
}

}  // namespace cclgym
