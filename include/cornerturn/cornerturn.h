/** @file
 * Cornerturn's C interface. No exception crosses it: every function returns a ct_status, and
 * ct_last_error() says what went wrong in the calling thread. The destination is the first
 * argument, as in memcpy. Extents are in elements, strides in bytes. All functions may be called
 * from any thread.
 *
 * Where pointers lead to host memory, the CPU does the work before the call returns. Where they
 * lead to the current GPU (or to managed memory), the GPU does it in the order of
 * ct_options.stream. It is one launch, which allocates nothing and waits for nothing, so the stream
 * may be captured in a graph. Functions for which that does not hold say so. */
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

/** This number rises when something here changes in a way that old programs would notice. */
#define CT_ABI_VERSION 1

typedef enum ct_status {
  CT_OK = 0,
  CT_INVALID_ARGUMENT = 1, /**< an argument breaks a rule; ct_last_error() names it and the rule */
  CT_OVERFLOW = 2,         /**< an array is, or reaches over, more than 2^60 bytes */
  CT_UNSUPPORTED = 3,      /**< the arguments are right, but this build or machine cannot do it */
  CT_OUT_OF_MEMORY = 4,
  CT_IO_ERROR = 5,
  CT_INTERRUPTED = 6,
  CT_INTERNAL = 7,    /**< a defect in Cornerturn */
  CT_DEVICE_ERROR = 8 /**< CUDA reports an error, of this call or from before it */
} ct_status;

typedef enum ct_effort { CT_ESTIMATE = 0, CT_MEASURE = 1, CT_AUTOMATIC = 2 } ct_effort;

/** What a call may ask for. Start from CT_OPTIONS_INIT; NULL means the same. */
typedef struct ct_options {
  size_t size;        /**< sizeof(ct_options), so that the struct can grow */
  int threads;        /**< the CPU uses at most so many; 0 means all that the process may use */
  int effort;         /**< a ct_effort, which says how to choose */
  const char* kernel; /**< forces this kernel; NULL means that the library chooses */
  void* stream;       /**< the cudaStream_t on which a GPU works; NULL means the default stream */
  const char* device; /**< NULL means where the pointers lie; "cpu" or "gpu" checks that;
                         ct_plan_make also takes "h200", ... or a JSON file that describes a GPU */
  int blocks;         /**< between host memory and a GPU: at most so many blocks of kernels that
                         reach over the link run at a time; 0 means as many as the GPU takes */
} ct_options;
#define CT_OPTIONS_INIT \
  { sizeof(ct_options), 0, CT_AUTOMATIC, NULL, NULL, NULL, 0 }

typedef enum ct_rounding {
  CT_NEAREST_EVEN = 0, /**< to the nearest, with ties to even; to integers towards zero */
  CT_STOCHASTIC = 1    /**< up or down at random; the nearer neighbour is the more likely one */
} ct_rounding;

typedef enum ct_overflow {
  CT_STANDARD = 0, /**< integers wrap; floats become infinite, or NaN where there is no infinity */
  CT_SATURATE = 1  /**< values become the largest or smallest finite value */
} ct_overflow;

/** Sets dst = alpha * scale[i_m] * convert(src) + bias[i_n] + beta * dst, as Epilogue in
 * epilogue.hpp says. Start from CT_EPILOGUE_INIT; NULL means the same: nothing but the type
 * changes.
 */
typedef struct ct_epilogue {
  size_t size; /**< sizeof(ct_epilogue), so that the struct can grow */
  double alpha;
  double beta;        /**< with 0 the destination is not read */
  int conjugate;      /**< 1 conjugates complex values, before anything else */
  int rounding;       /**< a ct_rounding */
  int overflow;       /**< a ct_overflow */
  uint64_t seed;      /**< the seed of stochastic rounding */
  const float* scale; /**< a factor for each index of axis `scale_mode`; they lie where dst lies */
  const float* bias;  /**< an addend for each index of axis `bias_mode` */
  int scale_mode;     /**< an axis of the views; -1 means one factor for all */
  int bias_mode;
} ct_epilogue;
#define CT_EPILOGUE_INIT \
  { sizeof(ct_epilogue), 1, 0, 0, CT_NEAREST_EVEN, CT_STANDARD, 0, NULL, NULL, -1, -1 }

