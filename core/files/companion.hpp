// Files that come with the program: workers, plugins, the program that trains.
#pragma once

#include <string>

namespace cclgym {

/// Path of a file that is built and installed with the running program. In a build it is beside
/// the program; an installed program has it in the folder that `cmake --install` puts such files
/// into, relative to the program's folder, so that an installation can be moved. If there is no
/// such file, the path beside the program, for messages; if the program's folder is unknown, the
/// name alone.
[[nodiscard]] std::string companion_file(const std::string& name);

}  // namespace cclgym
