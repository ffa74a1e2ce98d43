// What the generated mains of `cornerturn check --kernel` and `--call` are made of: arrays that are
// filled on the host, from a file, or left unwritten, one launch, and files for the results.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

namespace cornerturn::guest {

/// A pointer that goes wherever a kernel takes one.
struct AnyPointer {
  void* at;
  template <class T>
  operator T*() const {
    return static_cast<T*>(at);
  }
};

/// Ends the program where the runtime's functions refuse something.
inline void expect(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Values of which none is like its neighbours: from -1 to 1, or whole numbers from 0 to 99. With a
/// text in `value` they are all that number.
template <class T>
CT_GUEST_PLAIN std::vector<T> values_of(std::size_t count, int seed, const char* value) {
  std::vector<T> values(count);
  std::uint64_t state = 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(seed + 1);
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto random = static_cast<std::uint32_t>(state >> 33);
    if (*value != '\0') {
      values[i] = static_cast<T>(static_cast<float>(std::atof(value)));
    } else if (std::is_integral<T>::value) {
      values[i] = static_cast<T>(static_cast<float>(random % 100));
    } else {
      values[i] = static_cast<T>(static_cast<float>(random) / 1073741824.0f - 1.0f);
    }
  }
  return values;
}

/// What an array holds before the launch.
struct Contents {
  int seed;
  bool is_unwritten;
  const char* value;  ///< a number, or empty
  const char* path;   ///< a file, or empty
  long long offset;   ///< of its first element in the file
};

inline std::vector<char> bytes_of_file(const Contents& from, std::size_t count) {
  std::vector<char> bytes(count);
  std::FILE* const file = std::fopen(from.path, "rb");
  const bool done = file != nullptr && std::fseek(file, from.offset, SEEK_SET) == 0 &&
                    std::fread(bytes.data(), 1, count, file) == count;
  if (file != nullptr) std::fclose(file);
  if (!done) {
    std::fprintf(stderr, "%s: there are no %zu bytes to read\n", from.path, count);
    std::exit(1);
  }
  return bytes;
}

template <class T>
void fill(T* device, std::size_t count, const Contents& from) {
  const auto copy = [&](const auto& values) {
    expect(cudaMemcpy(device, values.data(), count * sizeof(T), cudaMemcpyHostToDevice),
           "cudaMemcpy");
  };
  if (*from.path != '\0') {
    copy(bytes_of_file(from, count * sizeof(T)));
  } else if (from.is_unwritten && *from.value == '\0') {
    return;
  } else if constexpr (std::is_same<T, bool>::value) {
    copy(std::vector<unsigned char>(count, *from.value == '\0' || std::atof(from.value) != 0));
  } else {
    copy(values_of<T>(count, from.seed, from.value));
  }
}

/// An array in device memory.
template <class T>
class Array {
 public:
  Array(std::initializer_list<long long> extents, const Contents& contents) {
    for (const long long extent : extents) count_ *= static_cast<std::size_t>(extent);
    expect(cudaMalloc(reinterpret_cast<void**>(&device_), bytes()), "cudaMalloc");
    fill(device_, count_, contents);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(device_); }
  T* typed() const { return device_; }
  AnyPointer any() const { return {device_}; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::size_t count_ = 1;
  T* device_ = nullptr;
};

template <class Call, class Tuple>
struct takes;
template <class Call, class... Arguments>
struct takes<Call, std::tuple<Arguments...>> : std::is_invocable<Call, Arguments...> {};

/// Launches the kernel with the arrays' own types where it takes them, else with pointers that go
/// anywhere.
template <class Call, class Typed, class Loose>
void run_kernel(Place place, const char* name, dim3 grid, dim3 block, std::size_t shared,
                const Call& call, const Typed& typed, const Loose& loose) {
  const auto launch_with = [&](auto... arguments) {
    launch_kernel(place, name, config(grid, block, shared), call, arguments...);
  };
  if (shared > 48 * 1024) allow_dynamic_shared(shared);
  if constexpr (takes<Call, Typed>::value) {
    std::apply(launch_with, typed);
  } else {
    static_assert(takes<Call, Loose>::value, "the kernel does not take these arguments");
    std::apply(launch_with, loose);
  }
}

inline void finish() {
  expect(cudaGetLastError(), "the launch");
  expect(cudaDeviceSynchronize(), "the kernel");
}

inline void write_file(const std::string& path, const void* data, std::size_t bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr && std::fwrite(data, 1, bytes, file) == bytes;
  if (file == nullptr || std::fclose(file) != 0 || !written) {
    std::fprintf(stderr, "%s: it cannot be written\n", path.c_str());
    std::exit(1);
  }
}

inline void save_memory(const void* memory, std::size_t bytes, const std::string& path) {
  std::vector<char> host(bytes);
  if (bytes > 0) expect(cudaMemcpy(host.data(), memory, bytes, cudaMemcpyDefault), "cudaMemcpy");
  write_file(path, host.data(), bytes);
}
template <class T>
void save(const Array<T>& array, const std::string& path) {
  save_memory(array.typed(), array.bytes(), path);
}

#ifdef CORNERTURN_GUEST_TORCH
template <class T, class Type>
torch::Tensor make_tensor(std::initializer_list<std::int64_t> extents, Type type,
                          const Contents& contents) {
  torch::Tensor tensor =
      torch::empty(extents, torch::TensorOptions().dtype(type).device(torch::kCUDA));
  fill(static_cast<T*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel()), contents);
  return tensor;
}

inline void save(const torch::Tensor& tensor, const std::string& path) {
  const torch::Tensor packed = tensor.contiguous();
  save_memory(packed.data_ptr(), packed.nbytes(), path);
}

struct Nothing {};

/// What a function returns, which may be nothing.
template <class Call>
auto results_of(const Call& call) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return Nothing{};
  } else {
    return call();
  }
}