/** The rank of a view is at most this. */
#define CT_MAX_RANK 64

/** A strided array. `type` is "f32", "u8", "c64", ..., ">f4" or "<i8" for NumPy's codes in either
 * order of bytes, or "b12" for elements of 12 bytes. `strides` are in bytes, one an extent; NULL
 * means packed, last index fastest. */
typedef struct ct_view {
  void* data;
  const char* type;
  int rank;
  const int64_t* shape;
  const int64_t* strides;
} ct_view;

/** A ct_view that is only read. Strides may be zero, where the element is repeated. */
typedef struct ct_const_view {
  const void* data;
  const char* type;
  int rank;
  const int64_t* shape;
  const int64_t* strides;
} ct_const_view;

typedef struct ct_plan ct_plan;

/** The version of the loaded library, as "major.minor.patch", and its CT_ABI_VERSION. */
CT_C_API const char* ct_version(void);
CT_C_API int ct_abi_version(void);

/** One line about the last error in this thread, or "" if there was none. It is valid until the
 * next call. */
CT_C_API const char* ct_last_error(void);

/** dst[i] = src[i] for every index i. Shapes must be equal. Where the types differ, values are
 * converted. */
CT_C_API ct_status ct_copy(const ct_view* dst, const ct_const_view* src, const ct_options* options);

/** Does the same with what `epilogue` asks for. */
CT_C_API ct_status ct_copy_with(const ct_view* dst, const ct_const_view* src,
                                const ct_epilogue* epilogue, const ct_options* options);

typedef enum ct_places { CT_STRIDES = 0, CT_I32 = 1, CT_I64 = 2, CT_POINTERS = 3 } ct_places;

/** When entries are looked at before anything is written. */
typedef enum ct_list_checks {
  CT_CHECK_ON_CPU = 0, /**< where the CPU does the work */
  CT_CHECK_ALWAYS = 1, /**< on a GPU too: the call waits for the stream, and cannot be captured */
  CT_CHECK_NEVER = 2   /**< what is out of range is read or written */
} ct_list_checks;

/** A table with the places of one axis of a view, as List in lists.hpp says. Start from
 * CT_LIST_INIT. */
typedef struct ct_list {
  size_t size;       /**< sizeof(ct_list), so that the struct can grow */
  int places;        /**< a ct_places: what the table holds */
  const void* table; /**< one entry for each index of the axis, where the arrays lie */
  int axis;
  int64_t count;     /**< indices are less than that; -1: there is nothing, or it is skipped */
  int leave_missing; /**< 1 leaves what has no source as it is; 0 fills it with zeros */
  int alignment;     /**< of pointers on a GPU, in bytes, at most 16; 0: the element's size */
} ct_list;
#define CT_LIST_INIT \
  { sizeof(ct_list), CT_STRIDES, NULL, 0, 0, 0, 0 }

/** Sets dst[i] = src[i] with `epilogue`, where an axis of one or both views comes from a table. A
 * NULL list means that all axes go in strides. `checks` is a ct_list_checks. */
CT_C_API ct_status ct_copy_listed(const ct_view* dst, const ct_list* dst_list,
                                  const ct_const_view* src, const ct_list* src_list,
                                  const ct_epilogue* epilogue, int checks,
                                  const ct_options* options);

/** Writes src with its axes in the order perm[0..rank-1] to dst, packed, last index fastest. */
CT_C_API ct_status ct_permute(void* dst, const ct_const_view* src, const int* perm,
                              const ct_options* options);

/** Puts the axes of array into the order perm[0..rank-1] within its memory, as in_place.hpp says.
 * `strides`, which may be NULL, gets the strides of the result, in bytes, one an axis. On an error
 * nothing has been written. */
CT_C_API ct_status ct_permute_in_place(const ct_view* array, const int* perm, int64_t* strides,
                                       const ct_options* options);
/** Makes the packed matrix `array`, of rows x columns elements, one of columns x rows elements in
 * the same memory. */
CT_C_API ct_status ct_transpose_in_place(void* array, int64_t rows, int64_t columns,
                                         const char* type, const ct_options* options);

/** Does the same into elements of `dst_type`, with `epilogue`, whose modes are axes of the result.
 */
