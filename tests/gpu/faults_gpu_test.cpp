// Files on their way through a GPU whose memory runs out, or whose context is lost: the older file
// stays, and nothing else is left in its folder.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cornerturn/error.hpp"
#include "files/output_file.hpp"
#include "io/rearrange_gpu.hpp"
#include "on_gpu.hpp"

namespace cornerturn::io {
namespace {

using test::on_gpu::Bytes;
using test::on_gpu::numbered;
using test::on_gpu::OnGpu;
using test::on_gpu::refusal;

constexpr std::int64_t rows = 2000, columns = 3000, element = 4;
constexpr std::int64_t bytes = rows * columns * element;

// A folder of its own with an older file, and a matrix that is transposed into its place in boxes
// so small that there are thousands of them.
class Work {
 public:
  explicit Work(bool converts)
      : conversion_(converts ? FileConversion(ElementType(Kind::f32), ElementType(Kind::i32), {})
                             : FileConversion()),
        source_(numbered(bytes)) {
    std::string name = (std::filesystem::temp_directory_path() / "faults.XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ / "out.raw";
    std::ofstream(path_) << older;
  }
  ~Work() { std::filesystem::remove_all(folder_); }

  // With `meanwhile` on another thread once the first boxes are written.
  void run(const std::function<void()>& meanwhile) {
    const Problem problem = file_problem({rows, columns}, element, false, {1, 0});
    Schedule schedule = make_gpu_schedule(problem, 0, false, conversion_);
    schedule.boxes = balanced_grid(schedule.problem, 20'000, 1, 1);
    files::OutputFile out(path_.string(), bytes, "OUT", files::Sync::no);
    Progress progress;
    bool ended = false;
    std::jthread fault([&](const std::stop_token& stop) {
      while (progress.bytes_written < bytes / 20 && !stop.stop_requested())
        std::this_thread::yield();
      if (!stop.stop_requested()) meanwhile();
      ended = true;
    });
    rearrange_on_gpu(schedule, {reinterpret_cast<const std::byte*>(source_.data()), nullptr, 0},
                     {&out.file(), 0}, {}, progress, conversion_);
    fault.join();
    ASSERT_TRUE(ended);
    out.commit();
  }

  bool is_as_before() const {
    std::ifstream file(path_);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto entries = std::filesystem::directory_iterator(folder_);
    return text == older && std::distance(begin(entries), end(entries)) == 1;
  }

  bool is_done() const { return std::filesystem::file_size(path_) == bytes; }

 private:
  static constexpr const char* older = "an older file";

  FileConversion conversion_;
  Bytes source_;
  std::filesystem::path folder_, path_;
};

// All of the GPU's memory, to the last 64 KiB.
class Hoard {
 public:
  Hoard() {
    for (std::size_t size = std::size_t{1} << 34; size >= 1 << 16; size /= 2) {
      void* memory = nullptr;
      while (cudaMalloc(&memory, size) == cudaSuccess) taken_.push_back(memory);
      cudaGetLastError();
    }
  }
  Hoard(const Hoard&) = delete;
  Hoard& operator=(const Hoard&) = delete;
  ~Hoard() {
    for (void* memory : taken_) cudaFree(memory);
  }

 private:
  std::vector<void*> taken_;
};

TEST(FilesOnAGpu, WithoutMemoryAreRefused) {
  for (const bool converts : {false, true}) {
    Work work(converts);
    {
      const Hoard hoard;
      const auto [status, message] = refusal([&] { work.run([] {}); });
      EXPECT_EQ(status, Status::out_of_memory) << message;
    }
    EXPECT_TRUE(work.is_as_before());
    work.run([] {});
    EXPECT_TRUE(work.is_done()) << "with memory again";
  }
}

// Lanes have their memory when they begin: they go on, or say that there is none.
TEST(FilesOnAGpu, WhoseMemoryRunsOutMeanwhile) {
  for (const bool converts : {false, true}) {
    Work work(converts);
    std::optional<Hoard> hoard;
    try {
      work.run([&] { hoard.emplace(); });
      EXPECT_TRUE(work.is_done());
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::out_of_memory) << error.what();
      EXPECT_TRUE(work.is_as_before());
    }
  }
}

// In a process of its own: the GPU is of no more use to it.
TEST(FilesOnAGpuDeathTest, WhoseContextIsLostMeanwhile) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const bool converts : {false, true}) {
    const auto body = [&] {
      Work work(converts);
      const OnGpu memory(Bytes(1 << 20));
      const OnGpu result(Bytes(1 << 20));
      const auto lose = [&] {
        // The caller says that there is much more memory than there is, on the side away from dst.
        const ElementType type(Kind::f32);
        const std::int64_t far = (std::int64_t{1} << 40) * (result.data() > memory.data() ? -1 : 1);
        copy(View(result.data(), type, {2, 1000}),
             ConstView(memory.data(), type, {2, 1000}, {far, 4}));
      };
      const auto [status, message] = refusal([&] { work.run(lose); });
      std::fprintf(stderr, "%d, as before: %d: %s\n", static_cast<int>(status), work.is_as_before(),
                   message.c_str());
      std::_Exit(status == Status::device_error && work.is_as_before() ? 0 : 1);
    };
    EXPECT_EXIT(body(), testing::ExitedWithCode(0), "8, as before: 1: ");
  }
}

}  // namespace
}  // namespace cornerturn::io
