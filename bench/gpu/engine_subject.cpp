#include "gpu/engine_subject.hpp"

#include <chrono>

#include "cornerturn/cornerturn.hpp"
#include "cuda/device.hpp"
#include "cuda/engine.hpp"
#include "harness/statistics.hpp"
#include "plan/gpu/device_files.hpp"
#include "plan/gpu/plan.hpp"

namespace cornerturn::bench {
namespace {

namespace gpu = plan::gpu;

Problem problem_of(const Case& c) {
  Problem problem;
  problem.src_type = problem.dst_type = ElementType::bytes(c.element_bytes);
  for (std::size_t k = 0; k < c.shape.size(); ++k) {
    problem.modes.push_back(
        {c.shape[k], c.src_strides[k] * c.element_bytes, c.dst_strides[k] * c.element_bytes});
  }
  problem.src_offset = c.src_offset * c.element_bytes;
  problem.dst_offset = c.dst_offset * c.element_bytes;
  return problem;
}

gpu::DeviceInfo device_here() {
  const cuda::DeviceInfo here = cuda::device_info();
  for (const gpu::DeviceInfo& known : gpu::known_devices()) {
    if (known.name == here.name) return known;
  }
  throw Error(Status::unsupported, "no described device is called " + here.name);
}

class EngineSubject : public GpuSubject {
 public:
  explicit EngineSubject(std::string kernel) : kernel_(std::move(kernel)), device_(device_here()) {}

  std::string name() const override { return "cornerturn"; }
  std::string version() const override { return cornerturn::version(); }
  std::map<std::string, std::string> details() const override {
    return {{"effort", "estimate"}, {"kernel", kernel_.empty() ? "chosen" : kernel_}};
  }

  void use_stream(void* stream) override { stream_ = static_cast<cuda::Stream>(stream); }

  std::string prepare(const Case& c, int, const std::byte*, std::byte*) override {
    problem_ = problem_of(c);
    try {
      plan_ = planned();
    } catch (const Error& error) {
      if (error.status() == Status::unsupported ||
          (!kernel_.empty() && error.status() == Status::invalid_argument)) {
        return error.what();
      }
      throw;
    }
    others_.clear();
    return "";
  }

  void run(const std::byte* src, std::byte* dst) override {
    cuda::execute(plan_, dst, src, stream_);
  }

  std::string method() const override {
    const std::string text = to_string(plan_);
    return text.substr(0, text.find(';'));
  }

  double predicted_seconds() const override { return plan_.predicted_seconds(); }

  std::optional<PlanTimes> plan_times() override {
    std::vector<double> seconds;
    for (int i = 0; i < 50; ++i) {
      const auto from = std::chrono::steady_clock::now();
      plan_ = planned();
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
    }
    return PlanTimes{median(seconds), 0};
  }

  std::vector<Candidate> candidates() override {
    std::vector<Candidate> out;
    for (const gpu::Candidate& candidate : plan_.candidates) {
      out.push_back({std::string(candidate.row->name), describe(candidate, plan_.normal),
                     candidate.cost_seconds});
      others_.push_back(plan_);
      others_.back().choose(candidate, plan::Choice::forced);
    }
    return out;
  }

  void run_candidate(std::size_t i, const std::byte* src, std::byte* dst) override {
    cuda::execute(others_[i], dst, src, stream_);
  }

 private:
  gpu::Plan planned() const {
    // Buffers start on pages; the engine asks for 16 bytes at most.
    return gpu::make_plan(problem_, {true, 16, 16}, device_, kernel_);
  }

  std::string kernel_;
  gpu::DeviceInfo device_;
  cuda::Stream stream_ = nullptr;
  Problem problem_;
  gpu::Plan plan_;
  std::vector<gpu::Plan> others_;
};

}  // namespace

std::unique_ptr<GpuSubject> engine_subject(const std::string& kernel) {
  return std::make_unique<EngineSubject>(kernel);
}

}  // namespace cornerturn::bench
