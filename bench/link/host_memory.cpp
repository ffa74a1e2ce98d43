#include "link/host_memory.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "cuda/check.hpp"

namespace cornerturn::bench::link {

HostMemory::HostMemory(Memory memory, std::int64_t bytes) : memory_(memory), bytes_(bytes) {
  switch (memory) {
    case Memory::pinned: {
      void* at = nullptr;
      cuda::check(cudaMallocHost(&at, static_cast<std::size_t>(bytes)), "cudaMallocHost");
      data_ = static_cast<std::byte*>(at);
      std::memset(data_, 0x5a, static_cast<std::size_t>(bytes));
      break;
    }
    case Memory::pageable:
      pageable_.reserve(bytes);
      data_ = pageable_.data();
      break;
    case Memory::mapped:
      map_file();
  }
}

void HostMemory::map_file() {
  const char* folder = std::getenv("TMPDIR");
  std::string name = fmt::format("{}/bench_link_XXXXXX", folder == nullptr ? "/tmp" : folder);
  const int file = mkstemp(name.data());
  if (file < 0) throw Error(Status::io_error, fmt::format("{}: {}", name, std::strerror(errno)));
  unlink(name.c_str());
  const bool has_room = ftruncate(file, bytes_) == 0;
  void* const at = has_room ? mmap(nullptr, static_cast<std::size_t>(bytes_),
                                   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0)
                            : MAP_FAILED;
  close(file);
  if (at == MAP_FAILED) {
    throw Error(Status::io_error, fmt::format("a file of {} bytes beside {} cannot be mapped: {}",
                                              bytes_, name, std::strerror(errno)));
  }
  data_ = static_cast<std::byte*>(at);
  std::memset(data_, 0x5a, static_cast<std::size_t>(bytes_));
}

HostMemory::~HostMemory() {
  if (memory_ == Memory::pinned) cudaFreeHost(data_);
  if (memory_ == Memory::mapped) munmap(data_, static_cast<std::size_t>(bytes_));
}

}  // namespace cornerturn::bench::link
