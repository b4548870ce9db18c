// Returns the message of the UserError that a call throws, for tests that compare the entire
// message.
#pragma once

#include <string>

#include "core/error.hpp"

namespace cclgym {

/// Returns what() of the UserError; "(nothing thrown)" if there is none. Other exceptions
/// propagate.
template <typename Call>
std::string thrown(Call call) {
  try {
    static_cast<void>(call());
  } catch (const UserError& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

}  // namespace cclgym
