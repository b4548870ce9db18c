// Lock of an output folder, so that two commands do not write into it at the same time.
#pragma once

#include <string>

namespace cclgym {

/// Holds an existing folder until it is destroyed. File systems that cannot lock folders are let
/// through.
class FolderLock {
 public:
  /// Throws UserError if another process holds the folder.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace cclgym
