// Lists on a GPU: random problems with tables in its memory, a graph that is launched again with
// another table, and what the checks refuse.
#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/check.hpp"
#include "gpu/on_gpu.hpp"
#include "support/listed_changes.hpp"

namespace cornerturn {
namespace {

using cuda::check;
using test::on_gpu::Bytes;
using test::on_gpu::OnGpu;
namespace listed = test::listed;

// A side of a random case with its memory and its table on the GPU.
class GpuSide {
 public:
  explicit GpuSide(const listed::Side& side) : side_(side) {
    for (const auto& memory : side.memory) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(memory.data());
      memory_.emplace_back(Bytes(bytes, bytes + memory.size()));
    }
    const auto entries =
        static_cast<std::size_t>(side.shape[static_cast<std::size_t>(side.list.axis)]);
    if (side.list.places == Places::strides) return;
    Bytes table(entries * (side.list.places == Places::i32 ? 4 : 8));
    std::memcpy(table.data(), side.list.table, table.size());
    if (side.list.places == Places::pointers) {
      std::vector<std::byte*> pointers(entries, nullptr);
      for (std::size_t k = 0; k < entries; ++k) {
        if (side.pointers[k] != nullptr) pointers[k] = memory_[k].data() + side.phase;
      }
      std::memcpy(table.data(), pointers.data(), table.size());
    }
    table_.emplace_back(table);
  }

  List list() const {
    List list = side_.list;
    if (!table_.empty()) list.table = table_.front().data();
    return list;
  }
  std::byte* data() const {
    return side_.data == nullptr ? nullptr : memory_.front().data() + side_.phase;
  }
  bool holds(const std::vector<std::vector<std::byte>>& wanted) const {
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const Bytes bytes = memory_[k].contents();
      if (std::memcmp(bytes.data(), wanted[k].data(), bytes.size()) != 0) return false;
    }
    return true;
  }

 private:
  const listed::Side& side_;
  std::vector<OnGpu> memory_;
  std::vector<OnGpu> table_;
};

ListedView to_of(const listed::Case& one, const GpuSide& dst) {
  return {View(dst.data(), one.dst_type, one.dst.shape, one.dst.strides), dst.list()};
}
ConstListedView from_of(const listed::Case& one, const GpuSide& src) {
  return {ConstView(src.data(), one.src_type, one.src.shape, one.src.strides), src.list()};
}

TEST(ListsOnGpu, RandomProblems) {
  listed::Cases cases(77);
  for (int n = 0; n < 300; ++n) {
    listed::Case one = listed::random_case(cases, false);
    if (!one.has_list()) continue;
    const GpuSide src(one.src);
    const GpuSide dst(one.dst);
    listed::copy_plainly(one.dst, one.src, static_cast<std::size_t>(one.size));
    Options options;
    options.lists = n % 2 == 0 ? ListChecks::always : ListChecks::on_cpu;
    copy(to_of(one, dst), from_of(one, src), {}, options);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    ASSERT_TRUE(dst.holds(one.dst.memory)) << "problem " << n << ": " << to_string(one.problem);
  }
}

TEST(ListsOnGpu, RandomConversions) {
  listed::Cases cases(78);
  for (int n = 0; n < 300; ++n) {
    listed::ChangingCase one = listed::random_changing_case(cases);
    const GpuSide src(one.src);
    const GpuSide dst(one.dst);
    listed::convert_plainly(one);
    Bytes numbers(one.numbers.size() * sizeof(float));
    std::memcpy(numbers.data(), one.numbers.data(), numbers.size());
    const OnGpu vector(numbers);
    Epilogue epilogue = one.epilogue;
    if (epilogue.scale != nullptr) epilogue.scale = reinterpret_cast<const float*>(vector.data());
    copy(to_of(one, dst), from_of(one, src), epilogue, {});
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    ASSERT_TRUE(dst.holds(one.dst.memory)) << "problem " << n << ": " << to_string(one.problem);
  }
}

