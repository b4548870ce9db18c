#include "synthesis/proofs/rup_checker.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "synthesis/proofs/clause_database.hpp"

namespace cclgym::synthesis {
namespace {

// Enough for every formula here; it bounds the memory that an altered header could ask for.
constexpr std::int64_t kMaxVariables = 100'000'000;

struct Formula {
  int variables = 0;
  std::vector<std::vector<int>> clauses{};
};

/// Whole numbers of a text, separated by spaces and line ends.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text) {}
  [[nodiscard]] bool at_end() {
    const std::size_t start = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(start, text_.size()));
    return text_.empty();
  }
  [[nodiscard]] std::optional<std::int64_t> next() {
    if (at_end()) return std::nullopt;
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(rest - text_.data()));
    if (!text_.empty() &&
        std::string_view(" \t\r\n").find(text_.front()) == std::string_view::npos) {
      return std::nullopt;
    }
    return number;
  }

 private:
  std::string_view text_;
};

std::string parse_dimacs(std::string_view text, Formula& formula) {
  while (text.starts_with('c')) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  constexpr std::string_view kHeader = "p cnf ";
  if (!text.starts_with(kHeader)) return "the formula does not start with 'p cnf'";
  Numbers numbers(text.substr(kHeader.size()));
  const std::optional<std::int64_t> variables = numbers.next();
  const std::optional<std::int64_t> clauses = numbers.next();
  if (!variables || !clauses || *variables < 0 || *variables > kMaxVariables || *clauses < 0) {
    return "the header of the formula needs two counts: variables and clauses";
  }
  formula.variables = static_cast<int>(*variables);
  std::vector<int> clause;
  while (!numbers.at_end()) {
    const std::optional<std::int64_t> literal = numbers.next();
    if (!literal || *literal > *variables || *literal < -*variables) {
      return fmt::format("clause {} of the formula has a literal that is no number from -{} to {}",
                         formula.clauses.size() + 1, *variables, *variables);
    }
    if (*literal != 0) {
      clause.push_back(static_cast<int>(*literal));
    } else {
      formula.clauses.push_back(clause);
      clause.clear();
    }
  }
  if (!clause.empty() || std::ssize(formula.clauses) != *clauses) {
    return fmt::format("the formula has {} complete clauses, but its header says {}",
                       formula.clauses.size(), *clauses);
  }
  return {};
}

/// Lines of a proof in binary DRAT.
class ProofLines {
 public:
  ProofLines(std::string_view bytes, int variables) : bytes_(bytes), variables_(variables) {}

  [[nodiscard]] bool at_end() const { return bytes_.empty(); }
  /// Reads a line; returns a problem in words, or an empty text.
  [[nodiscard]] std::string next(bool& deletion, std::vector<int>& literals) {
    const char kind = bytes_.front();
    if (kind != 'a' && kind != 'd') return "it is neither an addition nor a deletion";
    deletion = kind == 'd';
    bytes_.remove_prefix(1);
    literals.clear();
    while (true) {
      const std::optional<std::uint64_t> code = number();
      if (!code) return "it is cut off";
      if (*code == 0) return {};
      const std::uint64_t variable = *code / 2;
      if (variable < 1 || variable > static_cast<std::uint64_t>(variables_)) {
        return fmt::format("it has variable {}, but the formula has {}", variable, variables_);
      }
      const int literal = static_cast<int>(variable);
      literals.push_back(*code % 2 == 0 ? literal : -literal);
    }
  }

 private:
  // Seven bits per byte, the lowest first; the top bit is set in all bytes but the last.
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !bytes_.empty() && shift < 63; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) return value;
    }
    return std::nullopt;
  }

  std::string_view bytes_;
  int variables_;
};

void remove_repeated(std::vector<int>& literals) {
  std::sort(literals.begin(), literals.end());
  literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
}

}  // namespace

std::string check_rup(std::string_view dimacs, std::string_view proof) {
  Formula formula;
  if (std::string problem = parse_dimacs(dimacs, formula); !problem.empty()) return problem;
  ClauseDatabase database(formula.variables);
  for (std::vector<int>& clause : formula.clauses) {
    remove_repeated(clause);
    database.add(clause);
  }
  ProofLines lines(proof, formula.variables);
  bool empty_clause = false;
  for (std::int64_t line = 1; !lines.at_end(); ++line) {
    const auto refused = [&](const std::string& why) {
      return fmt::format("line {} of the proof: {}", line, why);
    };
    bool deletion = false;
    std::vector<int> literals;
    const std::string problem = lines.next(deletion, literals);
    if (!problem.empty()) return refused(problem);
    remove_repeated(literals);
    if (deletion) {
      if (!database.remove(literals)) return refused("it deletes a clause that does not exist");
      continue;
    }
    if (!database.implies(literals)) {
      return refused("its lemma does not follow by unit propagation");
    }
    // Solvers may write further lines after the empty clause; they follow, but must be well formed.
    empty_clause = empty_clause || literals.empty();
    database.add(literals);
  }
  if (!empty_clause) return "the proof does not contain the empty clause";
  return {};
}

}  // namespace cclgym::synthesis
