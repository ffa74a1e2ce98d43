#include <algorithm>
#include <cstring>

#include "harness/copies.hpp"

namespace cornerturn::bench {

Team::Team(int threads) {
  for (int member = 1; member < threads; ++member) {
    workers_.emplace_back([this, member] { work(member); });
  }
}

Team::~Team() {
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::work(int member) {
  for (unsigned seen = 0;;) {
    round_.wait(seen);
    seen = round_.load();
    if (stop_) return;
    (*job_)(member);
    if (--busy_ == 0) busy_.notify_one();
  }
}

void Team::run(const std::function<void(int)>& job) {
  if (workers_.empty()) return job(0);
  job_ = &job;
  busy_ = static_cast<int>(workers_.size());
  ++round_;
  round_.notify_all();
  job(0);
  for (int left = busy_; left != 0; left = busy_) busy_.wait(left);
}

void copy_in_parts(Team& team, void* dst, const void* src, std::int64_t bytes,
                   CopyPartFunction copy_part) {
  constexpr std::int64_t grain = 4096;
  const std::int64_t grains = (bytes + grain - 1) / grain;
  team.run([&](int member) {
    const std::int64_t begin = grains * member / team.size() * grain;
    const std::int64_t end = std::min(bytes, grains * (member + 1) / team.size() * grain);
    if (begin < end) {
      copy_part(static_cast<std::byte*>(dst) + begin, static_cast<const std::byte*>(src) + begin,
                static_cast<std::size_t>(end - begin));
    }
  });
}

void copy_with_memcpy(Team& team, void* dst, const void* src, std::int64_t bytes) {
  copy_in_parts(team, dst, src, bytes, [](std::byte* to, const std::byte* from, std::size_t size) {
    std::memcpy(to, from, size);
  });
}

}  // namespace cornerturn::bench