// 64 rows of 48 bytes by a table of 40.
class ListsOfRows : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 64, row = 48, entries = 40;

  Bytes contents = test::on_gpu::numbered(rows * row);
  OnGpu src{contents};
  OnGpu dst = test::on_gpu::poisoned(entries * row);

  static OnGpu table_of(const std::vector<std::int32_t>& indices) {
    Bytes bytes(indices.size() * 4);
    std::memcpy(bytes.data(), indices.data(), bytes.size());
    return OnGpu(bytes);
  }
  static std::vector<std::int32_t> every_third(int from) {
    std::vector<std::int32_t> indices;
    for (int k = 0; k < entries; ++k) indices.push_back((from + 3 * k) % rows);
    return indices;
  }
  Bytes taken(const std::vector<std::int32_t>& indices) const {
    Bytes bytes;
    for (const std::int32_t index : indices) {
      bytes.insert(bytes.end(), contents.begin() + index * row,
                   contents.begin() + (index + 1) * row);
    }
    return bytes;
  }
  void take(const OnGpu& table, Options options = {}) const {
    const ConstView pool(src.data(), ElementType::bytes(1), {rows, row});
    copy(View(dst.data(), ElementType::bytes(1), {entries, row}),
         indexed(pool, 0, reinterpret_cast<const std::int32_t*>(table.data()), entries), {},
         options);
  }
};

TEST_F(ListsOfRows, AGraphReadsWhatTheTableHoldsThen) {
  OnGpu table = table_of(every_third(0));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  take(table, {.stream = stream});
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t runnable = nullptr;
  check(cudaGraphInstantiate(&runnable, graph, 0), "cudaGraphInstantiate");
  for (const int from : {0, 5, 11}) {
    const std::vector<std::int32_t> indices = every_third(from);
    check(cudaMemcpy(table.data(), indices.data(), indices.size() * 4, cudaMemcpyHostToDevice),
          "cudaMemcpy");
    check(cudaGraphLaunch(runnable, stream), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    EXPECT_TRUE(dst.contents() == taken(indices)) << from;
  }
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_F(ListsOfRows, ChecksAreMadeWhereTheyAreAskedFor) {
  std::vector<std::int32_t> indices = every_third(0);
  indices[7] = rows;
  const OnGpu table = table_of(indices);
  test::on_gpu::expect_refused(Status::invalid_argument,
                               "src.list: index 7 is 64, but it has to be less than 64",
                               [&] { take(table, {.lists = ListChecks::always}); });
  EXPECT_TRUE(dst.contents() == Bytes(static_cast<std::size_t>(entries * row), 0xa5));
}

// Rows of pinned memory by a table of the GPU, and back to their places.
TEST_F(ListsOfRows, CrossTheLink) {
  void* at = nullptr;
  check(cudaMallocHost(&at, static_cast<std::size_t>(2 * rows * row)), "cudaMallocHost");
  auto* const pool = static_cast<std::byte*>(at);
  std::memcpy(pool, contents.data(), contents.size());
  std::memset(pool + rows * row, 0xa5, static_cast<std::size_t>(rows * row));
  std::vector<std::int32_t> indices = every_third(2);
  const OnGpu table = table_of(indices);
  const auto* const places = reinterpret_cast<const std::int32_t*>(table.data());
  const View there(dst.data(), ElementType::bytes(1), {entries, row});
  copy(there, indexed(ConstView(pool, ElementType::bytes(1), {rows, row}), 0, places, entries));
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  EXPECT_TRUE(dst.contents() == taken(indices));
  copy(indexed(View(pool + rows * row, ElementType::bytes(1), {rows, row}), 0, places, entries),
       ConstView(there));
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (std::int64_t k = 0; k < rows; ++k) {
    const bool written = std::find(indices.begin(), indices.end(), k) != indices.end();
    const Bytes poison(static_cast<std::size_t>(row), 0xa5);
    const void* const wanted = written ? static_cast<const void*>(pool + k * row) : poison.data();
    EXPECT_EQ(std::memcmp(pool + (rows + k) * row, wanted, static_cast<std::size_t>(row)), 0) << k;
  }
  test::on_gpu::expect_refused(
      Status::invalid_argument, "across the link a table lies in the GPU's memory", [&] {
        copy(there, indexed(ConstView(pool, ElementType::bytes(1), {rows, row}), 0, indices.data(),
                            entries));
      });
  cudaFreeHost(at);
}

TEST_F(ListsOfRows, ATableOfTheHostIsRefused) {
  const std::vector<std::int32_t> indices = every_third(0);
  const ConstView pool(src.data(), ElementType::bytes(1), {rows, row});
  test::on_gpu::expect_refused(Status::invalid_argument, "src.list.table = ", [&] {
    copy(View(dst.data(), ElementType::bytes(1), {entries, row}),
         indexed(pool, 0, indices.data(), entries));
  });
}

}  // namespace
}  // namespace cornerturn
