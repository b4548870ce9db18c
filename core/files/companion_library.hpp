// Libraries that come with the program and are loaded when they are first needed.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace cclgym {

/// A library of the program that cannot be loaded. It is no UserError, because callers that try
/// something else after a UserError would hide it. what() is one line; the command line maps it to
/// exit code 2.
class LibraryMissing : public std::runtime_error {
 public:
  /// The message is "USER needs a library that cannot be loaded: REASON; ADVICE".
  LibraryMissing(std::string_view user, std::string reason, std::string_view advice);

  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// Address of function `name` in a library that comes with the program (companion_file). The
/// library stays loaded, since those of others keep threads, handlers and callbacks. Throws
/// LibraryMissing with the loader's message as the reason.
[[nodiscard]] void* companion_function(const std::string& file, const std::string& name,
                                       std::string_view user, std::string_view advice);

}  // namespace cclgym
