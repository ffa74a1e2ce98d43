/** @file
 * Cornerturn's C interface. No exception crosses it: every function returns a ct_status, and
 * ct_last_error() says what went wrong in the calling thread. The destination is the first
 * argument, as in memcpy. Extents are in elements, strides in bytes. All functions may be called
 * from any thread. Arguments are checked before anything is written: a call that breaks a rule
 * returns CT_INVALID_ARGUMENT, CT_OVERFLOW or CT_UNSUPPORTED and has written nothing. What is
 * written lies apart from what is read, but in the functions that work in place.
 *
 * Where pointers lead to host memory, the CPU does the work before the call returns. Where they
 * lead to the current GPU (or to managed memory), the GPU does it in the order of
 * ct_options.stream. It is one launch, or a few, which allocate nothing and wait for nothing, so
 * the stream may be captured in a graph. Functions for which that does not hold say so. */
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

/** Sets dst[i] = src[i] for every index i. Shapes must be equal. Strides may be any that write no
 * byte of dst twice. Where the types differ, values are converted: real ones into real or complex
 * ones, complex ones into complex ones. One side may lie in host memory and the other one on the
 * current GPU. Pinned memory is then still being used when the call returns, unless the plan lets
 * the CPU take part. */
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

/** Sets dst[i] = src[i] with `epilogue`, where an axis of one or both views comes from a table.
 * Along that axis `shape` counts the entries of the table. Entry k lies at data + table[k] *
 * strides[axis], or at table[k] where the table holds pointers. A NULL list means that all axes go
 * in strides. `checks` is a ct_list_checks; it finds entries that are out of range, and entries of
 * dst that are equal or NULL. A GPU reads the table when the kernel runs. */
CT_C_API ct_status ct_copy_listed(const ct_view* dst, const ct_list* dst_list,
                                  const ct_const_view* src, const ct_list* src_list,
                                  const ct_epilogue* epilogue, int checks,
                                  const ct_options* options);

/** Writes src with its axes in the order perm[0..rank-1] to dst, packed, last index fastest: extent
 * i of the result is src->shape[perm[i]]. The elements keep their type. */
CT_C_API ct_status ct_permute(void* dst, const ct_const_view* src, const int* perm,
                              const ct_options* options);

/** Puts the axes of array into the order perm[0..rank-1] within its memory, as in_place.hpp says:
 * extent i of the result is array->shape[perm[i]]. An array without gaps becomes a packed one; in
 * one with gaps only pairs of axes of equal extent change places. `strides`, which may be NULL,
 * gets the strides of the result, in bytes, one an axis. Where extents differ, the call takes
 * memory of at most 1 MiB or one per cent of the array, whichever is more, or returns
 * CT_OUT_OF_MEMORY; a GPU takes it from the pool of the stream, and may need several launches. */
CT_C_API ct_status ct_permute_in_place(const ct_view* array, const int* perm, int64_t* strides,
                                       const ct_options* options);
/** Makes the packed matrix `array`, of rows x columns elements, one of columns x rows elements in
 * the same memory, as ct_permute_in_place does. */
CT_C_API ct_status ct_transpose_in_place(void* array, int64_t rows, int64_t columns,
                                         const char* type, const ct_options* options);

/** Does what ct_permute does into elements of `dst_type`, with `epilogue`, whose modes are axes of
 * the result. */
CT_C_API ct_status ct_permute_to(void* dst, const char* dst_type, const ct_const_view* src,
                                 const int* perm, const ct_epilogue* epilogue,
                                 const ct_options* options);

/** Writes the transpose (columns x rows) of src (rows x columns) to dst; both are packed, last
 * index fastest. */
CT_C_API ct_status ct_transpose(void* dst, const void* src, int64_t rows, int64_t columns,
                                const char* type, const ct_options* options);

/** Does what ct_transpose does into elements of `dst_type`, with `epilogue`, whose modes are axes
 * of the result: mode 0 counts the columns of src, mode 1 its rows. */
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
  float tensor_scale; /**< of "nvfp4": 448 * 6 / what ct_amax finds, and positive */
  int rounding;       /**< CT_NEAREST_EVEN or CT_STOCHASTIC */
  uint64_t seed;      /**< of stochastic rounding */
  int checks;         /**< a ct_list_checks, of calls with a list */
} ct_block_options;
#define CT_BLOCK_OPTIONS_INIT                                                                    \
  {                                                                                              \
    sizeof(ct_block_options), 0, CT_BLOCK_FLOOR, 0, NULL, CT_SCALES_STRIDED, 1, CT_NEAREST_EVEN, \
        0, CT_CHECK_ON_CPU                                                                       \
  }

