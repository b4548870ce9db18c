#include "deploy/nccl_plugin/malloc_counter.hpp"

#include <atomic>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)

long cclgym::test::malloc_calls() { return -1; }
long cclgym::test::malloc_calls_of_this_thread() { return -1; }

#else

namespace {
std::atomic<long> count{0};
thread_local long count_of_thread = 0;

void count_call() {
  ++count;
  ++count_of_thread;
}
}  // namespace

long cclgym::test::malloc_calls() { return count; }
long cclgym::test::malloc_calls_of_this_thread() { return count_of_thread; }

// Libraries, too, call the functions that a program defines itself. The functions here call
// glibc's.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names of the C library
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  count_call();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) noexcept {
  count_call();
  return __libc_calloc(n, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  count_call();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  count_call();
  return __libc_memalign(alignment, bytes);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

#endif
