// Cornerturn: transpose anything, anywhere, at the speed of a copy, and see why.
//
// The destination is the first argument, as in memcpy. Strides are in bytes, extents in elements.
// Source and destination must not overlap. Functions throw cornerturn::Error before anything is
// written; its message names the argument, its value and the rule. All functions may be called from
// any number of threads.
//
// Where pointers lead to host memory, the CPU does the work before the call returns. Where they
// lead to the current GPU (or to managed memory), the GPU does it in the order of Options::stream.
// It is one launch, or a few, which allocate nothing and wait for nothing, so the stream may be
// captured in a graph.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "cornerturn/amax.hpp"
#include "cornerturn/blocks.hpp"
#include "cornerturn/casts.hpp"
#include "cornerturn/element_type.hpp"
#include "cornerturn/epilogue.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/export.hpp"
#include "cornerturn/ggml.hpp"
#include "cornerturn/in_place.hpp"
#include "cornerturn/lists.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/shards.hpp"
#include "cornerturn/version.hpp"
#include "cornerturn/view.hpp"
#include "cornerturn/views_in_braces.hpp"

namespace cornerturn {

/// Sets dst[i] = src[i] for every index i. This is the general call: a transposition is a copy
/// between two views whose strides differ. Shapes must be equal. Strides may be anything that
/// writes no byte of `dst` twice. Where the types differ, values are converted as by the default
/// Epilogue; plain bytes (b4, ...) are moved to and from any type of their size.
CT_API void copy(const View& dst, const ConstView& src, const Options& options = {});

/// Sets dst[i] = alpha * scale * src[i] + bias + beta * dst[i], as `epilogue` asks for. Complex
/// values can become complex ones only. Where neither type nor value changes, the bytes are moved
/// unread.
CT_API void copy(const View& dst, const ConstView& src, const Epilogue& epilogue,
                 const Options& options = {});

/// Writes `src` with its axes in the order `permutation` to `dst`, packed and row-major:
/// dst.shape[i] = src.shape[permutation[i]]. NumPy does this with transpose(axes), made contiguous.
CT_API void permute(void* dst, const ConstView& src, std::span<const int> permutation,
                    const Options& options = {});
inline void permute(void* dst, const ConstView& src, std::initializer_list<int> permutation,
                    const Options& options = {}) {
  permute(dst, src, std::span<const int>(permutation.begin(), permutation.size()), options);
}

/// Does the same into elements of `dst_type`, with `epilogue`, whose modes are axes of the result.
CT_API void permute(void* dst, ElementType dst_type, const ConstView& src,
                    std::span<const int> permutation, const Epilogue& epilogue = {},
                    const Options& options = {});
inline void permute(void* dst, ElementType dst_type, const ConstView& src,
                    std::initializer_list<int> permutation, const Epilogue& epilogue = {},
                    const Options& options = {}) {
  permute(dst, dst_type, src, std::span<const int>(permutation.begin(), permutation.size()),
          epilogue, options);
}

/// Writes the transpose, of columns x rows elements, of the packed row-major matrix `src`, of
/// rows x columns elements, to `dst`.
CT_API void transpose(void* dst, const void* src, std::int64_t rows, std::int64_t columns,
                      ElementType type, const Options& options = {});
template <class T>
void transpose(T* dst, const T* src, std::int64_t rows, std::int64_t columns,
               const Options& options = {}) {
  transpose(static_cast<void*>(dst), static_cast<const void*>(src), rows, columns,
            ElementType::of<T>(), options);
}

/// Does the same into elements of `dst_type`, with `epilogue`, whose modes are axes of the result:
/// mode 0 counts the columns of `src`, mode 1 its rows.
CT_API void transpose(void* dst, ElementType dst_type, const void* src, std::int64_t rows,
                      std::int64_t columns, ElementType src_type, const Epilogue& epilogue = {},
                      const Options& options = {});
template <class D, class S>
void transpose(D* dst, const S* src, std::int64_t rows, std::int64_t columns,
               const Epilogue& epilogue, const Options& options = {}) {
  transpose(static_cast<void*>(dst), ElementType::of<D>(), static_cast<const void*>(src), rows,
            columns, ElementType::of<S>(), epilogue, options);
}

/// Returns the plan that `copy(dst, src, options)` would use. The data pointers may be null.
/// Otherwise they say which device the plan is for and, for a GPU, which alignment it may count on.
/// Effort::measure runs candidates on them, and so leaves the result in `dst`.
CT_API Plan make_plan(const View& dst, const ConstView& src, const Options& options = {});
/// Returns the plan of `copy(dst, src, epilogue, options)`. The pointer of a scale or a bias that
/// has a mode may be null as well.
CT_API Plan make_plan(const View& dst, const ConstView& src, const Epilogue& epilogue,
                      const Options& options = {});

/// Runs `plan` on data with the shapes and strides that it was made for: on the CPU at any address,
/// on a GPU at addresses aligned as those of make_plan were, or to 16 bytes if these were null.
/// `stream` is a cudaStream_t, which only a GPU uses.
CT_API void execute(const Plan& plan, void* dst, const void* src, void* stream = nullptr);
/// Runs a plan that was made for an epilogue with a scale or a bias. Only `scale` and `bias` of
/// `epilogue` are read; they point to the vectors of this run.
CT_API void execute(const Plan& plan, void* dst, const void* src, const Epilogue& epilogue,
                    void* stream = nullptr);

/// Winners that Effort::measure has found are lines of text, which machines with the same processor
/// or GPU can use as well. `load_winners` adds the winners of a file to those that are known;
/// `save_winners` writes all of them, to a file that appears whole or not at all, also where
/// several threads or processes save to one path at a time: the last of them stays. The file is on
/// the disk when the function returns. A symbolic link is followed, and what is no regular file is
/// written into. The file that the environment variable CORNERTURN_WINNERS names is loaded at first
/// use.
CT_API void load_winners(const std::string& path);
CT_API void save_winners(const std::string& path);
/// Forgets all winners and all cached plans.
CT_API void forget_plans();

}  // namespace cornerturn
