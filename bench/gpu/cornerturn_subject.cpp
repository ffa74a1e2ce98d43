#include "gpu/cornerturn_subject.hpp"

#include <chrono>

#include "api/known_plans.hpp"
#include "api/target.hpp"
#include "cuda/engine.hpp"
#include "harness/statistics.hpp"
#include "plan/learning.hpp"
#include "plan/plan.hpp"

namespace cornerturn::bench {
namespace {

Extents in_bytes(const std::vector<std::int64_t>& strides, int element_bytes) {
  Extents out = strides;
  for (std::int64_t& stride : out) stride *= element_bytes;
  return out;
}

const char* name_of(Effort effort) {
  return effort == Effort::measure    ? "measure"
         : effort == Effort::estimate ? "estimate"
                                      : "automatic";
}

template <class F>
double seconds_of(F&& f) {
  const auto from = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

class CornerturnOnGpu : public GpuSubject {
 public:
  explicit CornerturnOnGpu(const Options& options) : options_(options) { options_.device = "gpu"; }

  std::string name() const override { return "cornerturn"; }
  std::string version() const override { return cornerturn::version(); }
  std::map<std::string, std::string> details() const override {
    return {{"effort", name_of(options_.effort)},
            {"kernel", options_.kernel.empty() ? "chosen" : options_.kernel}};
  }

  void use_stream(void* stream) override { options_.stream = stream; }

  std::string prepare(const Case& c, int, const std::byte* src, std::byte* dst) override {
    const ElementType type = ElementType::bytes(c.element_bytes);
    src_offset_ = c.src_offset * c.element_bytes;
    dst_offset_ = c.dst_offset * c.element_bytes;
    src_.emplace(src + src_offset_, type, c.shape, in_bytes(c.src_strides, c.element_bytes));
    dst_.emplace(dst + dst_offset_, type, c.shape, in_bytes(c.dst_strides, c.element_bytes));
    others_.clear();
    learns_ = options_.effort == Effort::automatic;
    try {
      plan_.emplace(make_plan(*dst_, *src_, options_));
    } catch (const Error& error) {
      // A kernel that was asked for by name and does not apply is no failure of the case.
      if (error.status() == Status::unsupported ||
          (!options_.kernel.empty() && error.status() == Status::invalid_argument)) {
        return error.what();
      }
      throw;
    }
    return "";
  }

  // Calls learn first; then the plan that they found is executed.
  void run(const std::byte* src, std::byte* dst) override {
    if (learns_) {
      dst_->data = dst + dst_offset_;
      src_->data = src + src_offset_;
      return copy(*dst_, *src_, options_);
    }
    execute(*plan_, dst + dst_offset_, src + src_offset_, options_.stream);
  }

  // A turn takes a batch, whose end the next one sees.
  int batches_to_settle() const override {
    return learns_ ? plan::calls_to_learn(plan_->impl()) : 0;
  }
  bool is_settled() const override {
    const Target target = target_of(options_, dst_->data, src_->data);
    return find_plan(*dst_, *src_, {}, options_, target).plan->learning == nullptr;
  }

  void settled() override {
    plan_.emplace(make_plan(*dst_, *src_, options_));
    learns_ = false;
  }

  std::string method() const override {
    const std::string text = plan_->to_string();
    return text.substr(0, text.find(';'));
  }

  double predicted_seconds() const override { return plan_->predicted_seconds(); }

  std::optional<PlanTimes> plan_times() override {
    std::vector<double> first;
    std::vector<double> cached;
    for (int i = 0; i < 31; ++i) {
      forget_plans();
      first.push_back(seconds_of([&] { make_plan(*dst_, *src_, options_); }));
      constexpr int calls = 100;
      cached.push_back(seconds_of([&] {
                         for (int k = 0; k < calls; ++k) make_plan(*dst_, *src_, options_);
                       }) /
                       calls);
    }
    return PlanTimes{median(first), median(cached)};
  }

  std::vector<Candidate> candidates() override {
    const plan::Plan& plan = plan_->impl();
    std::vector<Candidate> out;
    for (const plan::Candidate& candidate : candidates_of(plan)) {
      out.push_back({std::string(candidate.row->name), describe(candidate, plan.normal),
                     candidate.seconds()});
      others_.push_back(plan);
      others_.back().choose(candidate, plan::Choice::forced);
    }
    return out;
  }

  void run_candidate(std::size_t i, const std::byte* src, std::byte* dst) override {
    cuda::execute(others_[i], {dst + dst_offset_, src + src_offset_},
                  static_cast<cuda::Stream>(options_.stream));
  }

 private:
  const plan::UnpaidTurns unpaid_;
  Options options_;
  std::optional<ConstView> src_;
  std::optional<View> dst_;
  std::int64_t src_offset_ = 0;
  std::int64_t dst_offset_ = 0;
  std::optional<Plan> plan_;
  bool learns_ = false;
  std::vector<plan::Plan> others_;
};

}  // namespace

std::unique_ptr<GpuSubject> cornerturn_on_gpu(const Options& options) {
  return std::make_unique<CornerturnOnGpu>(options);
}

}  // namespace cornerturn::bench
