// The program beside this one that has LibTorch.
#pragma once

#include <string>
#include <vector>

namespace cclgym {

/// Returns if this program itself has LibTorch; otherwise continues as cclgym-train, with the same
/// command and arguments. LibTorch takes 0.7 s to load, so the program for everything else is built
/// without it. Throws UserError "cannot WHAT: …" if there is no cclgym-train.
void need_torch(const std::string& command, const std::vector<std::string>& args,
                const std::string& what);

}  // namespace cclgym