/** These functions quantise and dequantise blocks along `axis` that share a scale, as blocks.hpp
 * says of quantise(), dequantise() and quantise_both(). `format` is a name in its table:
 * "fp8_1x128", "mxfp8_e4m3", "nvfp4", "q4_0" ...
 *
 * The plain array, src or dst, holds real values of any type. `values` has its shape, padded to
 * whole blocks: "f8_e4m3", "f8_e5m2", "u8" with half of the extent at `axis` for two values of 4
 * bits in a byte, or one element of bytes a block, as "b34", where the scale is inside. `scales`
 * has the shape of the blocks, in "f32", "u8" or "f8_e4m3", as options->scale_order says; it is
 * NULL where the scales are inside the blocks. Strides may be any, in bytes, but for the 512 bytes
 * of a tile, which follow each other.
 *
 * ct_quantise_both takes a matrix of R x C values: `rows` has blocks along its rows, and `columns`,
 * of C x R values, blocks along its columns. `axis` is that of the plain array.
 *
 * All arrays lie in host memory, or on the current GPU, which works on options->stream, in one
 * launch; ct_quantise_both may take two. CT_UNSUPPORTED is what a GPU has no kernel for. */
CT_C_API ct_status ct_quantise(const char* format, const ct_view* values, const ct_view* scales,
                               const ct_const_view* src, int axis, const ct_block_options* options);
CT_C_API ct_status ct_dequantise(const char* format, const ct_view* dst,
                                 const ct_const_view* values, const ct_const_view* scales, int axis,
                                 const ct_block_options* options);
CT_C_API ct_status ct_quantise_both(const char* format, const ct_view* rows,
                                    const ct_view* row_scales, const ct_view* columns,
                                    const ct_view* column_scales, const ct_const_view* src,
                                    const ct_block_options* options);
/** These functions do the same where a list of indices says which entries of the plain array there
 * are, along any of its axes, whose extent is the number of entries. With -1 in src there are
 * blocks of zeros, and in dst the entry is skipped. Indices are checked first, on a GPU where
 * options->checks asks for it. Lists of pointers and `leave_missing` are CT_UNSUPPORTED, and so is,
 * on a GPU, all that quantise_listed() of blocks.hpp says of it. */
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
 * casts.hpp says. `shape` has `rank` extents, 2 at least, of which the last two are the lines and
 * the scales of a line. A view in strides has that shape; one in fours has a fourth of the last
 * extent, rounded up, in elements of 4 bytes; one in tiles has the shape {..., tiles of lines,
 * fours, 512} in bytes. Strides may be any, but for the 512 bytes of a tile, which follow each
 * other. Both sides lie in host memory, or on the current GPU, which takes several launches on
 * options->stream. */
CT_C_API ct_status ct_convert_scales(const ct_view* dst, int to, const ct_const_view* src, int from,
                                     int rank, const int64_t* shape, const ct_options* options);
/** Transposes the blocks of a matrix as they are stored, as transpose_blocks() of casts.hpp says.
 * The values and scales of src are those that ct_quantise makes of R x C values along axis 1, and
 * the results are those of the transpose, of C x R values; R and C are multiples of a block.
 * Strides may be any, in bytes, and scales lie in CT_SCALES_STRIDED. A value that cannot stay what
 * it is gives CT_UNSUPPORTED and is named. On a GPU square blocks alone are transposed, in two
 * launches on options->stream. */
CT_C_API ct_status ct_transpose_blocks(const char* format, const ct_view* values,
                                       const ct_view* scales, const ct_const_view* src_values,
                                       const ct_const_view* src_scales, const ct_options* options);
/** Quantises a matrix whose rows are `groups` groups of sizes[g] rows each, every one by itself, as
 * quantise_groups() of casts.hpp says, with blocks along `axis`, 0 or 1. The sizes have as many
 * rows together as src has. `values` and `scales` have those of each group along axis 0, one group
 * after the other, in any strides; scales in tiles have the shape {tiles, 512} and are packed. A
 * GPU takes at least one launch for each group, on options->stream. */
