// Functions of the C library in the versions of glibc 2.28 (RHEL 8), for libraries that are built
// on a newer system. The linker's option --wrap (deploy/portable/portable.cmake) sends every
// reference to NAME, also those inside libstdc++ and libgcc, to __wrap_NAME. Newer functions are
// made from older ones.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): names of the linker
#if defined(__x86_64__)
#define CCLGYM_FIRST_VERSION "GLIBC_2.2.5"
#define CCLGYM_STAT_VERSION 1
#elif defined(__aarch64__)
#define CCLGYM_FIRST_VERSION "GLIBC_2.17"
#define CCLGYM_STAT_VERSION 0
#else
#error "give the first version of glibc for this architecture"
#endif

// cclgym_old_NAME is NAME in its first version, in which glibc keeps it for old programs.
#define CCLGYM_OLD(type, name, parameters)                                 \
  __asm__(".symver cclgym_old_" #name "," #name "@" CCLGYM_FIRST_VERSION); \
  __attribute__((visibility("default"))) type cclgym_old_##name parameters;
// __wrap_NAME calls it.
#define CCLGYM_WRAP(type, name, parameters, arguments) \
  CCLGYM_OLD(type, name, parameters)                   \
  type __wrap_##name parameters { return cclgym_old_##name arguments; }

#pragma GCC visibility push(hidden)
extern "C" {

// Moved from libpthread into libc by glibc 2.34.
CCLGYM_WRAP(int, pthread_create,
            (pthread_t * thread, const pthread_attr_t* options, void* (*run)(void*),
             void* argument),
            (thread, options, run, argument))
CCLGYM_WRAP(int, pthread_join, (pthread_t thread, void** result), (thread, result))
CCLGYM_WRAP(int, pthread_detach, (pthread_t thread), (thread))
CCLGYM_WRAP(int, pthread_once, (pthread_once_t * once, void (*run)()), (once, run))
CCLGYM_WRAP(int, pthread_key_create, (pthread_key_t * key, void (*end)(void*)), (key, end))
CCLGYM_WRAP(int, __pthread_key_create, (pthread_key_t * key, void (*end)(void*)), (key, end))
CCLGYM_WRAP(int, pthread_key_delete, (pthread_key_t key), (key))
CCLGYM_WRAP(int, pthread_setspecific, (pthread_key_t key, const void* value), (key, value))
CCLGYM_WRAP(void*, pthread_getspecific, (pthread_key_t key), (key))
CCLGYM_WRAP(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
CCLGYM_WRAP(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
CCLGYM_WRAP(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
CCLGYM_WRAP(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))

// Newer versions of these set no errno by the old rules; their results are the same.
CCLGYM_WRAP(double, log, (double x), (x))
CCLGYM_WRAP(double, exp, (double x), (x))
CCLGYM_WRAP(double, pow, (double x, double y), (x, y))

// C23 added prefix 0b to what these read, under other names.
CCLGYM_OLD(long, strtol, (const char* text, char** end, int base))
CCLGYM_OLD(unsigned long, strtoul, (const char* text, char** end, int base))
CCLGYM_OLD(long long, strtoll, (const char* text, char** end, int base))
CCLGYM_OLD(unsigned long long, strtoull, (const char* text, char** end, int base))
long __wrap___isoc23_strtol(const char* text, char** end, int base) {
  return cclgym_old_strtol(text, end, base);
}
unsigned long __wrap___isoc23_strtoul(const char* text, char** end, int base) {
  return cclgym_old_strtoul(text, end, base);
}
long long __wrap___isoc23_strtoll(const char* text, char** end, int base) {
  return cclgym_old_strtoll(text, end, base);
}
unsigned long long __wrap___isoc23_strtoull(const char* text, char** end, int base) {
  return cclgym_old_strtoull(text, end, base);
}

// Functions only since 2.33; before, inline functions called these.
CCLGYM_OLD(int, __fxstat, (int version, int file, struct stat* status))
CCLGYM_OLD(int, __xstat, (int version, const char* path, struct stat* status))
CCLGYM_OLD(int, __lxstat, (int version, const char* path, struct stat* status))
int __wrap_fstat(int file, struct stat* status) {
  return cclgym_old___fxstat(CCLGYM_STAT_VERSION, file, status);
}
int __wrap_stat(const char* path, struct stat* status) {
  return cclgym_old___xstat(CCLGYM_STAT_VERSION, path, status);
}
int __wrap_lstat(const char* path, struct stat* status) {
  return cclgym_old___lxstat(CCLGYM_STAT_VERSION, path, status);
}
// On 64-bit machines, both structures are one.
int __wrap_fstat64(int file, struct stat* status) { return __wrap_fstat(file, status); }
int __wrap_stat64(const char* path, struct stat* status) { return __wrap_stat(path, status); }
int __wrap_lstat64(const char* path, struct stat* status) { return __wrap_lstat(path, status); }

// Since 2.32. Jobs have threads.
char __wrap___libc_single_threaded = 0;

// Since 2.36.
std::uint32_t __wrap_arc4random() {
  std::uint32_t number = 0;
  if (::getentropy(&number, sizeof number) != 0) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<std::uint32_t>(now.tv_nsec);
  }
  return number;
}

// Since 2.30: waits until a time of `clock`. Condition variables of the C++ library wait by the
// real time, whose clock can be set; a wait therefore ends after a second at the latest, as if
// woken without reason, which every caller must expect.
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* until) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec now{};
  ::clock_gettime(clock, &now);
  const std::int64_t seconds = until->tv_sec - now.tv_sec;
  std::int64_t left = seconds > 1    ? kSecond
                      : seconds < -1 ? 0
                                     : seconds * kSecond + until->tv_nsec - now.tv_nsec;
  const bool cut = left >= kSecond;
  left = cut ? kSecond : left < 0 ? 0 : left;
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t end = now.tv_nsec + left;
  const timespec real{.tv_sec = now.tv_sec + end / kSecond, .tv_nsec = end % kSecond};
  const int status = ::pthread_cond_timedwait(condition, mutex, &real);
  return cut && status == ETIMEDOUT ? 0 : status;
}

#ifdef DLFO_EH_SEGMENT_TYPE
namespace {

struct ObjectSearch {
  std::uintptr_t address;
  dl_find_object* found;
};

// Fills in `found` if the object has the address; 1 ends the search.
int look_in_object(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto* const search = static_cast<ObjectSearch*>(data);
  std::uintptr_t first = UINTPTR_MAX;
  std::uintptr_t last = 0;
  std::uintptr_t frames = 0;
  bool inside = false;
  for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == DLFO_EH_SEGMENT_TYPE) frames = begin;
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t end = begin + part.p_memsz;
    if (begin < first) first = begin;
    if (end > last) last = end;
    inside = inside || (search->address >= begin && search->address < end);
  }
  if (!inside || frames == 0) return 0;
  search->found->dlfo_map_start = reinterpret_cast<void*>(first);
  search->found->dlfo_map_end = reinterpret_cast<void*>(last);
  search->found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return 1;
}

}  // namespace

// Since 2.35: by it, exceptions find the frames of their callers.
int __wrap__dl_find_object(void* address, dl_find_object* found) {
  *found = {};
  ObjectSearch search{reinterpret_cast<std::uintptr_t>(address), found};
  return ::dl_iterate_phdr(look_in_object, &search) == 1 ? 0 : -1;
}
#endif

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)
