/* Decisions of a trained policy, from a policy file: plain C, without LibTorch. docs/deploy.md has
 * an example.
 *
 * A policy is loaded once and never changes: any number of threads may decide with it, each stream
 * of calls (a communicator, say) with a state of its own, which is memory of the caller. A decision
 * allocates nothing, takes no lock and gives the same bits on every x86-64 and every other IEEE 754
 * machine, whatever vector instructions it has, so that ranks on different machines decide alike.
 * No function throws; all take null pointers without harm. */
#ifndef CCLGYM_DEPLOY_POLICY_RUNTIME_H
#define CCLGYM_DEPLOY_POLICY_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names as C has them */
typedef struct cclgym_policy cclgym_policy;

enum cclgym_policy_status {
  CCLGYM_POLICY_OK = 0,
  CCLGYM_POLICY_BAD_FILE = 1,        /* cannot be read, or is no valid policy file */
  CCLGYM_POLICY_BAD_ARGUMENT = 2,    /* a null pointer, a wrong size, an unknown machine, ... */
  CCLGYM_POLICY_BAD_OBSERVATION = 3, /* a number that is not finite */
  CCLGYM_POLICY_NO_LEGAL_ACTION = 4, /* the masks leave none */
  CCLGYM_POLICY_NO_MEMORY = 5
};
/* NOLINTEND(readability-identifier-naming) */

/* Reads a policy file. On success *policy must be given to cclgym_policy_free. Otherwise *policy is
 * null, and `error` (if not null) has a line of at most error_bytes - 1 bytes that says what is
 * wrong.
 */
int cclgym_policy_load(const char* path, cclgym_policy** policy, char* error, size_t error_bytes);
/* The same from memory, which is copied. */
int cclgym_policy_parse(const void* bytes, size_t size, cclgym_policy** policy, char* error,
                        size_t error_bytes);
void cclgym_policy_free(cclgym_policy* policy);

/* Numbers in an observation; their names (null: no such number). */
size_t cclgym_policy_observation_size(const cclgym_policy* policy);
const char* cclgym_policy_feature_name(const cclgym_policy* policy, size_t feature);
/* Knobs of an action, and the levels of each; their names (null: none such). */
size_t cclgym_policy_knobs(const cclgym_policy* policy);
size_t cclgym_policy_levels(const cclgym_policy* policy, size_t knob);
const char* cclgym_policy_knob_name(const cclgym_policy* policy, size_t knob);
const char* cclgym_policy_level_name(const cclgym_policy* policy, size_t knob, size_t level);
/* How the policy was trained, as text; "" if the file does not say. */
const char* cclgym_policy_provenance(const cclgym_policy* policy);
/* The number of the mask rules of a collective ("allreduce") on a machine ("ndv4 servers=2"); -1:
 * the file has none. */
int cclgym_policy_rules(const cclgym_policy* policy, const char* machine, const char* collective);
/* Numbers of rules, and whose they are: "MACHINE/COLLECTIVE"; null: no such rules. */
size_t cclgym_policy_rules_count(const cclgym_policy* policy);
const char* cclgym_policy_rules_name(const cclgym_policy* policy, size_t rules);

/* What a stream of calls needs: so many bytes, aligned for any type. */
size_t cclgym_policy_state_bytes(const cclgym_policy* policy);
/* Sets the state to that before the first call of a stream. */
int cclgym_policy_state_init(const cclgym_policy* policy, void* state, size_t state_bytes);

/* Chooses for a call: advances the state by the observation and writes the likeliest level of each
 * knob in turn among the legal ones, given those before; of equally likely ones the first.
 *   observation  observation_size finite numbers, as the environment has them
 *   rules        mask rules (cclgym_policy_rules); -1: every combination is legal
 *   allowed      null, or a byte for each level of each knob in turn: 0 forbids it
 *   action       knobs numbers, written
 * On an error neither `state` nor `action` is changed. */
int cclgym_policy_decide(const cclgym_policy* policy, void* state, const float* observation,
                         size_t observation_size, int rules, const uint8_t* allowed,
                         size_t allowed_size, int32_t* action, size_t knobs);
/* The logits of the last decision's way to its action, all knobs in turn, before masking: for
 * checks. Returns how many there are; writes at most `size` of them. */
size_t cclgym_policy_logits(const cclgym_policy* policy, const void* state, float* logits,
                            size_t size);

#ifdef __cplusplus
}
#endif

#endif
