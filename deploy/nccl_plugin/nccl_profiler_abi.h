/* Interface between NCCL and a profiler plugin: our own declarations of the layouts that NCCL 2.28
 * (ncclProfiler_v5) and 2.29 and newer (ncclProfiler_v6) read, as far as collectives and their
 * kernels need them. The descriptors of v5 and v6 differ only in kinds of events that are not used
 * here; both are at least as long as this one. */
#ifndef CCLGYM_DEPLOY_NCCL_PROFILER_ABI_H
#define CCLGYM_DEPLOY_NCCL_PROFILER_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "deploy/nccl_plugin/nccl_tuner_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): C names */
/* Kinds of events, and bits of the activation mask. */
enum { CCLGYM_NCCL_EVENT_COLLECTIVE = 1 << 1, CCLGYM_NCCL_EVENT_KERNEL_CHANNEL = 1 << 6 };
/* The state in which a channel's kernel has ended. */
enum { CCLGYM_NCCL_KERNEL_CHANNEL_STOP = 22 };

typedef struct {
  uint64_t sequence;
  const char* collective; /* "AllReduce" */
  const void* send_buffer;
  void* receive_buffer;
  size_t count; /* elements per rank */
  int root;
  const char* datatype; /* "ncclFloat32" */
  uint8_t channels;
  uint8_t warps;
  const char* algorithm; /* "RING" */
  const char* protocol;  /* "SIMPLE" */
  void* group;
} cclgym_nccl_collective_event;

typedef struct {
  uint8_t channel;
  uint64_t start_ns; /* by the GPU's globaltimer */
} cclgym_nccl_kernel_channel_event;

typedef struct {
  uint64_t kind;
  void* parent; /* handle of the event that this one is part of */
  int rank;
  union {
    cclgym_nccl_collective_event collective;
    cclgym_nccl_kernel_channel_event kernel_channel;
  };
} cclgym_nccl_event;

typedef union {
  struct {
    uint64_t stop_ns;
  } kernel_channel;
} cclgym_nccl_event_state;

typedef struct {
  const char* name;
  int (*init)(void** context, uint64_t communicator, int* activation_mask,
              const char* communicator_name, int nodes, int ranks, int rank,
              cclgym_nccl_logger logger);
  int (*start_event)(void* context, void** handle, cclgym_nccl_event* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, cclgym_nccl_event_state* arguments);
  int (*finalize)(void* context);
} cclgym_nccl_profiler;
/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
