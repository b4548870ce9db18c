#!/usr/bin/env bash
# Tests scripts/not-run on a log of ctest: tests are grouped by reason, each test appears once, and
# names and reasons may have colons.
set -euo pipefail
tool=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cat >"$log" <<'END'
1/3 Testing: agents
1/3 Test: agents
Output:
----------------------------------------------------------
not run: rings: one [needs LibTorch: scripts/setup agents]
not run: rings: one [needs LibTorch: scripts/setup agents]
not run: two [of three] here [needs LibTorch: scripts/setup agents]
===============================================================================
All tests passed (2 assertions in 2 test cases)
2/3 Test: mpi
not run: mpi [needs OpenMPI]
3/3 Test: core
not run: four [needs LibTorch: scripts/setup agents]
the line is not run: five [needs nothing]
END
expected='3 not run: needs LibTorch: scripts/setup agents
  agents: rings: one
  agents: two [of three] here
  core: four
1 not run: needs OpenMPI
  mpi'
diff <(echo "$expected") <("$tool" "$log")
echo "1/1 Test: core" >"$log"
[ -z "$("$tool" "$log")" ]
