# Steps of a check, for scripts that source this file: step NAME COMMAND... runs a command, and ends the script if it fails.
# At the script's end, a table has the elapsed time of each step.
step_names=()
step_seconds=()
print_steps() {
  local status=$? total=0 i
  [ ${#step_names[@]} -gt 0 ] || return
  printf '\n%-44s %8s\n' step min:s
  for i in "${!step_names[@]}"; do
    printf '%-44s %5d:%02d\n' "${step_names[i]}" $((step_seconds[i] / 60)) $((step_seconds[i] % 60))
    total=$((total + step_seconds[i]))
  done
  printf '%-44s %5d:%02d\n' all $((total / 60)) $((total % 60))
  [ "$status" -eq 0 ] || echo "Failed: ${step_names[-1]}"
}
trap print_steps EXIT
step() {
  local name=$1 start=$SECONDS status=0
  shift
  step_names+=("$name")
  echo "== $name"
  "$@" || status=$?
  step_seconds+=($((SECONDS - start)))
  [ "$status" -eq 0 ] || exit "$status"
}
