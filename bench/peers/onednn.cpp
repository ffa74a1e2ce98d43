// oneDNN: a reorder primitive between two strided memory descriptors.
#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>

#include "geometry.hpp"
#include "peer_main.hpp"

namespace cornerturn::bench {
namespace {

class OneDnnSubject : public Subject {
 public:
  std::string name() const override { return "onednn"; }

  std::string version() const override {
    const dnnl::version_t* v = dnnl::version();
    return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
  }

  std::map<std::string, std::string> details() const override {
    return {{"elements", "s8, bf16, f32"}, {"threading", "OpenMP"}};
  }

  std::string prepare(const Case& c, int threads, const std::byte*, std::byte*) override {
    omp_set_num_threads(threads);
    memories_.clear();
    using Type = dnnl::memory::data_type;
    Type type = Type::s8;
    if (c.element_bytes == 2) {
      type = Type::bf16;
    } else if (c.element_bytes == 4) {
      type = Type::f32;
    } else if (c.element_bytes != 1) {
      return "oneDNN has elements of 1, 2 and 4 bytes";
    }
    std::vector<PeerMode> modes = joined_modes(c);
    if (modes.empty()) modes.push_back({1, 1, 1});
    if (modes.size() > DNNL_MAX_NDIMS) {
      return fmt::format("rank {} after joining; oneDNN has at most {}", modes.size(),
                         DNNL_MAX_NDIMS);
    }
    dnnl::memory::dims shape;
    dnnl::memory::dims src_strides;
    dnnl::memory::dims dst_strides;
    for (const PeerMode& m : modes) {
      if (m.src_stride < 0 || m.dst_stride < 0) return "oneDNN has no negative strides";
      shape.push_back(m.extent);
      src_strides.push_back(m.src_stride);
      dst_strides.push_back(m.dst_stride);
    }
    src_offset_ = c.src_offset * c.element_bytes;
    dst_offset_ = c.dst_offset * c.element_bytes;
    try {
      src_layout_ = dnnl::memory::desc(shape, type, src_strides);
      dst_layout_ = dnnl::memory::desc(shape, type, dst_strides);
      const dnnl::reorder::primitive_desc description(engine_, src_layout_, engine_, dst_layout_);
      method_ = description.impl_info_str();
      reorder_ = dnnl::reorder(description);
    } catch (const dnnl::error& error) {
      return fmt::format("oneDNN refuses: {}", error.what());
    }
    return "";
  }

  void run(const std::byte* src, std::byte* dst) override {
    // Memory objects are made once for each pair of buffers.
    auto found = memories_.find(src);
    if (found == memories_.end()) {
      auto* in = const_cast<std::byte*>(src) + src_offset_;
      found = memories_
                  .emplace(src, std::pair(dnnl::memory(src_layout_, engine_, in),
                                          dnnl::memory(dst_layout_, engine_, dst + dst_offset_)))
                  .first;
    }
    reorder_.execute(stream_, found->second.first, found->second.second);
    stream_.wait();
  }

  std::string method() const override { return method_; }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::memory::desc src_layout_;
  dnnl::memory::desc dst_layout_;
  dnnl::reorder reorder_;
  std::unordered_map<const std::byte*, std::pair<dnnl::memory, dnnl::memory>> memories_;
  std::int64_t src_offset_ = 0;
  std::int64_t dst_offset_ = 0;
  std::string method_;
};

}  // namespace
}  // namespace cornerturn::bench

int main(int argc, char** argv) {
  // Threads that spin after a parallel region would slow down the copies measured in between. The
  // OpenMP run-time has read its settings by now: start again with them.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
  }
  cornerturn::bench::OneDnnSubject subject;
  return cornerturn::bench::peer_main(argc, argv, subject);
}
