// What the fuzz targets share: the demands on messages, and files made of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.hpp"

// FUZZ_TARGET(NAME) { … } defines a target's entry: libFuzzer's in a build with CCLGYM_FUZZ, and
// fuzz_NAME elsewhere, where one program replays the seeds of all targets (replay_seeds.cpp). Its
// parameters are `data` and `size`.
#ifdef CCLGYM_FUZZ
#define FUZZ_TARGET(name) \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#define FUZZ_TARGET(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size)
#endif

namespace cclgym::fuzz {

/// Aborts unless a message is one printable line that a user can read.
inline void check_message(std::string_view message) {
  if (message.empty() || message.size() > 4000) std::abort();
  for (const char c : message) {
    if (static_cast<unsigned char>(c) < 0x20) std::abort();
  }
}

/// Runs `call`, which may only return or throw a UserError with such a message. True if it
/// returned.
template <class Call>
bool guarded(const Call& call) {
  try {
    call();
    return true;
  } catch (const UserError& error) {
    check_message(error.what());
    return false;
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Path of a file in memory with these bytes, for readers that open a path. Each call replaces the
/// bytes; `number` tells files apart that exist at the same time.
inline std::string file_of(std::string_view bytes, std::size_t number = 0) {
  static int files[4] = {-1, -1, -1, -1};
  int& file = files[number];
  if (file < 0) file = ::memfd_create("fuzz", 0);
  if (file < 0 || ::ftruncate(file, 0) != 0) std::abort();
  if (::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  return "/proc/self/fd/" + std::to_string(file);
}

/// Takes the first byte off an input: the kind of reader that gets the rest.
inline unsigned take_kind(std::string_view& text, unsigned kinds) {
  if (text.empty()) return 0;
  const unsigned kind = static_cast<unsigned char>(text.front()) % kinds;
  text.remove_prefix(1);
  return kind;
}

}  // namespace cclgym::fuzz
