#include "harness/buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::bench {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace

Buffer::~Buffer() {
  release();
}

void Buffer::release() noexcept {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
  mapping_ = nullptr;
  data_ = nullptr;
  mapped_ = 0;
  size_ = 0;
}

void Buffer::reserve(std::int64_t bytes) {
  if (bytes <= size_) return;
  release();
  const std::size_t wanted = (static_cast<std::size_t>(bytes) + huge_page - 1) & ~(huge_page - 1);
  void* mapping = mmap(nullptr, wanted + huge_page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw Error(Status::out_of_memory, fmt::format("buffer of {} bytes: no memory", bytes));
  }
  mapping_ = mapping;
  mapped_ = wanted + huge_page;
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  data_ = static_cast<std::byte*>(mapping) + (-address & (huge_page - 1));
  size_ = static_cast<std::int64_t>(wanted);
#ifdef MADV_HUGEPAGE
  madvise(data_, wanted, MADV_HUGEPAGE);  // a wish: without it the pages are merely small
#endif
  std::memset(data_, 0, wanted);
}

std::int64_t available_memory() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key; meminfo >> key;) {
    std::int64_t kib = 0;
    if (key == "MemAvailable:" && meminfo >> kib) available = kib * 1024;
  }
  std::int64_t limit = 0;
  std::int64_t used = 0;
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::ifstream used_file("/sys/fs/cgroup/memory.current");
  if (limit_file >> limit && used_file >> used) available = std::min(available, limit - used);
  return available;
}

}  // namespace cornerturn::bench
