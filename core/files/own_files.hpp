// Files of fixed names in a folder that a user named: whose are those that are there?
#pragma once

#include <string>
#include <vector>

namespace cclgym {

/// What a command writes into a folder.
struct OwnFiles {
  std::string writer;                 ///< "cclgym run", for messages
  std::string mark;                   ///< the name of the file that says whose the others are
  std::string mark_begins;            ///< with what it begins when the command wrote it
  std::vector<std::string> others{};  ///< names of the other files and folders
};

/// Throws UserError "PATH: …" if the command would write over what it did not write: the mark is
/// there and begins otherwise, or another name is there without the mark.
void refuse_foreign_files(const std::string& folder, const OwnFiles& files);

}  // namespace cclgym
