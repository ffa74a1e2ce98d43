/** @file
 * Cornerturn's C interface. No exception crosses it: every function returns a ct_status, and
 * ct_last_error() says what went wrong in the calling thread. Destination first, as in memcpy.
 * Extents are in elements, strides in bytes. All functions may be called from any thread.
 *
 * Pointers are the host's, and the CPU does the work before the call returns; or both lie on the
 * current GPU (or are managed), and the GPU does it in the order of ct_options.stream: one launch,
 * nothing is allocated and nothing waited for, and the stream may be captured in a graph. */
#ifndef CORNERTURN_H
#define CORNERTURN_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define CT_C_API
#else
#define CT_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Raised when something here changes in a way that old programs would notice. */
#define CT_ABI_VERSION 1

typedef enum ct_status {
  CT_OK = 0,
  CT_INVALID_ARGUMENT = 1, /**< an argument breaks a rule; ct_last_error() names it and the rule */
  CT_OVERFLOW = 2,         /**< a size or an offset does not fit in 64 bits */
  CT_UNSUPPORTED = 3,      /**< valid, but this build or this machine cannot do it */
  CT_OUT_OF_MEMORY = 4,
  CT_IO_ERROR = 5,
  CT_INTERRUPTED = 6,
  CT_INTERNAL = 7,    /**< a defect in Cornerturn */
  CT_DEVICE_ERROR = 8 /**< CUDA reports an error, of this call or from before it */
} ct_status;

typedef enum ct_effort { CT_ESTIMATE = 0, CT_MEASURE = 1 } ct_effort;

/** What a call may ask for. Start from CT_OPTIONS_INIT; NULL means the same. */
typedef struct ct_options {
  size_t size;        /**< sizeof(ct_options): lets the struct grow */
  int threads;        /**< at most so many; 0: all that the process may use */
  int effort;         /**< a ct_effort: how to choose */
  const char* kernel; /**< force this kernel; NULL: choose */
  void* stream;       /**< the cudaStream_t on which a GPU works; NULL: the default stream */
  const char* device; /**< NULL: where the pointers lie; "cpu" or "gpu" checks that; for
                           ct_plan_make also "h200", ... or a JSON file: a described GPU */
} ct_options;
#define CT_OPTIONS_INIT \
  { sizeof(ct_options), 0, CT_ESTIMATE, NULL, NULL, NULL }

/** A strided array. `type` is "f32", "u8", "c64", ... or "b12" for elements of 12 bytes. `strides`
 * are in bytes, one an extent; NULL means packed, last index fastest. */
typedef struct ct_view {
  void* data;
  const char* type;
  int rank;
  const int64_t* shape;
  const int64_t* strides;
} ct_view;

/** As ct_view, for what is only read. Strides may be zero: the element is repeated. */
typedef struct ct_const_view {
  const void* data;
  const char* type;
  int rank;
  const int64_t* shape;
  const int64_t* strides;
} ct_const_view;

typedef struct ct_plan ct_plan;

/** The version of the loaded library, "0.1.0", and its CT_ABI_VERSION. */
CT_C_API const char* ct_version(void);
CT_C_API int ct_abi_version(void);

/** One line about the last error in this thread, "" if there was none. Valid until the next call.
 */
CT_C_API const char* ct_last_error(void);

/** dst[i] = src[i] for every index i. Shapes must be equal. */
CT_C_API ct_status ct_copy(const ct_view* dst, const ct_const_view* src, const ct_options* options);

/** dst = src with its axes in the order perm[0..rank-1], packed, last index fastest. */
CT_C_API ct_status ct_permute(void* dst, const ct_const_view* src, const int* perm,
                              const ct_options* options);

/** dst (columns x rows) = transpose of src (rows x columns), both packed, last index fastest. */
CT_C_API ct_status ct_transpose(void* dst, const void* src, int64_t rows, int64_t columns,
                                const char* type, const ct_options* options);

/** The plan that ct_copy would use, to be run often. Free it with ct_plan_free. On an error *plan
 * is NULL. The data pointers may be NULL; otherwise they say which device the plan is for and, for
 * a GPU, which alignment it may count on. CT_MEASURE runs candidates on them. */
CT_C_API ct_status ct_plan_make(ct_plan** plan, const ct_view* dst, const ct_const_view* src,
                                const ct_options* options);
/** Runs the plan, on a GPU on the default stream. A GPU's plan needs addresses aligned as those of
 * ct_plan_make were, or to 16 bytes if these were NULL. */
CT_C_API ct_status ct_plan_execute(const ct_plan* plan, void* dst, const void* src);
/** The same on `stream`, a cudaStream_t, which only a GPU's plan uses. */
CT_C_API ct_status ct_plan_execute_on(const ct_plan* plan, void* dst, const void* src,
                                      void* stream);
/** "cpu", or the name of the GPU. Valid as long as the plan. NULL for a NULL plan. */
CT_C_API const char* ct_plan_device(const ct_plan* plan);
/** The plan in words, several lines. Valid as long as the plan. NULL for a NULL plan. */
CT_C_API const char* ct_plan_explain(const ct_plan* plan);
/** Does nothing for NULL. */
CT_C_API void ct_plan_free(ct_plan* plan);

/** Winners that CT_MEASURE found: as in C++, see cornerturn.hpp. */
CT_C_API ct_status ct_load_winners(const char* path);
CT_C_API ct_status ct_save_winners(const char* path);

#ifdef __cplusplus
}
#endif

#endif
