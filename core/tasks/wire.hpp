// Bytes between the processes of a run, which are all the same program on the same kind of machine.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace cclgym {

/// Appends the bytes of a number or an enumerator.
template <class Value>
void put(std::string& bytes, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  const std::size_t start = bytes.size();
  bytes.resize(start + sizeof value);
  std::memcpy(bytes.data() + start, &value, sizeof value);
}

/// Appends a text with its length.
inline void put_text(std::string& bytes, std::string_view text) {
  put(bytes, text.size());
  bytes += text;
}

/// Takes a value off the start of `bytes`; nullopt, and no change, if they are too short.
template <class Value>
[[nodiscard]] std::optional<Value> get(std::string_view& bytes) {
  static_assert(std::is_trivially_copyable_v<Value>);
  if constexpr (std::is_same_v<Value, bool>) {
    // A byte that is neither 0 nor 1 is no bool, and reading it as one is undefined.
    if (bytes.empty() || static_cast<unsigned char>(bytes.front()) > 1) return std::nullopt;
  }
  if (bytes.size() < sizeof(Value)) return std::nullopt;
  Value value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

/// Takes a text of put_text off the start of `bytes`; nullopt, and no change, if it is incomplete.
[[nodiscard]] inline std::optional<std::string> get_text(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto length = get<std::size_t>(rest);
  if (!length || rest.size() < *length) return std::nullopt;
  std::string text(rest.substr(0, *length));
  rest.remove_prefix(*length);
  bytes = rest;
  return text;
}

/// Writes all bytes to a socket; false if the other end is gone.
[[nodiscard]] bool send_all(int socket, std::string_view bytes);

/// Writes as many bytes to a socket as it takes now, and removes them from the start; false if the
/// other end is gone.
[[nodiscard]] bool send_some(int socket, std::string& bytes);

/// Reads the bytes that a socket has now and appends them; false if the other end is gone.
[[nodiscard]] bool receive_some(int socket, std::string& bytes);

/// Reads from a socket until a text of put_text is complete, and returns it; nullopt if the other
/// end is gone. `inbox` keeps the bytes after it for the next call.
[[nodiscard]] std::optional<std::string> receive_text(int socket, std::string& inbox);

}  // namespace cclgym