CT_C_API ct_status ct_quantise_groups(const char* format, const ct_view* values,
                                      const ct_view* scales, const ct_const_view* src,
                                      int64_t groups, const int64_t* sizes, int axis,
                                      const ct_block_options* options);

/** These functions quantise and dequantise blocks of 32 values along `axis` that share a scale, as
 * blocks.hpp says: ggml's q8_0, in elements "b34", and MXFP8, in "f8_e4m3" or "f8_e5m2" with E8M0
 * scales in "u8". Blocks and scales have a 32nd of the extent at `axis`, and any strides, in bytes.
 * The arrays lie in host memory, or on the current GPU, which works on options->stream. */
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
/** Makes both copies in MXFP8 of a matrix that training needs, in one read: `rows` has blocks along
 * the rows of `src`, and `columns`, the transpose, has blocks along the columns of `src`. A GPU
 * takes two launches where rows do not begin at multiples of 16 bytes, or src is none of f32, f16
 * and bf16. */
CT_C_API ct_status ct_quantise_mxfp8_both(const ct_view* rows, const ct_view* row_scales,
                                          const ct_view* columns, const ct_view* column_scales,
                                          const ct_const_view* src,
                                          const ct_block_options* options);

/** ggml's copy operator sets dst = src, as ggml_cpy, ggml_cont and ggml_dup do. The arguments are
 * members of two `ggml_tensor`s: the number of a ggml_type, extents in values, fastest first, and
 * strides in bytes. The types f32, f16, bf16, i8, i16, i32, i64 and f64 are converted into each
 * other, and to and from blocks of q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, mxfp4 and nvfp4, of which
 * a GPU has q8_0 alone. Blocks are copied to their own type. The extents may differ where the
 * number of elements does not; where no single copy does it, the call returns CT_UNSUPPORTED.
 * ggml.hpp says more. */
CT_C_API ct_status ct_ggml_cpy(void* dst, int dst_type, const int64_t dst_ne[4],
                               const size_t dst_nb[4], const void* src, int src_type,
                               const int64_t src_ne[4], const size_t src_nb[4],
                               const ct_options* options);
/** Says whether ct_ggml_cpy can copy these tensors on a CPU, for a backend's supports_op. It
 * returns CT_OK, or ct_last_error() says why not. */
CT_C_API ct_status ct_ggml_can_cpy(int dst_type, const int64_t dst_ne[4], const size_t dst_nb[4],
                                   int src_type, const int64_t src_ne[4], const size_t src_nb[4]);

/** Finds the largest magnitude of real values, in any shape and strides; it is NaN where any value
 * is NaN, and 0 where there are none. The CPU uses at most `threads` threads; 0 means all that the
 * process may use. On a GPU this function and the next wait for the default stream, and refuse to
 * do so while it is being captured. */
CT_C_API ct_status ct_amax(double* amax, const ct_const_view* src, int threads);
/** Sets dst, which holds "f8_e4m3", "f8_e5m2" or "i8" in the shape of src and in any strides, to
 * src / scale. The scale maps the largest magnitude of src to the largest value of the type, as
 * amax.hpp says. On a GPU it is two launches, of which the call waits for the first. */
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
 * `src` are lists of `devices` shards each, one for every device of the mesh. A shard has the shape
 * that the layout gives its device, and any strides; values are converted where the types of dst
 * and src differ. All shards lie in host memory, or the two shards of each device lie on one GPU,
 * whichever is the current one. On GPUs it is several launches or copies; they may be captured in a
 * graph with all streams. */
CT_C_API ct_status ct_redistribute(const ct_view* dst, const ct_const_view* src, int devices,
                                   const ct_resharding* what);

/** Makes the plan that ct_copy would use, for these types, shapes and strides, so that it can be
 * run often. Free it with ct_plan_free. On an error *plan is NULL. The data pointers may be NULL.
 * Otherwise they say which device the plan is for and, for a GPU, which alignment it may count on.
 * CT_MEASURE runs candidates on them.
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

/** These functions load and save the winners that CT_MEASURE has found, as cornerturn.hpp says.
 * They return CT_IO_ERROR where the file cannot be read or written. */
CT_C_API ct_status ct_load_winners(const char* path);
CT_C_API ct_status ct_save_winners(const char* path);

#ifdef __cplusplus
}
#endif

#endif
