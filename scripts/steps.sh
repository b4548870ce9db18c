# Steps of a check, for scripts that source this file: step NAME COMMAND... runs a command, and ends the script if it fails.
# At the script's end, a table has the elapsed time of each step.
step_names=()
step_seconds=()
print_steps() {
  local status=$? total=0 i
  [ ${#step_names[@]} -gt 0 ] || return
  printf '\n%-44s %8s\n' step min:s
  for i in "${!step_names[@]}"; do
    if [ -z "${step_seconds[i]:-}" ]; then
      printf '%-44s %8s\n' "${step_names[i]}" -
      continue
    fi
    printf '%-44s %5d:%02d\n' "${step_names[i]}" $((step_seconds[i] / 60)) $((step_seconds[i] % 60))
    total=$((total + step_seconds[i]))
  done
  printf '%-44s %5d:%02d\n' all $((total / 60)) $((total % 60))
  if [ ${#step_names[@]} -ne ${#step_seconds[@]} ]; then
    echo "Interrupted: ${step_names[-1]}"
  elif [ "$status" -ne 0 ]; then
    echo "Failed: ${step_names[-1]}"
  fi
}
trap print_steps EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
step() {
  local name=$1 start=$SECONDS status=0
  shift
  step_names+=("$name")
  echo "== $name"
  "$@" || status=$?
  step_seconds+=($((SECONDS - start)))
  [ "$status" -eq 0 ] || exit "$status"
}