CT_C_API ct_status ct_permute_to(void* dst, const char* dst_type, const ct_const_view* src,
                                 const int* perm, const ct_epilogue* epilogue,
                                 const ct_options* options);

/** Writes the transpose (columns x rows) of src (rows x columns) to dst; both are packed, last
 * index fastest. */
CT_C_API ct_status ct_transpose(void* dst, const void* src, int64_t rows, int64_t columns,
                                const char* type, const ct_options* options);

/** Does the same into elements of `dst_type`, with `epilogue`, whose modes are axes of the result.
 */
CT_C_API ct_status ct_transpose_to(void* dst, const char* dst_type, const void* src, int64_t rows,
                                   int64_t columns, const char* src_type,
                                   const ct_epilogue* epilogue, const ct_options* options);

typedef enum ct_block_scale {
  /** As the format has it. Scales of E8M0: as in the OCP specification, where the largest magnitude
   * may saturate. All others: exact. */
  CT_BLOCK_FLOOR = 0,
  CT_BLOCK_CEIL = 1, /**< the least power of two with which it does not saturate */
  CT_BLOCK_EVEN = 2  /**< E8M0: of the largest magnitude rounded as values are */
} ct_block_scale;

typedef enum ct_scale_order {
  CT_SCALES_STRIDED = 0,
  CT_SCALES_PACKED_4 = 1,   /**< four scales of a byte are an element "b4" */
  CT_SCALES_TILES_128X4 = 2 /**< tiles of 128 lines by 4 scales, as cuBLAS reads them, in "u8" */
} ct_scale_order;

/** Start from CT_BLOCK_OPTIONS_INIT; NULL means the same. */
typedef struct ct_block_options {
  size_t size;     /**< sizeof(ct_block_options), so that the struct can grow */
  int pad;         /**< 1 pads an extent that is no multiple of a block with zeros; 0 refuses it */
  int scale;       /**< a ct_block_scale */
  int threads;     /**< the CPU uses at most so many; 0 means all that the process may use */
  void* stream;    /**< the cudaStream_t on which a GPU works; NULL means the default stream */
  int scale_order; /**< a ct_scale_order */
  float tensor_scale; /**< of "nvfp4" */
  int rounding;       /**< CT_NEAREST_EVEN or CT_STOCHASTIC */
  uint64_t seed;      /**< of stochastic rounding */
} ct_block_options;
#define CT_BLOCK_OPTIONS_INIT \
  { sizeof(ct_block_options), 0, CT_BLOCK_FLOOR, 0, NULL, CT_SCALES_STRIDED, 1, CT_NEAREST_EVEN, 0 }

/** These functions quantise and dequantise blocks along `axis` that share a scale, as blocks.hpp
 * says of quantise(), dequantise() and quantise_both(). `format` is a name in its table:
 * "fp8_1x128", "mxfp8_e4m3", "nvfp4", "q4_0" ... `scales` is NULL where the scales are inside the
 * blocks. */
CT_C_API ct_status ct_quantise(const char* format, const ct_view* values, const ct_view* scales,
                               const ct_const_view* src, int axis, const ct_block_options* options);
CT_C_API ct_status ct_dequantise(const char* format, const ct_view* dst,
                                 const ct_const_view* values, const ct_const_view* scales, int axis,
                                 const ct_block_options* options);
CT_C_API ct_status ct_quantise_both(const char* format, const ct_view* rows,
                                    const ct_view* row_scales, const ct_view* columns,
                                    const ct_view* column_scales, const ct_const_view* src,
                                    const ct_block_options* options);
/** The same on a CPU where a list of indices says which entries of the plain array there are, along
 * any of its axes. With -1 there are blocks of zeros, or the entry is skipped. */
CT_C_API ct_status ct_quantise_listed(const char* format, const ct_view* values,
                                      const ct_view* scales, const ct_const_view* src,
                                      const ct_list* src_list, int axis,
                                      const ct_block_options* options);
CT_C_API ct_status ct_dequantise_listed(const char* format, const ct_view* dst,
                                        const ct_list* dst_list, const ct_const_view* values,
                                        const ct_const_view* scales, int axis,
                                        const ct_block_options* options);
