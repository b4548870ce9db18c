#!/usr/bin/env bash
# scripts/nccl-wheels on made-up libraries: one like NCCL's, and one that exports a name of the plugin's.
#   nccl_wheels_test.sh SCRIPT PLUGIN
set -euo pipefail
script=${1:?usage: nccl_wheels_test.sh SCRIPT PLUGIN}
plugin=${2:?usage: nccl_wheels_test.sh SCRIPT PLUGIN}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
mkdir "$work/good" "$work/clash"
cat >"$work/good.c" <<'END'
const char* const names[] = {"ncclTunerPlugin_v5", "ncclTunerPlugin_v2", "ncclTunerPlugin_v77", "ncclProfiler_v12"};
int ncclGetVersion(int* version) { *version = 29999; return names[0] == 0; }
int ncclGetUniqueId(void* id) { return id == 0; }
END
"${CC:-cc}" -shared -fPIC "$work/good.c" -o "$work/good/libnccl.so.2"
{ cat "$work/good.c"; echo 'int ncclTunerPlugin_v5 = 1;'; } >"$work/clash.c"
"${CC:-cc}" -shared -fPIC "$work/clash.c" -o "$work/clash/libnccl.so.2"

row=$("$script" --plugin "$plugin" "$work/good/libnccl.so.2" | tail -1)
expected="| $work/good/libnccl.so.2 | v77, v5, v2 | v5 | v12 | none | yes | 0 |"
[ "$row" = "$expected" ] || fail "found '$row', expected '$expected'"
if row=$("$script" --plugin "$plugin" "$work/clash/libnccl.so.2"); then fail "a clash of names is no error"; fi
grep -q 'no (both export ncclTunerPlugin_v5)' <<<"$row" || fail "no word about the clash in '$row'"
echo "scripts/nccl-wheels reads libraries."
