// The context of an emulated thread. Members as in kernels/context.hpp; each also knows where in
// the source it was called.
#pragma once

#include <cstring>
#include <type_traits>

#include "workshop/simt/engine.hpp"

namespace cornerturn::simt {

class Context {
 public:
  explicit Context(Engine& engine) : engine_(engine) {}

  Dim3 thread_id() const { return engine_.thread_id(); }
  Dim3 block_id() const { return engine_.block_id(); }
  Dim3 block_dim() const { return engine_.launch().block; }
  Dim3 grid_dim() const { return engine_.launch().grid; }
  int thread_index() const { return engine_.thread_index(); }
  int lane() const { return thread_index() % 32; }
  int warp() const { return thread_index() / 32; }

  template <class T, int count, int id = 0>
  SharedPointer<T> shared() {
    return {engine_.static_shared(&key<T, count, id>, std::uint64_t{count} * sizeof(T))};
  }
  template <class T>
  SharedPointer<T> dynamic_shared() {
    return {engine_.dynamic_shared()};
  }

  template <class V>
  V load(const V* from, Site site = Site::here()) {
    return value<V>(engine_.global_load(from, bytes<V>, true, site));
  }
  template <class V>
  V load(SharedPointer<V> from, Site site = Site::here()) {
    return value<V>(engine_.shared_load(from.address, bytes<V>, true, site));
  }
  template <class V>
  void store(V* to, const V& v, Site site = Site::here()) {
    put(engine_.global_store(to, bytes<V>, true, site), v);
  }
  template <class V>
  void store(SharedPointer<V> to, const V& v, Site site = Site::here()) {
    put(engine_.shared_store(to.address, bytes<V>, true, site), v);
  }
  template <class V>
  V load_line_if(bool active, const V* from, Site site = Site::here()) {
    return load_if(active, from, site);
  }
  template <class V>
  V load_if(bool active, const V* from, Site site = Site::here()) {
    return value<V>(engine_.global_load(from, bytes<V>, active, site));
  }
  template <class V>
  V load_if(bool active, SharedPointer<V> from, Site site = Site::here()) {
    return value<V>(engine_.shared_load(from.address, bytes<V>, active, site));
  }
  template <class V>
  void store_if(bool active, V* to, const V& v, Site site = Site::here()) {
    put(engine_.global_store(to, bytes<V>, active, site), v);
  }
  template <class V>
  void store_if(bool active, SharedPointer<V> to, const V& v, Site site = Site::here()) {
    put(engine_.shared_store(to.address, bytes<V>, active, site), v);
  }

  void prefetch(const void* p, Site site = Site::here()) { engine_.prefetch(p, site); }

  void barrier(Site site = Site::here()) { engine_.barrier(site); }
  void warp_barrier(Site site = Site::here()) { engine_.warp_barrier(site); }

  template <class V>
  V shuffle(const V& v, int from_lane, Site site = Site::here()) {
    static_assert(sizeof(V) == 4 || sizeof(V) == 8);
    Engine::Slot mine = 0;
    std::memcpy(&mine, &v, sizeof(V));
    const Engine::Slot* slots = engine_.exchange(mine, site);
    return value<V>(reinterpret_cast<const std::byte*>(&slots[from_lane & 31]));
  }
  template <class V>
  V shuffle_xor(const V& v, int mask, Site site = Site::here()) {
    return shuffle(v, lane() ^ mask, site);
  }
  std::uint32_t ballot(bool mine, Site site = Site::here()) {
    const Engine::Slot* slots = engine_.exchange(mine ? 1 : 0, site);
    std::uint32_t bits = 0;
    for (int i = 0; i < 32; ++i) bits |= static_cast<std::uint32_t>(slots[i] != 0) << i;
    return bits;
  }

  template <class V>
  void copy_async(SharedPointer<V> to, const V* from, Site site = Site::here()) {
    copy_async_if(true, to, from, site);
  }
  template <class V>
  void copy_async_if(bool active, SharedPointer<V> to, const V* from, Site site = Site::here()) {
    static_assert(sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16);
    engine_.copy_async(to.address, from, bytes<V>, sizeof(V) != 16, active, site);
  }
  template <class V>
  void copy_line_async_if(bool active, bool through_l1, SharedPointer<V> to, const V* from,
                          Site site = Site::here()) {
    static_assert(sizeof(V) == 16);
    engine_.copy_async(to.address, from, bytes<V>, through_l1, active, site);
  }
  void commit_async() { engine_.commit_async(); }
  template <int pending>
  void wait_async(Site site = Site::here()) {
    engine_.wait_async(pending, site);
  }

  std::uint32_t take_ticket(std::uint32_t* counter, Site site = Site::here()) {
    return engine_.take_ticket(counter, site);
  }
  void announce(std::uint32_t* flag, Site site = Site::here()) { engine_.announce(flag, site); }
  void wait_for(const std::uint32_t* flag, Site site = Site::here()) {
    engine_.wait_for(flag, site);
  }

  template <int count, class T>
  Vec<std::uint32_t, count> load_matrices(SharedPointer<T> row, Site site = Site::here()) {
    engine_.log_matrix_row(Op::ldmatrix, row.address, lane() < 8 * count, site);
    const Engine::Slot* rows = engine_.exchange(row.address, site);
    Vec<std::uint32_t, count> v{};
    for (int m = 0; m < count; ++m) {
      v[m] = value<std::uint32_t>(engine_.matrix_bytes(Op::ldmatrix, fragment(rows, m), 4, site));
    }
    return v;
  }
  template <int count, class T>
  void store_matrices(SharedPointer<T> row, const Vec<std::uint32_t, count>& v,
                      Site site = Site::here()) {
    engine_.log_matrix_row(Op::stmatrix, row.address, lane() < 8 * count, site);
    const Engine::Slot* rows = engine_.exchange(row.address, site);
    for (int m = 0; m < count; ++m) {
      put(engine_.matrix_bytes(Op::stmatrix, fragment(rows, m), 4, site), v[m]);
    }
  }

 private:
  template <class T, int count, int id>
  static inline constexpr char key = 0;
  template <class V>
  static constexpr int bytes = static_cast<int>(sizeof(V));

  // This lane's part of 8 x 8 matrix m: row lane / 4, the 4 bytes at 4 (lane % 4).
  std::uint32_t fragment(const Engine::Slot* rows, int m) const {
    const auto row = 8 * static_cast<std::size_t>(m) + static_cast<std::size_t>(lane() / 4);
    return static_cast<std::uint32_t>(rows[row]) + 4 * static_cast<std::uint32_t>(lane() % 4);
  }

  template <class V>
  static V value(const std::byte* from) {
    static_assert(std::is_trivially_copyable_v<V>);
    V v{};
    if (from != nullptr) std::memcpy(static_cast<void*>(&v), from, sizeof(V));
    return v;
  }
  template <class V>
  static void put(std::byte* to, const V& v) {
    if (to != nullptr) std::memcpy(to, &v, sizeof(V));
  }

  Engine& engine_;
};

}  // namespace cornerturn::simt