CT_C_API ct_status ct_quantise_both_listed(const char* format, const ct_view* rows,
                                           const ct_view* row_scales, const ct_view* columns,
                                           const ct_view* column_scales, const ct_const_view* src,
                                           const ct_list* src_list,
                                           const ct_block_options* options);

/** Brings the scales of matrices from one ct_scale_order to another, as convert_scales() of
 * casts.hpp says. `shape` has `rank` extents, of which the last two are the lines and the scales of
 * a line. */
CT_C_API ct_status ct_convert_scales(const ct_view* dst, int to, const ct_const_view* src, int from,
                                     int rank, const int64_t* shape, const ct_options* options);
/** Transposes the blocks of a matrix as they are stored, as transpose_blocks() of casts.hpp says.
 */
CT_C_API ct_status ct_transpose_blocks(const char* format, const ct_view* values,
                                       const ct_view* scales, const ct_const_view* src_values,
                                       const ct_const_view* src_scales, const ct_options* options);
/** Quantises a matrix whose rows are `groups` groups of sizes[g] rows each, every one by itself, as
 * quantise_groups() of casts.hpp says. */
CT_C_API ct_status ct_quantise_groups(const char* format, const ct_view* values,
                                      const ct_view* scales, const ct_const_view* src,
                                      int64_t groups, const int64_t* sizes, int axis,
                                      const ct_block_options* options);

/** These functions quantise and dequantise blocks of 32 values along `axis` that share a scale, as
 * blocks.hpp says: ggml's q8_0, in elements "b34", and MXFP8, in "f8_e4m3" or "f8_e5m2" with E8M0
 * scales in "u8". The arrays lie in host memory, or on the current GPU. */
CT_C_API ct_status ct_quantise_q8_0(const ct_view* blocks, const ct_const_view* src, int axis,
                                    const ct_block_options* options);
CT_C_API ct_status ct_dequantise_q8_0(const ct_view* dst, const ct_const_view* blocks, int axis,
                                      const ct_block_options* options);
CT_C_API ct_status ct_quantise_mxfp8(const ct_view* values, const ct_view* scales,
                                     const ct_const_view* src, int axis,
                                     const ct_block_options* options);
CT_C_API ct_status ct_dequantise_mxfp8(const ct_view* dst, const ct_const_view* values,
                                       const ct_const_view* scales, int axis,
                                       const ct_block_options* options);
/** Makes both copies of a matrix that training needs, in one read: `rows` has blocks along the rows
 * of `src`, and `columns`, the transpose, has blocks along the columns of `src`. */
CT_C_API ct_status ct_quantise_mxfp8_both(const ct_view* rows, const ct_view* row_scales,
                                          const ct_view* columns, const ct_view* column_scales,
                                          const ct_const_view* src,
                                          const ct_block_options* options);

/** ggml's copy operator sets dst = src, as ggml_cpy, ggml_cont and ggml_dup do. The arguments are
 * members of two `ggml_tensor`s: the number of a ggml_type, extents in values, fastest first, and
 * strides in bytes. The types f32, f16, bf16, i8, i16, i32, i64, f64 and q8_0 are converted into
 * each other; other quantised types are copied. The extents may differ where the number of elements
 * does not. ggml.hpp says more. */
CT_C_API ct_status ct_ggml_cpy(void* dst, int dst_type, const int64_t dst_ne[4],
                               const size_t dst_nb[4], const void* src, int src_type,
                               const int64_t src_ne[4], const size_t src_nb[4],
                               const ct_options* options);
/** Says whether ct_ggml_cpy can copy these tensors, for a backend's supports_op. It returns CT_OK,
 * or ct_last_error() says why not. */
CT_C_API ct_status ct_ggml_can_cpy(int dst_type, const int64_t dst_ne[4], const size_t dst_nb[4],
                                   int src_type, const int64_t src_ne[4], const size_t src_nb[4]);

/** Finds the largest magnitude of real values; it is NaN where any value is NaN. The CPU uses at
 * most `threads` threads; 0 means all that the process may use. On a GPU this function and the next
 * wait for the default stream, and refuse to do so while it is being captured. */
CT_C_API ct_status ct_amax(double* amax, const ct_const_view* src, int threads);
/** Sets dst, which holds "f8_e4m3", "f8_e5m2" or "i8", to src / scale. The scale maps the largest
 * magnitude of src to the largest value of the type, as amax.hpp says. */
