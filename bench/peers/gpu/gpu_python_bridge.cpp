// The harness as a shared library: gpu_peers.py calls it with functions that do the work, so that
// the peers on a GPU are measured by the very same code as Cornerturn.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cornerturn/error.hpp"
#include "gpu/accelerator.hpp"
#include "gpu/gpu_session.hpp"

namespace cornerturn::bench {
namespace {

// Each leaves "" or what is wrong in `answer`.
using PrepareFunction = void (*)(const char* case_json, void* stream, char* answer,
                                 std::size_t size);
using RunFunction = void (*)(const void* src, void* dst, char* answer, std::size_t size);
using SecondsFunction = double (*)(char* answer, std::size_t size);

class PythonSubject : public GpuSubject {
 public:
  PythonSubject(const char* peer, const char* peer_version, PrepareFunction on_prepare,
                RunFunction on_run, SecondsFunction own)
      : name_(peer), version_(peer_version), prepare_(on_prepare), run_(on_run), own_(own) {}

  std::string name() const override { return name_; }
  std::string version() const override { return version_; }
  void use_stream(void* stream) override { stream_ = stream; }

  std::string prepare(const Case& c, int, const std::byte* src, std::byte* dst) override {
    const nlohmann::json json = {{"src", reinterpret_cast<std::uintptr_t>(src)},
                                 {"dst", reinterpret_cast<std::uintptr_t>(dst)},
                                 {"suite", c.suite},
                                 {"name", c.name},
                                 {"class", c.group},
                                 {"element_bytes", c.element_bytes},
                                 {"shape", c.shape},
                                 {"src_strides", c.src_strides},
                                 {"dst_strides", c.dst_strides},
                                 {"src_offset", c.src_offset},
                                 {"dst_offset", c.dst_offset},
                                 {"src_span_bytes", c.src_span_bytes()},
                                 {"dst_span_bytes", c.dst_span_bytes()}};
    char answer[512] = "";
    prepare_(json.dump().c_str(), stream_, answer, sizeof(answer));
    return answer;
  }

  void run(const std::byte* src, std::byte* dst) override {
    char answer[512] = "";
    run_(src, dst, answer, sizeof(answer));
    if (answer[0] != '\0') throw Error(Status::internal, answer);
  }

  bool times_on_host() const override { return false; }  // it would be the bridge's time
  bool times_itself() const override { return own_ != nullptr; }
  double own_seconds() override {
    char answer[512] = "";
    const double seconds = own_(answer, sizeof(answer));
    if (answer[0] != '\0') throw Error(Status::internal, answer);
    return seconds;
  }

 private:
  std::string name_;
  std::string version_;
  PrepareFunction prepare_;
  RunFunction run_;
  SecondsFunction own_;
  void* stream_ = nullptr;
};

int measure(int argc, const char* const* argv, PythonSubject& subject) {
  CLI::App app("Measures " + subject.name() + " by the rules of `cornerturn bench --device gpu`");
  SessionOptions options;
  add_session_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::unique_ptr<Accelerator> gpu = open_gpu();
  return run_gpu_session(options, subject, *gpu);
}

}  // namespace
}  // namespace cornerturn::bench

/// Measures the peer behind the functions; `own` is null unless the peer can only be timed by
/// itself. `prepare` answers with the reason for skipping the case.
extern "C" __attribute__((visibility("default"))) int cornerturn_gpu_peer(
    int argc, const char* const* argv, const char* name, const char* version,
    cornerturn::bench::PrepareFunction prepare, cornerturn::bench::RunFunction run,
    cornerturn::bench::SecondsFunction own) {
  try {
    cornerturn::bench::PythonSubject subject(name, version, prepare, run, own);
    return cornerturn::bench::measure(argc, argv, subject);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}
