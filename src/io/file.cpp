#include "io/file.hpp"

#include <fmt/format.h>
#include <linux/mman.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "cornerturn/error.hpp"
#include "io/workers.hpp"

namespace cornerturn::io {
namespace {

constexpr std::int64_t huge_page = std::int64_t{2} << 20;

// What a thread enters into the page tables at a time, or takes out: a millisecond or two.
constexpr std::int64_t mapping_piece = std::int64_t{16} << 20;

}  // namespace

Buffer::Buffer(std::int64_t bytes) {
  // Beyond the largest whole number of huge pages there is no memory either.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / huge_page * huge_page;
  const std::int64_t pages = (std::clamp<std::int64_t>(bytes, 1, most) - 1) / huge_page + 1;
  size_ = pages * huge_page;
  void* address = mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    throw Error(Status::out_of_memory,
                fmt::format("a buffer of {} bytes cannot be had: {}", bytes, std::strerror(errno)));
  }
  madvise(address, static_cast<std::size_t>(size_), MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(address);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(size_));
}

Mapping::Mapping(const File& file, int threads) : size_(file.size()), threads_(threads) {
  if (size_ == 0) return;
  void* address =
      mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) file.fail("cannot be mapped into memory");
  data_ = static_cast<std::byte*>(address);
#ifdef MADV_POPULATE_READ
  // A transposition touches pages far apart: one by one they would be faulted in, and read from a
  // disk, at several times the cost. Older kernels refuse, and nothing is lost.
  advise(MADV_POPULATE_READ);
#endif
}

void Mapping::advise(int advice) const noexcept {
  const std::int64_t pieces = (size_ + mapping_piece - 1) / mapping_piece;
  run_workers(threads_, pieces, [&](int, std::int64_t index) {
    const std::int64_t start = index * mapping_piece;
    madvise(data_ + start, static_cast<std::size_t>(std::min(mapping_piece, size_ - start)),
            advice);
  });
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(threads_, other.threads_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ == nullptr) return;
  advise(MADV_DONTNEED);
  munmap(data_, static_cast<std::size_t>(size_));
}

}  // namespace cornerturn::io
