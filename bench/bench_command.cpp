#include "bench_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cornerturn/cornerturn.hpp"
#include "cpu/engine.hpp"
#include "gpu/accelerator.hpp"
#include "gpu/cornerturn_subject.hpp"
#include "gpu/gpu_session.hpp"
#include "harness/session.hpp"
#include "plan/learning.hpp"
#include "plan/plan.hpp"

namespace cornerturn {
namespace {

using bench::Case;

Extents in_bytes(const std::vector<std::int64_t>& strides, int element_bytes) {
  Extents out = strides;
  for (std::int64_t& stride : out) stride *= element_bytes;
  return out;
}

std::string effort_name(Effort effort) {
  return effort == Effort::measure    ? "measure"
         : effort == Effort::estimate ? "estimate"
                                      : "automatic";
}

// Cornerturn as a user calls it: copy() between two views, with the plan found in the cache.
class CornerturnSubject : public bench::Subject {
 public:
  explicit CornerturnSubject(const Options& options) : options_(options) {}

  std::string name() const override { return "cornerturn"; }
  std::string version() const override { return cornerturn::version(); }

  std::map<std::string, std::string> details() const override {
    return {{"effort", effort_name(options_.effort)},
            {"kernel", options_.kernel.empty() ? "chosen" : options_.kernel}};
  }

  std::string prepare(const Case& c, int threads, const std::byte* src, std::byte* dst) override {
    options_.threads = threads;
    const ElementType type = ElementType::bytes(c.element_bytes);
    src_.emplace(src, type, c.shape, in_bytes(c.src_strides, c.element_bytes));
    dst_.emplace(dst, type, c.shape, in_bytes(c.dst_strides, c.element_bytes));
    src_offset_ = c.src_offset * c.element_bytes;
    dst_offset_ = c.dst_offset * c.element_bytes;
    src_->data = src + src_offset_;
    dst_->data = dst + dst_offset_;
    try {
      plan_ = make_plan(*dst_, *src_, options_).impl();
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

  void run(const std::byte* src, std::byte* dst) override {
    src_->data = src + src_offset_;
    dst_->data = dst + dst_offset_;
    copy(*dst_, *src_, options_);
  }

  int calls_to_settle() const override {
    const bool learns = options_.effort == Effort::automatic && options_.kernel.empty();
    return learns ? plan::calls_to_learn(plan_) : 0;
  }

  // "tile: strips of 128 x 512; 67.1 MB on 1 thread": sizes and threads are known anyway. The
  // first runs together may have chosen another kernel than the model did.
  std::string method() const override {
    const std::string text = make_plan(*dst_, *src_, options_).to_string();
    return text.substr(0, text.find(';'));
  }

  std::vector<bench::Candidate> candidates() override {
    std::vector<bench::Candidate> out;
    others_.clear();
    for (const plan::Candidate& candidate : plan_.candidates) {
      plan::Plan& other = others_.emplace_back(plan_);
      other.chosen = candidate;
      out.push_back({std::string(other.kernel()), describe(candidate, plan_.normal),
                     other.predicted_seconds()});
    }
    return out;
  }

  void run_candidate(std::size_t i, const std::byte* src, std::byte* dst) override {
    cpu::execute(others_[i], {dst + dst_offset_, src + src_offset_});
  }

 private:
  const plan::UnpaidTurns unpaid_;
  Options options_;
  std::optional<ConstView> src_;
  std::optional<View> dst_;
  std::int64_t src_offset_ = 0;
  std::int64_t dst_offset_ = 0;
  plan::Plan plan_;
  std::vector<plan::Plan> others_;
};

struct BenchArguments {
  bench::SessionOptions session;
  Options options;
  std::vector<std::string> types;
  std::string effort = "automatic";
  std::string device = "cpu";
};

bool measures(const bench::SessionOptions& session) {
  return session.compare.empty() && !session.list;
}

int run_bench(BenchArguments& arguments) {
  bench::SessionOptions& session = arguments.session;
  for (const std::string& name : arguments.types) {
    session.filter.element_bytes.push_back(ElementType::parse(name).size());
  }
  for (const Effort effort : {Effort::automatic, Effort::estimate, Effort::measure}) {
    if (arguments.effort == effort_name(effort)) arguments.options.effort = effort;
  }
  if (arguments.device == "gpu" && measures(session)) {
    const std::unique_ptr<bench::Accelerator> gpu = bench::open_gpu();
    const auto subject = bench::cornerturn_on_gpu(arguments.options);
    return bench::run_gpu_session(session, *subject, *gpu);
  }
  CornerturnSubject subject(arguments.options);
  return bench::run_session(session, subject);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bench", "Measures suites of cases against a plain copy of the same bytes");
  const auto arguments = std::make_shared<BenchArguments>();
  bench::add_session_options(*command, arguments->session);
  bench::add_candidates_option(*command, arguments->session);
  command->add_option("--device", arguments->device, "Measure on this device")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
  command
      ->add_option("--dtype", arguments->types,
                   "Measure only elements of the size of these types, e.g. f32")
      ->delimiter(',');
  command
      ->add_option("--effort", arguments->effort,
                   "Choose plans by a model, by timing all, or by a model and what calls learn by "
                   "turns")
      ->check(CLI::IsMember({"automatic", "estimate", "measure"}))
      ->capture_default_str();
  command->add_option("--force", arguments->options.kernel, "Use this kernel for every case");
  command->callback([arguments] {
    const int code = run_bench(*arguments);
    if (code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace cornerturn
