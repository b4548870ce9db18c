# cclgym_embed(TARGET NAME FILE): makes the text of FILE available to TARGET as
# `extern const std::string_view NAME` in namespace cclgym::embedded, so that the binary needs no data
# files at run time.
function(cclgym_embed target name file)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp)
  # Relative, so that a compiler cache serves every checkout.
  file(RELATIVE_PATH origin ${PROJECT_SOURCE_DIR} ${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} content HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${content}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  file(CONFIGURE OUTPUT ${generated} CONTENT
"// Generated from @origin@.
#include <string_view>
namespace cclgym::embedded {
namespace {
const unsigned char kBytes[] = {@bytes@0};
}
extern const std::string_view @name@;
const std::string_view @name@{reinterpret_cast<const char*>(kBytes), sizeof(kBytes) - 1};
}
" @ONLY)
  target_sources(${target} PRIVATE ${generated})
endfunction()
