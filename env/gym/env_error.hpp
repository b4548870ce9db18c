// Errors of code that drives an environment incorrectly. They are programmer errors
// (std::logic_error); mistakes in YAML or on a command line are a UserError (core/error.hpp) before
// any step.
#pragma once

#include <stdexcept>

namespace cclgym {

/// step() before the first reset(), or after the end of an episode.
class ResetNeeded : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// An action outside the action space, of the wrong size, or illegal in the current state.
class InvalidAction : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A mask that leaves a dimension without a choice, or has the wrong size.
class InvalidMask : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace cclgym