inline const char* type_name(torch::ScalarType type) {
  switch (type) {
    case torch::kUInt8:
      return "u8";
    case torch::kInt8:
      return "i8";
    case torch::kInt16:
      return "i16";
    case torch::kInt32:
      return "i32";
    case torch::kInt64:
      return "i64";
    case torch::kFloat16:
      return "f16";
    case torch::kBFloat16:
      return "bf16";
    case torch::kFloat32:
      return "f32";
    case torch::kFloat64:
      return "f64";
    case torch::kFloat8_e4m3fn:
      return "f8_e4m3";
    case torch::kFloat8_e5m2:
      return "f8_e5m2";
    default:
      return "bool";
  }
}

/// The results of a function, one by one: a line for each, and a file with its elements.
class ResultFiles {
 public:
  ResultFiles(std::string folder, bool is_one)
      : folder_(std::move(folder)), lines_(is_one ? "one\n" : "several\n") {}

  void add(const torch::Tensor& tensor) {
    if (!tensor.defined()) return add(Nothing{});
    save(tensor, next());
    lines_ += type_name(tensor.scalar_type());
    for (const std::int64_t extent : tensor.sizes()) lines_ += " " + std::to_string(extent);
    lines_ += "\n";
  }
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  void add(T number) {
    write_file(next(), &number, sizeof(T));
    lines_ += std::is_same_v<T, bool> ? "bool" : std::is_floating_point_v<T> ? "f" : "";
    if (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      lines_ += std::is_signed_v<T> ? "i" : "u";
    }
    lines_ += std::is_same_v<T, bool> ? "\n" : std::to_string(8 * sizeof(T)) + "\n";
  }
  template <class T>
  void add(const std::vector<T>& results) {
    for (const T& result : results) add(result);
  }
  template <class... T>
  void add(const std::tuple<T...>& results) {
    std::apply([&](const auto&... result) { (add(result), ...); }, results);
  }
  template <class T, class U>
  void add(const std::pair<T, U>& results) {
    add(results.first);
    add(results.second);
  }
  void add(Nothing) {
    next();
    lines_ += "none\n";
  }
  ~ResultFiles() { write_file(folder_ + "/results", lines_.data(), lines_.size()); }

 private:
  std::string next() { return folder_ + "/result" + std::to_string(count_++); }

  std::string folder_;
  std::string lines_;
  int count_ = 0;
};

template <class T>
struct is_one : std::true_type {};
template <class T>
struct is_one<std::vector<T>> : std::false_type {};
template <class... T>
struct is_one<std::tuple<T...>> : std::false_type {};
template <class T, class U>
struct is_one<std::pair<T, U>> : std::false_type {};

template <class T>
void save_results(const T& results, const std::string& folder) {
  ResultFiles files(folder, is_one<T>::value);
  files.add(results);
}
#endif

}  // namespace cornerturn::guest
