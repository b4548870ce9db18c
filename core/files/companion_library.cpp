#include "core/files/companion_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <utility>

#include "core/files/companion.hpp"

namespace cclgym {

LibraryMissing::LibraryMissing(std::string_view user, std::string reason, std::string_view advice)
    : std::runtime_error(
          fmt::format("{} needs a library that cannot be loaded: {}; {}", user, reason, advice)),
      reason_(std::move(reason)) {}

void* companion_function(const std::string& file, const std::string& name, std::string_view user,
                         std::string_view advice) {
  const std::string path = companion_file(file);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : ::dlsym(library, name.c_str());
  if (function != nullptr) return function;
  throw LibraryMissing(user, ::dlerror(), advice);
}

}  // namespace cclgym
