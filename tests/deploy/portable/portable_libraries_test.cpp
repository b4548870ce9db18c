// The plugin and the C runtime must load where glibc 2.28 is (RHEL 8), whatever system builds them.
#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <string>
#include <vector>

#include "core/files/text_file.hpp"
#include "deploy/runtime/policy_runtime.h"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace cclgym {
namespace {

constexpr int kNewestGlibc = 28;  // newest minor version of glibc 2
constexpr std::size_t kMostBytes = 64U << 20U;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kPortable = false;
#else
constexpr bool kPortable = true;
#endif

// Needs of a shared library: other libraries, and versions of their symbols ("GLIBC_2.4").
struct Needs {
  std::vector<std::string> libraries;
  std::map<std::string, std::vector<std::string>> versions;  // key: library
};

template <typename T>
T at(const std::string& bytes, std::size_t place) {
  T value;
  REQUIRE(place + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

Needs needs_of(const std::string& path) {
  const std::string bytes = read_text_file(path, kMostBytes);
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  REQUIRE(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0);
  std::vector<Elf64_Shdr> sections;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    sections.push_back(at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr)));
  }
  Needs needs;
  for (const Elf64_Shdr& section : sections) {
    const auto name = [&](std::size_t place) {
      return std::string(bytes.c_str() + sections[section.sh_link].sh_offset + place);
    };
    if (section.sh_type == SHT_DYNAMIC) {
      for (std::size_t place = 0; place < section.sh_size; place += sizeof(Elf64_Dyn)) {
        const auto entry = at<Elf64_Dyn>(bytes, section.sh_offset + place);
        if (entry.d_tag == DT_NEEDED) needs.libraries.push_back(name(entry.d_un.d_val));
      }
    }
    if (section.sh_type != SHT_GNU_verneed) continue;
    std::size_t place = section.sh_offset;
    for (std::size_t i = 0; i < section.sh_info; ++i) {
      const auto library = at<Elf64_Verneed>(bytes, place);
      std::size_t inner = place + library.vn_aux;
      for (std::size_t k = 0; k < library.vn_cnt; ++k) {
        const auto version = at<Elf64_Vernaux>(bytes, inner);
        needs.versions[name(library.vn_file)].push_back(name(version.vna_name));
        inner += version.vna_next;
      }
      place += library.vn_next;
    }
  }
  return needs;
}

bool is_old(const std::string& version) {
  constexpr const char* kPrefix = "GLIBC_2.";
  if (!version.starts_with(kPrefix)) return false;
  return std::stoi(version.substr(std::strlen(kPrefix))) <= kNewestGlibc;
}

}  // namespace

TEST_CASE("libraries for jobs need only glibc 2.28", "[deploy][portable]") {
  SKIP_UNLESS(kPortable, "is for builds without sanitizers");
  const std::vector<std::string> allowed{"libc.so.6",
                                         "libm.so.6",
                                         "libdl.so.2",
                                         "libpthread.so.0",
                                         "ld-linux-x86-64.so.2",
                                         "ld-linux-aarch64.so.1"};
  for (const char* name : {"libnccl-tuner-cclgym.so", "libcclgym-policy.so"}) {
    INFO(name);
    const Needs needs = needs_of(test::build_path(name));
    CHECK(needs.versions.contains("libc.so.6"));
    for (const std::string& library : needs.libraries) {
      INFO(library);
      CHECK(std::ranges::find(allowed, library) != allowed.end());
    }
    for (const auto& [library, versions] : needs.versions) {
      for (const std::string& version : versions) {
        INFO(library << " " << version);
        CHECK(is_old(version));
      }
    }
  }
}

TEST_CASE("this reader finds what is too new", "[deploy][portable]") {
  CHECK(is_old("GLIBC_2.2.5"));
  CHECK(is_old("GLIBC_2.28"));
  CHECK_FALSE(is_old("GLIBC_2.29"));
  CHECK_FALSE(is_old("GLIBC_2.35"));
  CHECK_FALSE(is_old("GLIBCXX_3.4"));
  // The test itself needs the C++ library.
  CHECK_FALSE(is_old(needs_of("/proc/self/exe").versions.at("libstdc++.so.6").front()));
}

// The library has its own copies of libstdc++ and libgcc, whose exceptions find their frames with
// _dl_find_object of old_glibc.cpp.
TEST_CASE("the shared C runtime turns exceptions into errors", "[deploy][portable]") {
  void* const library =
      ::dlopen(test::build_path("libcclgym-policy.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  auto* const parse =
      reinterpret_cast<decltype(&cclgym_policy_parse)>(::dlsym(library, "cclgym_policy_parse"));
  REQUIRE(parse != nullptr);
  cclgym_policy* policy = nullptr;
  std::string error(200, '\0');
  CHECK(parse("no policy", 9, &policy, error.data(), error.size()) == CCLGYM_POLICY_BAD_FILE);
  CHECK(policy == nullptr);
  CHECK_FALSE(std::string(error.c_str()).empty());
  ::dlclose(library);
}

}  // namespace cclgym
