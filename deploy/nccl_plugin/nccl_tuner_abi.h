/* Interface between NCCL and a tuner plugin: our own declarations of the layouts that NCCL 2.21 to
 * 2.30 read (ncclTunerPlugin_v2 to _v6). The order of members is the interface. Values are those of
 * NCCL's enums; results are plain int, 0 for ncclSuccess. docs/deploy.md lists the layouts that
 * each release looks for. */
#ifndef CCLGYM_DEPLOY_NCCL_TUNER_ABI_H
#define CCLGYM_DEPLOY_NCCL_TUNER_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): C names */
enum { CCLGYM_NCCL_SUCCESS = 0 };

/* Levels of a logger, and the subsystems of a line (flags). */
enum { CCLGYM_NCCL_LOG_WARN = 2, CCLGYM_NCCL_LOG_INFO = 3 };
enum { CCLGYM_NCCL_INIT = 1, CCLGYM_NCCL_TUNING = 64 };
typedef void (*cclgym_nccl_logger)(int level, unsigned long flags, const char* file, int line,
                                   const char* format, ...);

enum {
  CCLGYM_NCCL_BROADCAST = 0,
  CCLGYM_NCCL_REDUCE = 1,
  CCLGYM_NCCL_ALLGATHER = 2,
  CCLGYM_NCCL_REDUCESCATTER = 3,
  CCLGYM_NCCL_ALLREDUCE = 4
};
enum { CCLGYM_NCCL_TREE = 0, CCLGYM_NCCL_RING = 1 };
enum { CCLGYM_NCCL_LL = 0, CCLGYM_NCCL_LL128 = 1, CCLGYM_NCCL_SIMPLE = 2 };

/* Sizes of the tables of constants. */
enum {
  CCLGYM_NCCL_ALGORITHMS = 7,
  CCLGYM_NCCL_PROTOCOLS = 3,
  CCLGYM_NCCL_LINKS = 3,        /* NVLink, PCIe, network */
  CCLGYM_NCCL_GENERATIONS = 4,  /* Volta, Ampere, Hopper, Blackwell */
  CCLGYM_NCCL_NODE_COLUMNS = 3, /* 1, 2, more nodes */
};

/* 2.21 */
typedef struct {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, cclgym_nccl_logger logger, void** context);
  int (*get_coll_info)(void* context, int collective, size_t bytes, int collnet_support,
                       int nvls_support, int pipe_ops, int* algorithm, int* protocol,
                       int* channels);
  int (*destroy)(void* context);
} cclgym_nccl_tuner_v2;

/* 2.22. `costs` is one contiguous float[algorithms][protocols] in spite of its type: predicted
 * microseconds, negative if NCCL cannot use the combination. */
typedef struct {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, cclgym_nccl_logger logger, void** context);
  int (*get_coll_info)(void* context, int collective, size_t bytes, int pipe_ops, float** costs,
                       int algorithms, int protocols, int* channels);
  int (*destroy)(void* context);
} cclgym_nccl_tuner_v3;

/* 2.24 */
typedef struct {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, cclgym_nccl_logger logger, void** context);
  int (*get_coll_info)(void* context, int collective, size_t bytes, int pipe_ops, float** costs,
                       int algorithms, int protocols, int registered_buffers, int* channels);
  int (*destroy)(void* context);
} cclgym_nccl_tuner_v4;

typedef struct {
  int domains;
  int least_ranks; /* per domain */
  int most_ranks;
} cclgym_nccl_nvlink_domains;

/* Constants of NCCL's own model, us and GB/s. They have NCCL's defaults when init is called; NCCL
 * uses the values that init leaves there. */
typedef struct {
  double base_latency[CCLGYM_NCCL_ALGORITHMS][CCLGYM_NCCL_PROTOCOLS];
  double hw_latency[CCLGYM_NCCL_LINKS][CCLGYM_NCCL_ALGORITHMS][CCLGYM_NCCL_PROTOCOLS];
  double ll_max_bw[CCLGYM_NCCL_GENERATIONS][CCLGYM_NCCL_NODE_COLUMNS];
  double ring_ll128_bw[CCLGYM_NCCL_GENERATIONS][CCLGYM_NCCL_NODE_COLUMNS];
  double tree_ll128_bw[CCLGYM_NCCL_GENERATIONS][CCLGYM_NCCL_NODE_COLUMNS];
  double tree_bw[CCLGYM_NCCL_GENERATIONS][CCLGYM_NCCL_NODE_COLUMNS];
  double nvls_tree_bw[CCLGYM_NCCL_GENERATIONS][CCLGYM_NCCL_NODE_COLUMNS];
} cclgym_nccl_constants;

typedef int (*cclgym_nccl_init_v5)(void** context, uint64_t communicator, size_t ranks,
                                   size_t nodes, cclgym_nccl_logger logger,
                                   cclgym_nccl_nvlink_domains* domains,
                                   cclgym_nccl_constants* constants);

/* 2.28 */
typedef struct {
  const char* name;
  cclgym_nccl_init_v5 init;
  int (*get_coll_info)(void* context, int collective, size_t bytes, int pipe_ops, float** costs,
                       int algorithms, int protocols, int registered_buffers, int* channels);
  int (*finalize)(void* context);
} cclgym_nccl_tuner_v5;

/* 2.30. get_chunk_size: `chunk` has NCCL's choice, B of data; for Ring and Tree NCCL passes the
 * bytes of a channel and channels = 1. */
typedef struct {
  const char* name;
  cclgym_nccl_init_v5 init;
  int (*get_coll_info)(void* context, int collective, size_t bytes, int pipe_ops, float** costs,
                       int algorithms, int protocols, int registered_buffers, int* channels);
  int (*finalize)(void* context);
  int (*get_chunk_size)(void* context, int collective, size_t bytes, int algorithm, int protocol,
                        int channels, size_t* chunk);
} cclgym_nccl_tuner_v6;
/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
