// Cornerturn: transpose anything, anywhere, at the speed of a copy, and see why.
//
// Destination first, as in memcpy. Strides are in bytes, extents in elements. Source and
// destination must not overlap. Every function throws cornerturn::Error, whose message names the
// argument, its value and the rule, before anything is written. All functions may be called from
// any number of threads.
//
// Pointers are the host's, and the CPU does the work before the call returns; or they lie on the
// current GPU (or are managed), and the GPU does it in the order of Options::stream: one launch,
// nothing is allocated and nothing waited for, and the stream may be captured in a graph.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "cornerturn/amax.hpp"
#include "cornerturn/blocks.hpp"
#include "cornerturn/element_type.hpp"
#include "cornerturn/epilogue.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/export.hpp"
#include "cornerturn/ggml.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/version.hpp"
#include "cornerturn/view.hpp"

namespace cornerturn {

/// dst[i] = src[i] for every index i: the general call. Shapes must be equal; strides may be
/// anything that writes no byte of `dst` twice. A transposition is a copy between two views whose
/// strides differ. Where their types differ, values are converted as by the default Epilogue; plain
/// bytes (b4, ...) are moved to and from any type of their size.
CT_API void copy(const View& dst, const ConstView& src, const Options& options = {});

/// dst[i] = alpha * scale * src[i] + bias + beta * dst[i]: the same with what `epilogue` asks for.
/// Complex values can become complex ones only. Without any change of type or value the bytes are
/// moved unread.
CT_API void copy(const View& dst, const ConstView& src, const Epilogue& epilogue,
                 const Options& options = {});

/// `dst` gets `src` with its axes in the order `permutation`, packed row-major:
/// dst.shape[i] = src.shape[permutation[i]], as NumPy's transpose(axes) made contiguous.
CT_API void permute(void* dst, const ConstView& src, std::span<const int> permutation,
                    const Options& options = {});
inline void permute(void* dst, const ConstView& src, std::initializer_list<int> permutation,
                    const Options& options = {}) {
  permute(dst, src, std::span<const int>(permutation.begin(), permutation.size()), options);
}

/// The same into elements of `dst_type`, with `epilogue`, whose modes are axes of the result.
CT_API void permute(void* dst, ElementType dst_type, const ConstView& src,
                    std::span<const int> permutation, const Epilogue& epilogue = {},
                    const Options& options = {});
inline void permute(void* dst, ElementType dst_type, const ConstView& src,
                    std::initializer_list<int> permutation, const Epilogue& epilogue = {},
                    const Options& options = {}) {
  permute(dst, dst_type, src, std::span<const int>(permutation.begin(), permutation.size()),
          epilogue, options);
}

/// `src` is a packed row-major matrix of rows x columns elements, `dst` becomes its transpose, of
/// columns x rows.
CT_API void transpose(void* dst, const void* src, std::int64_t rows, std::int64_t columns,
                      ElementType type, const Options& options = {});
template <class T>
void transpose(T* dst, const T* src, std::int64_t rows, std::int64_t columns,
               const Options& options = {}) {
  transpose(static_cast<void*>(dst), static_cast<const void*>(src), rows, columns,
            ElementType::of<T>(), options);
}

/// The same into elements of `dst_type`, with `epilogue`, whose modes are axes of the result: mode
/// 0 is along the columns of `src`, mode 1 along its rows.
CT_API void transpose(void* dst, ElementType dst_type, const void* src, std::int64_t rows,
                      std::int64_t columns, ElementType src_type, const Epilogue& epilogue = {},
                      const Options& options = {});
template <class D, class S>
void transpose(D* dst, const S* src, std::int64_t rows, std::int64_t columns,
               const Epilogue& epilogue, const Options& options = {}) {
  transpose(static_cast<void*>(dst), ElementType::of<D>(), static_cast<const void*>(src), rows,
            columns, ElementType::of<S>(), epilogue, options);
}

/// The plan that `copy(dst, src, options)` would use. The data pointers may be null; otherwise they
/// say which device it is for and, for a GPU, which alignment it may count on. Effort::measure runs
/// candidates on them (and so leaves the result in `dst`).
CT_API Plan make_plan(const View& dst, const ConstView& src, const Options& options = {});
/// That of `copy(dst, src, epilogue, options)`. Of a scale or a bias with a mode the pointer may be
/// null as well.
CT_API Plan make_plan(const View& dst, const ConstView& src, const Epilogue& epilogue,
                      const Options& options = {});

/// Runs `plan` on data with the shapes and strides that it was made for: on the CPU at any address,
/// on a GPU at addresses aligned as those of make_plan were, or to 16 bytes if these were null.
/// `stream` is a cudaStream_t, for a GPU.
CT_API void execute(const Plan& plan, void* dst, const void* src, void* stream = nullptr);
/// With the vectors that `epilogue` points to, in whose place the plan was made for one: of
/// `epilogue` nothing but `scale` and `bias` is read.
CT_API void execute(const Plan& plan, void* dst, const void* src, const Epilogue& epilogue,
                    void* stream = nullptr);

/// Winners that Effort::measure found, as lines of text that can be shipped to machines with the
/// same processor or GPU. `load_winners` adds those of a file to what is known; `save_winners`
/// writes all of them (the file appears whole or not at all). The file named by CORNERTURN_WINNERS
/// is loaded at first use.
CT_API void load_winners(const std::string& path);
CT_API void save_winners(const std::string& path);
/// Forgets all winners and all cached plans.
CT_API void forget_plans();

}  // namespace cornerturn
