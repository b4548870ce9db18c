#!/usr/bin/env bash
# Checks that no test ends early without a message: a test that cannot run reports it with SKIP_UNLESS
# (tests/support/catch.hpp).
#   skip_aloud_test.sh FOLDER
set -euo pipefail
# Lines in the body of a TEST_CASE, not of a function below it, are indented by two.
found=$(find "$1" -name '*_test.cpp' -print0 | sort -z | xargs -0 awk '
  /^TEST_CASE\(/ { inside = 1 }
  /^}/ { inside = 0 }
  inside && /^  if \(.*\) return;/ { print FILENAME ":" FNR ": " $0 }
  inside && /^    return;$/ && before ~ /WARN\(/ { print FILENAME ":" FNR ": " $0 }
  { before = $0 }')
if [ -n "$found" ]; then
  echo "These tests end early without a message; expected SKIP_UNLESS(condition, reason):"
  echo "$found"
  exit 1
fi
