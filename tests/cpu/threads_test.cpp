// How many threads: the option, the environment, affinity, and control groups from fake files.
#include "cpu/threads.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "cornerturn/error.hpp"
#include "cpu/cgroup.hpp"
#include "cpu/cpu_info.hpp"

namespace cornerturn::cpu {
namespace {

namespace fs = std::filesystem;

/// A file system of a few files, gone at the end.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (fs::temp_directory_path() / "ct_root_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~FakeRoot() { fs::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(Cgroup, NoFilesNoLimit) {
  const FakeRoot root;
  EXPECT_EQ(cgroup_cpus(root.path()), std::nullopt);
}

TEST(Cgroup, Version2) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/user.slice/job\n");
  root.write("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path()), 1.5);
}

TEST(Cgroup, Version2WithoutLimit) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/user.slice/job\n");
  root.write("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path()), std::nullopt);
}

TEST(Cgroup, AParentBindsItsChildren) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/user.slice/job\n");
  root.write("sys/fs/cgroup/user.slice/job/cpu.max", "800000 100000\n");
  root.write("sys/fs/cgroup/user.slice/cpu.max", "300000 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path()), 3.0);
}

TEST(Cgroup, APathThatOnlyTheHostSeesMeansTheRoot) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  root.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_cpus(root.path()), 2.0);
}

TEST(Cgroup, Version1) {
  FakeRoot root;
  root.write("proc/self/cgroup", "5:memory:/job\n4:cpuset:/job\n3:cpu,cpuacct:/job\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpus(root.path()), 0.5);
}

TEST(Cgroup, Version1WithoutLimitOrWithOtherControllersOnly) {
  FakeRoot root;
  root.write("proc/self/cgroup", "4:cpuset:/job\n3:cpu:/job\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpuset/job/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpuset/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpus(root.path()), std::nullopt);
}

TEST(Cgroup, NonsenseIsNoLimit) {
  FakeRoot root;
  root.write("proc/self/cgroup", "nonsense\n\n0::\n0::/job\n");
  root.write("sys/fs/cgroup/job/cpu.max", "many few\n");
  root.write("sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_EQ(cgroup_cpus(root.path()), std::nullopt);
}

class Threads : public testing::Test {
 protected:
  void SetUp() override { unsetenv("CORNERTURN_THREADS"); }
  void TearDown() override { unsetenv("CORNERTURN_THREADS"); }

  static std::string error_of(int requested) {
    try {
      resolve_threads(requested);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::invalid_argument);
      return error.what();
    }
    return "no error";
  }
};

TEST_F(Threads, TheOptionComesFirst) {
  setenv("CORNERTURN_THREADS", "3", 1);
  EXPECT_EQ(resolve_threads(7), 7);
  EXPECT_EQ(resolve_threads(1024), 1024);
}

TEST_F(Threads, ThenTheEnvironment) {
  setenv("CORNERTURN_THREADS", "3", 1);
  EXPECT_EQ(resolve_threads(0), 3);
  setenv("CORNERTURN_THREADS", "", 1);
  EXPECT_EQ(resolve_threads(0), usable_cores());
}

TEST_F(Threads, ErrorsNameTheirSourceValueAndRule) {
  EXPECT_EQ(error_of(-1), "threads = -1 is out of range: 0 to 1024");
  EXPECT_EQ(error_of(1025), "threads = 1025 is out of range: 0 to 1024");
  for (const char* wrong : {"0", "-2", "two", "2x", " 2", "1025", "99999999999999"}) {
    setenv("CORNERTURN_THREADS", wrong, 1);
    EXPECT_EQ(error_of(0), "CORNERTURN_THREADS = '" + std::string(wrong) +
                               "' is not a number of threads: 1 to 1024");
  }
}

TEST_F(Threads, AffinityIsRespected) {
  // On a thread of its own, which the other tests do not share.
  int cores = 0;
  std::thread([&cores] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &allowed)) CPU_SET(i, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    cores = usable_cores();
  }).join();
  EXPECT_EQ(cores, 1);
}

TEST(CpuInfo, IsPlausible) {
  const plan::CpuInfo& info = cpu_info();
  EXPECT_FALSE(info.model.empty());
  EXPECT_FALSE(info.isa.empty());
  EXPECT_GE(info.cores, 1);
  EXPECT_GE(info.line_bytes, 16);
  // Which of them is the larger one is the processor's affair, and what a machine says of them too.
  EXPECT_GT(info.l1_bytes, 0);
  EXPECT_GT(info.l2_bytes, 0);
  EXPECT_GT(info.l3_bytes, 0);
}

TEST(LoadedMachine, ThreadsThatFindAProcessor) {
  EXPECT_EQ(threads_that_run(2, -1, 2), 2);  // the machine does not say
  EXPECT_EQ(threads_that_run(2, 2, 2), 2);   // our own two
  EXPECT_EQ(threads_that_run(2, 3, 2), 1);   // another one's beside them
  EXPECT_EQ(threads_that_run(8, 11, 8), 5);
  EXPECT_EQ(threads_that_run(8, 1000, 8), 1);
  const int now = threads_that_run(4);
  EXPECT_TRUE(1 <= now && now <= 4);
}

}  // namespace
}  // namespace cornerturn::cpu
