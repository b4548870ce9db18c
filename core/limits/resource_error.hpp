// Errors of machines that are too small for the work.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "core/error.hpp"

namespace cclgym {

/// Something that this machine or its limits do not have: memory, room on a disk. what() is one
/// line that says what is needed and what there is. The command line maps it to exit code 1.
class ResourceError : public UserError {
 public:
  using UserError::UserError;
};

/// Message for an allocation that failed (std::bad_alloc).
inline constexpr const char* kOutOfMemory =
    "not enough memory for this work, under the limits of this process (ulimit -v) and machine; "
    "smaller work needs less: fewer ranks, channels or cells, fewer --jobs";

/// Throws `message` with the reason of an errno: ResourceError if the disk, a quota or the limit on
/// the size of files (ulimit -f) left no room, otherwise UserError.
[[noreturn]] inline void throw_file_error(const std::string& message, int error) {
  const std::string text = message + ": " + std::generic_category().message(error);
  if (error == ENOSPC || error == EFBIG || error == EDQUOT) throw ResourceError(text);
  throw UserError(text);
}

}  // namespace cclgym
