// The folder of a synthesis: synthesis.txt (its files, and the answers of its searches), programs,
// certificates, sweep, dispatch table and report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synthesis/certificates/certificate.hpp"
#include "synthesis/strategies/search_memory.hpp"
#include "topology_models/fabric.hpp"

namespace cclgym {

/// Input on which the answers of searches depend.
struct SynthesisInput {
  CollectiveKind collective = CollectiveKind::AllGather;
  int root = 0;
  std::vector<int> group{};

  /// 16 hex digits; another version of the program has other hashes.
  [[nodiscard]] std::string hash(const Fabric& fabric) const;
};

/// Keeps a folder consistent whenever the process ends: files are replaced whole, the report is
/// removed first and written last, and no file of another program is touched.
class SynthesisFolder {
 public:
  /// State of the folder before this synthesis.
  enum class Before : std::uint8_t {
    Empty,     ///< no synthesis
    Same,      ///< a synthesis of the same input, whose answers are kept
    Different  ///< a synthesis of another input
  };

  /// Reads synthesis.txt if there is one; writes nothing. Throws UserError if it is damaged, or if
  /// the folder has files of these names that no synthesis wrote.
  SynthesisFolder(std::string folder, const std::string& input_hash);
  SynthesisFolder(const SynthesisFolder&) = delete;
  SynthesisFolder& operator=(const SynthesisFolder&) = delete;

  [[nodiscard]] Before before() const { return before_; }
  /// Answers of earlier searches. The file is written anew after every answer that is added, from
  /// begin() on.
  [[nodiscard]] synthesis::SearchMemory& memory() { return memory_; }
  /// Refutations that an earlier synthesis of the same input has proven; files that do not read are
  /// left out.
  [[nodiscard]] std::vector<synthesis::Certificate> proofs() const;

  /// Makes the folder and removes what an earlier synthesis made last (report, dispatch table); of
  /// another input, everything that it made. Throws UserError if the folder cannot be written.
  void begin();
  /// Announces the files of this synthesis, by names relative to the folder, and removes all other
  /// files of earlier ones. Throws UserError if another program has written one of them.
  void announce(const std::vector<std::string>& files);
  /// Path of a file in the folder.
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  void read(const std::string& text);
  void save() const;
  void remove(const std::vector<std::string>& names) const;

  std::string folder_;
  std::string input_hash_;
  Before before_ = Before::Empty;
  std::vector<std::string> files_;  ///< written by this synthesis or an earlier one
  synthesis::SearchMemory memory_;
};

}  // namespace cclgym