CT_C_API ct_status ct_quantise_tensor(const ct_view* dst, double* scale, const ct_const_view* src,
                                      int threads);
/** These do the same on `stream`, a cudaStream_t, which only a GPU uses. */
CT_C_API ct_status ct_amax_on(double* amax, const ct_const_view* src, int threads, void* stream);
CT_C_API ct_status ct_quantise_tensor_on(const ct_view* dst, double* scale,
                                         const ct_const_view* src, int threads, void* stream);

/** What ct_redistribute does with an array that is spread over devices, as Resharding and
 * ReshardingOptions in shards.hpp say. Start from CT_RESHARDING_INIT. */
typedef struct ct_resharding {
  size_t size;          /**< sizeof(ct_resharding), so that the struct can grow */
  int rank;             /**< of the whole array */
  const int64_t* shape; /**< of the whole array */
  int mesh_rank;        /**< dimensions of the mesh */
  const int64_t* mesh;  /**< the devices by coordinates, numbered with the last one fastest */
  const char* src;      /**< how the array is spread, as "S0,R" */
  const char* dst;      /**< how the result is to be spread */
  const int* perm;      /**< axis i of the result is axis perm[i]; NULL keeps the axes */
  void* const* streams; /**< a cudaStream_t for each device; NULL means the default streams */
  const char* route;    /**< "one pass" or "copy engines"; NULL means that the library chooses */
  int threads;          /**< the CPU uses at most so many; 0 means all that the process may use */
} ct_resharding;
#define CT_RESHARDING_INIT \
  { sizeof(ct_resharding), 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0 }

/** Brings an array that is spread over the devices of this process into another layout. `dst` and
 * `src` are lists of `devices` shards each, one for every device of the mesh. All shards lie in
 * host memory, or the two shards of each device lie on one GPU, whichever is the current one. On
 * GPUs it is several launches or copies; they may be captured in a graph with all streams. */
CT_C_API ct_status ct_redistribute(const ct_view* dst, const ct_const_view* src, int devices,
                                   const ct_resharding* what);

/** Makes the plan that ct_copy would use, so that it can be run often. Free it with ct_plan_free.
 * On an error *plan is NULL. The data pointers may be NULL. Otherwise they say which device the
 * plan is for and, for a GPU, which alignment it may count on. CT_MEASURE runs candidates on them.
 */
CT_C_API ct_status ct_plan_make(ct_plan** plan, const ct_view* dst, const ct_const_view* src,
                                const ct_options* options);
/** Makes the plan of ct_copy_with. The pointer of a scale or a bias that has a mode may be NULL as
 * well. */
CT_C_API ct_status ct_plan_make_with(ct_plan** plan, const ct_view* dst, const ct_const_view* src,
                                     const ct_epilogue* epilogue, const ct_options* options);
/** Runs the plan, on a GPU on the default stream. A GPU's plan needs addresses aligned as those of
 * ct_plan_make were, or to 16 bytes if these were NULL. */
CT_C_API ct_status ct_plan_execute(const ct_plan* plan, void* dst, const void* src);
/** Does the same on `stream`, a cudaStream_t, which only a GPU's plan uses. */
CT_C_API ct_status ct_plan_execute_on(const ct_plan* plan, void* dst, const void* src,
                                      void* stream);
/** Does the same with the vectors of `epilogue`, of which only `scale` and `bias` are read. */
CT_C_API ct_status ct_plan_execute_with(const ct_plan* plan, void* dst, const void* src,
                                        const ct_epilogue* epilogue, void* stream);
/** Returns "cpu", or the name of the GPU; NULL for a NULL plan. It is valid as long as the plan. */
CT_C_API const char* ct_plan_device(const ct_plan* plan);
/** Returns the plan in words, on several lines; NULL for a NULL plan. It is valid as long as the
 * plan. */
CT_C_API const char* ct_plan_explain(const ct_plan* plan);
/** Does nothing for NULL. */
CT_C_API void ct_plan_free(ct_plan* plan);

/** These load and save the winners that CT_MEASURE has found, as cornerturn.hpp says. */
CT_C_API ct_status ct_load_winners(const char* path);
CT_C_API ct_status ct_save_winners(const char* path);

#ifdef __cplusplus
}
#endif

#endif
