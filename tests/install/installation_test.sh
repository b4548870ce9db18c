#!/usr/bin/env bash
# Installs a build into a temporary prefix, moves it, and uses it from a folder without the source tree.
#   installation_test.sh BUILD SOURCE
set -euo pipefail
build=${1:?usage: installation_test.sh BUILD SOURCE}
source=${2:?usage: installation_test.sh BUILD SOURCE}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
# Reads its input to the end, unlike grep -q, which would leave the writer without a reader.
has() { grep "$@" >/dev/null; }
step() { echo "-- $*"; }

step "install"
cmake --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; fail "cmake --install"; }
mv "$work/first" "$work/prefix" # an installation can be moved
prefix=$work/prefix
cclgym=$prefix/bin/cclgym
lib=$(dirname "$(find "$prefix" -name libcclgym.a)")
if find "$prefix" | grep -E '/(test_|bench_|Catch)'; then fail "tests are installed"; fi
[ "$(cat "$build/CMakeCache.txt" | sed -n 's/^CCLGYM_TORCH:BOOL=//p')" != ON ] || [ -x "$lib/cclgym/cclgym-train" ] ||
  fail "cclgym-train is not installed"
# No installed text may name the tree that it was made from.
if grep -rIlF -e "$source/" -e "$build/" "$prefix/bin" "$lib" "$prefix/share"; then fail "names the source tree"; fi

step "programs"
mkdir "$work/elsewhere"
cd "$work/elsewhere"
"$cclgym" simulate --fabric ndv4 --collective allreduce --algorithm ring --size 4MiB >simulate.txt
grep -q 'us' simulate.txt || fail "simulate printed no time"
"$cclgym" list algorithms | has '^ring ' || fail "list has no ring"
"$cclgym" list cost-models | has a100 || fail "list has no a100"
"$cclgym" run "$prefix/share/cclgym/experiments/quickstart.yaml" --quiet
[ "$(wc -l <results/quickstart/results.csv)" -gt 1000 ] || fail "the quickstart has too few rows"
# Loads the libraries of the solvers.
"$cclgym" synthesize --fabric ring --gpus 4 --collective alltoall --no-sweep --jobs 1 --quiet -o made
"$cclgym" deploy --constants --machine dgx1 --for nccl-2.28 -o deployed >/dev/null
cmp deployed/libnccl-tuner-cclgym.so "$lib/cclgym/libnccl-tuner-cclgym.so"
"$lib/cclgym/cclgym-mpi-worker" --version >/dev/null 2>&1 || [ ! -e "$build/cclgym-mpi-worker" ] ||
  [ -x "$lib/cclgym/cclgym-mpi-worker" ] || fail "the worker of MPI is not installed"
if [ -x "$build/cclgym-train" ]; then
  step "train"
  # Two iterations of the shipped training.
  sed 's/iterations: [0-9]*/iterations: 2/' "$prefix/share/cclgym/experiments/train-deploy.yaml" >train.yaml
  grep -q 'iterations: 2[,}]' train.yaml || fail "train-deploy.yaml has no key iterations"
  "$cclgym" train train.yaml --seed 1 --quiet --out trained
  "$cclgym" export trained --to trained.policy >/dev/null
fi

step "completions"
for shell in bash zsh fish; do
  case $shell in
    bash) file=$prefix/share/bash-completion/completions/cclgym ;;
    zsh) file=$prefix/share/zsh/site-functions/_cclgym ;;
    fish) file=$prefix/share/fish/vendor_completions.d/cclgym.fish ;;
  esac
  [ -s "$file" ] || fail "no completion for $shell"
  if command -v "$shell" >/dev/null; then "$shell" -n "$file"; fi
done
. "$prefix/share/bash-completion/completions/cclgym"
# complete_words WORD...: completions of the last word.
complete_words() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _cclgym
  printf '%s\n' "${COMPREPLY[@]}"
}
commands=$("$cclgym" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 20 ] || fail "too few commands in --help"
for command in $commands; do
  complete_words cclgym "$command" | has -x -- "$command" || [ "$command" = help ] || [ "$command" = version ] ||
    fail "command $command is not completed"
  [ -s "$prefix/share/man/man1/cclgym-$command.1" ] || fail "no manual page of $command"
  offered=$(complete_words cclgym "$command" --)
  # Options as in the help: "  -o, --out FILE" or "  --out FILE".
  for option in $("$cclgym" "$command" --help |
                  sed -n '/^Options:/,/^Examples:/s/^  \(-[a-z], \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p'); do
    grep -qx -- "$option" <<<"$offered" || fail "$command $option is not completed"
    for file in share/fish/vendor_completions.d/cclgym.fish share/zsh/site-functions/_cclgym; do
      grep -qF -- "${option#--}" "$prefix/$file" || fail "$file has no $option"
    done
    grep -qF -- "${option//-/\\-}" "$prefix/share/man/man1/cclgym-$command.1" || fail "no $option in the manual"
  done
done
[ "$(complete_words cclgym simulate --chan)" = --channels ] || fail "--chan is not completed to --channels"
[ "$(complete_words cclgym sim)" = simulate ] || fail "sim is not completed to simulate"
complete_words cclgym list '' | has -x algorithms || fail "list completes no topic"
complete_words cclgym calibrate mpi --op >/dev/null
if command -v man >/dev/null && command -v groff >/dev/null; then
  man -l "$prefix/share/man/man1/cclgym-simulate.1" | has -- --channels || fail "man shows no --channels"
fi

step "outside projects"
mkdir outside
# The complete program of docs/library.md, and the C program of docs/deploy.md.
awk '/^```cpp$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/docs/library.md" >outside/own.cpp
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/docs/deploy.md" >outside/choose.c
cat >outside/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C CXX)
find_package(cclgym 0.1 REQUIRED)
add_executable(own own.cpp)
target_link_libraries(own PRIVATE cclgym::cclgym)
add_executable(choose choose.c)
target_link_libraries(choose PRIVATE cclgym::policy)
END
cmake -S outside -B outside/build -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 || { cat "$work/log"; fail "find_package"; }
cmake --build outside/build >"$work/log" 2>&1 || { cat "$work/log"; fail "a build with find_package"; }
outside/build/own | tee own.txt
grep -q '112 transfers' own.txt || fail "the program of docs/library.md printed something else"
if [ -e trained.policy ]; then outside/build/choose trained.policy | has = || fail "the C program chose nothing"; fi
# refuses COMMAND...: it ends with 2, as the C program does without a policy.
refuses() {
  local code=0
  "$@" || code=$?
  [ "$code" -eq 2 ] || fail "$* ended with $code, expected 2"
}
refuses outside/build/choose own.txt

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$lib/pkgconfig
  # shellcheck disable=SC2046
  "${CXX:-c++}" outside/own.cpp $(pkg-config --cflags --libs cclgym) -o own-pc
  ./own-pc | cmp - own.txt
  # shellcheck disable=SC2046
  "${CC:-cc}" outside/choose.c $(pkg-config --cflags --libs cclgym-policy) -o choose-pc
  refuses env LD_LIBRARY_PATH="$lib" ./choose-pc own.txt
else
  echo "not run: pkg-config [needs pkg-config]"
fi
echo "The installation works."
