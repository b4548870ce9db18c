// Protects files in a user's folder from being overwritten by a command that did not write them.
#pragma once

#include <string>
#include <vector>

namespace cclgym {

/// Files that a command writes into a folder.
struct OwnFiles {
  std::string writer;                 ///< name of the command for messages: "cclgym run"
  std::string mark;                   ///< name of the file that identifies the writer
  std::string mark_begins;            ///< first bytes of that file if the command wrote it
  std::vector<std::string> others{};  ///< names of the other files and folders
};

/// Throws UserError "PATH: …" if the command would overwrite files that it did not write: the mark
/// exists and begins differently, or another of the names exists without the mark.
void refuse_foreign_files(const std::string& folder, const OwnFiles& files);

}  // namespace cclgym
