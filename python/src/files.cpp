#include "files.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cpu/threads.hpp"
#include "files/output_file.hpp"
#include "io/array_file.hpp"
#include "io/npy_dtype.hpp"
#include "io/rearrange.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

io::InputOptions source_options() {
  io::InputOptions options;
  options.argument = "src";
  return options;
}

std::pair<std::vector<std::int64_t>, std::int64_t> shape_and_bytes(const std::string& path) {
  const io::InputArray input = io::open_header(path, source_options());
  return {input.header.shape, input.bytes};
}

// One call: from opening the source until the result has its name.
class FileTransposition {
 public:
  FileTransposition(const std::string& src, const std::string& dst, const std::vector<int>& axes,
                    const std::string& dtype, std::int64_t memory)
      : dst_(dst), memory_(memory), input_(io::open_array(src, source_options())) {
    io::NpyHeader header = input_.header;
    header.fortran_order = false;
    header.shape.clear();
    for (const int axis : axes) {
      header.shape.push_back(input_.header.shape.at(static_cast<std::size_t>(axis)));
    }
    if (!dtype.empty()) {
      const ElementType from = io::value_type_of(header.descr, header.item_size,
                                                 "dtype = " + dtype + ": elements of src");
      const ElementType to = ElementType::parse(dtype);
      conversion_ = io::FileConversion(from, to, {});
      header.descr = io::descr_of(to);
      header.item_size = to.size();
    }
    problem_ = io::file_problem(input_.header.shape, input_.header.item_size,
                                input_.header.fortran_order, axes);
    text_ = io::format_npy_header(header);
    result_bytes_ = conversion_.result_bytes(input_.bytes);
    if (input_.bytes == 0) return;
    io::Limits limits;
    limits.threads = cpu::resolve_threads(thread_limit());
    limits.memory = memory_;
    if (memory_ > 0 && result_bytes_ > input_.bytes) {
      limits.memory = std::max(io::least_memory, memory_ * 2 / (2 + result_bytes_ / input_.bytes));
    }
    options_.threads = thread_limit();
    schedule_ = io::make_schedule(problem_, limits);
    total_ = schedule_.bytes_written() - input_.bytes + result_bytes_;
  }

  void run() {
    const auto header_bytes = static_cast<std::int64_t>(text_.size());
    files::OutputFile output(dst_, header_bytes + result_bytes_, "dst");
    if (!output.seekable()) {
      throw Error(Status::invalid_argument, "dst = '" + dst_ + "' is no file: it has to be one");
    }
    output.file().write(text_.data(), header_bytes);
    if (input_.bytes > 0) move({&output.file(), header_bytes});
    output.commit();
  }

  std::int64_t total() const { return total_; }
  io::Progress& progress() { return progress_; }

 private:
  void move(const io::Sink& sink) {
    io::Source source{nullptr, &input_.file, input_.offset};
    io::Mapping mapping;
    if (memory_ == 0) {
      mapping = io::Mapping(input_.file, cpu::resolve_threads(thread_limit()));
      source.memory = mapping.data() + input_.offset;
    }
    io::Sink scratch = sink;
    files::File temporary;
    if (schedule_.route == io::Route::two_pass && conversion_.converts()) {
      temporary = files::temporary_file(files::directory_of(dst_), input_.bytes);
      scratch = {&temporary, 0};
    }
    io::rearrange(schedule_, source, sink, scratch, options_, progress_, conversion_);
  }

  std::string dst_;
  std::int64_t memory_;
  io::InputArray input_;
  io::FileConversion conversion_;
  Problem problem_;
  std::string text_;
  std::int64_t result_bytes_ = 0;
  std::int64_t total_ = 0;
  Options options_;
  io::Schedule schedule_;
  io::Progress progress_;
};

// The work has a thread of its own, so that this one can call `progress` and hear of Ctrl-C.
void transpose_file(const std::string& src, const std::string& dst, const std::vector<int>& axes,
                    const std::string& dtype, std::int64_t memory, nb::handle progress) {
  FileTransposition work(src, dst, axes, dtype, memory);
  std::exception_ptr error;
  std::atomic<bool> done = false;
  const int limit = thread_limit();
  std::thread thread([&] {
    try {
      const ThreadLimit limited(limit);
      work.run();
    } catch (...) {
      error = std::current_exception();
    }
    done = true;
  });
  const auto tell = [&] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress.is_none()) progress(work.progress().bytes_written.load(), work.total());
  };
  std::exception_ptr raised;
  try {
    for (int beat = 1; !done; ++beat) {
      constexpr int beats_a_call = 20;
      if (beat % beats_a_call == 0) tell();
      const nb::gil_scoped_release released;
      std::this_thread::sleep_for(std::chrono::milliseconds(beat < beats_a_call ? 1 : 5));
    }
  } catch (...) {
    raised = std::current_exception();
    work.progress().stop = true;
  }
  {
    const nb::gil_scoped_release released;
    thread.join();
  }
  if (raised) std::rethrow_exception(raised);
  if (error) std::rethrow_exception(error);
  tell();
}

}  // namespace

void add_files(nb::module_& module) {
  module.def("file_shape", shape_and_bytes, "path"_a, "The shape of a .npy file, and its bytes.");
  module.def("transpose_file", transpose_file, "src"_a, "dst"_a, "axes"_a, "dtype"_a, "memory"_a,
             "progress"_a.none(), "`memory` is 0 for a mapping of the source.");
}

}  // namespace cornerturn::python
