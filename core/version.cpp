#include "core/version.hpp"

namespace cclgym {

std::string_view program_version() { return CCLGYM_VERSION; }

}  // namespace cclgym
