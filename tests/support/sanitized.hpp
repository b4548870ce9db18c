// True if the tests are built with a sanitizer. They then run 5 to 20 times slower, so some of the
// largest cases are left out: sanitizers find the same faults with fewer ranks.
#pragma once

namespace cclgym::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace cclgym::test
