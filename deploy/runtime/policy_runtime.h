/* Decisions of a trained policy from a policy file, in plain C without LibTorch. docs/deploy.md has
 * an example.
 *
 * A policy is loaded once and never changes: any number of threads may decide with it, each stream
 * of calls (for example a communicator) with its own state, in the caller's memory. A decision
 * allocates nothing, takes no lock and gives the same bits on every x86-64 and every other IEEE 754
 * machine, independently of its vector instructions, so that ranks on different machines make the
 * same decision. No function throws; all accept null pointers. */
#ifndef CCLGYM_DEPLOY_POLICY_RUNTIME_H
#define CCLGYM_DEPLOY_POLICY_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): C names */
typedef struct cclgym_policy cclgym_policy;

enum cclgym_policy_status {
  CCLGYM_POLICY_OK = 0,
  CCLGYM_POLICY_BAD_FILE = 1,        /* cannot be read, or is not a valid policy file */
  CCLGYM_POLICY_BAD_ARGUMENT = 2,    /* a null pointer, a wrong size, an unknown machine, ... */
  CCLGYM_POLICY_BAD_OBSERVATION = 3, /* a number that is not finite */
  CCLGYM_POLICY_NO_LEGAL_ACTION = 4, /* the masks forbid all actions */
  CCLGYM_POLICY_NO_MEMORY = 5
};
/* NOLINTEND(readability-identifier-naming) */

/* Reads a policy file. On success *policy must be freed by cclgym_policy_free. Otherwise *policy is
 * null, and `error` (if not null) has a message of one line, at most error_bytes - 1 bytes.
 */
int cclgym_policy_load(const char* path, cclgym_policy** policy, char* error, size_t error_bytes);
/* Reads a policy from memory, which is copied. */
int cclgym_policy_parse(const void* bytes, size_t size, cclgym_policy** policy, char* error,
                        size_t error_bytes);
void cclgym_policy_free(cclgym_policy* policy);

/* Number of features in an observation, and the name of each (null: no such feature). */
size_t cclgym_policy_observation_size(const cclgym_policy* policy);
const char* cclgym_policy_feature_name(const cclgym_policy* policy, size_t feature);
/* Number of knobs of an action and of levels of each knob, and their names (null: no such knob or
 * level). */
size_t cclgym_policy_knobs(const cclgym_policy* policy);
size_t cclgym_policy_levels(const cclgym_policy* policy, size_t knob);
const char* cclgym_policy_knob_name(const cclgym_policy* policy, size_t knob);
const char* cclgym_policy_level_name(const cclgym_policy* policy, size_t knob, size_t level);
/* Text about the training of the policy; "" if the file has none. */
const char* cclgym_policy_provenance(const cclgym_policy* policy);
/* Index of the mask rules of a collective ("allreduce") on a machine ("ndv4 nodes=2"); -1 if the
 * file has none. */
int cclgym_policy_rules(const cclgym_policy* policy, const char* machine, const char* collective);
/* Number of mask rules, and the name of each: "MACHINE/COLLECTIVE"; null: no such rules. */
size_t cclgym_policy_rules_count(const cclgym_policy* policy);
const char* cclgym_policy_rules_name(const cclgym_policy* policy, size_t rules);

/* Bytes that the state of a stream of calls needs, aligned for any type. */
size_t cclgym_policy_state_bytes(const cclgym_policy* policy);
/* Initialises the state for the first call of a stream. */
int cclgym_policy_state_init(const cclgym_policy* policy, void* state, size_t state_bytes);

/* Makes the decision for a call: advances the state by the observation and writes, for each knob in
 * turn, the likeliest legal level given the choices before it; among equals, the first.
 *   observation  observation_size finite numbers, as in the environment
 *   rules        mask rules (cclgym_policy_rules); -1: every combination is legal
 *   allowed      null, or one byte per level of each knob in turn; 0 forbids the level
 *   action       `knobs` numbers, written
 * On an error neither `state` nor `action` is changed. */
int cclgym_policy_decide(const cclgym_policy* policy, void* state, const float* observation,
                         size_t observation_size, int rules, const uint8_t* allowed,
                         size_t allowed_size, int32_t* action, size_t knobs);
/* The logits of the last decision for its action, of all knobs in turn, before masking; for checks.
 * Returns their number; writes at most `size` of them. */
size_t cclgym_policy_logits(const cclgym_policy* policy, const void* state, float* logits,
                            size_t size);

#ifdef __cplusplus
}
#endif

#endif
