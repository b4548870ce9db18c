#include <stdio.h>
#include <stdlib.h>

#include "deploy/runtime/policy_runtime.h"

int main(int argc, char** argv) {
  cclgym_policy* policy = NULL;
  char error[256];
  if (argc < 2) return 2;
  if (cclgym_policy_load(argv[1], &policy, error, sizeof error) != CCLGYM_POLICY_OK) {
    fprintf(stderr, "%s\n", error);
    return 2;
  }
  /* One state for each stream of calls, e.g. a communicator. */
  size_t size = cclgym_policy_state_bytes(policy);
  void* state = malloc(size);
  cclgym_policy_state_init(policy, state, size);

  size_t n = cclgym_policy_observation_size(policy);
  float* observation = calloc(n, sizeof(float)); /* contents: docs/collective-tuning.md */
  int32_t action[16];
  size_t knobs = cclgym_policy_knobs(policy);
  int rules = cclgym_policy_rules(policy, "ndv4", "allreduce"); /* -1: all combinations are legal */
  int status = cclgym_policy_decide(policy, state, observation, n, rules, NULL, 0, action, knobs);
  for (size_t knob = 0; status == CCLGYM_POLICY_OK && knob < knobs; ++knob) {
    printf("%s=%s\n", cclgym_policy_knob_name(policy, knob),
           cclgym_policy_level_name(policy, knob, (size_t)action[knob]));
  }
  free(observation);
  free(state);
  cclgym_policy_free(policy);
  return status;
}
