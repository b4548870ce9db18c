// Errors of who drives an environment wrongly. They are programmer errors (std::logic_error): what
// a user writes in YAML or on a command line is a UserError (core/error.hpp) before an environment
// steps.
#pragma once

#include <stdexcept>

namespace cclgym {

/// step() before the first reset(), or after the end of an episode.
class ResetNeeded : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// An action outside of the action space, of the wrong size, or illegal in the present state.
class InvalidAction : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A mask that leaves a dimension without any choice, or that has the wrong size.
class InvalidMask : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace cclgym
