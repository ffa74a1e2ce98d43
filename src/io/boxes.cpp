#include "io/boxes.hpp"

#include <cstring>

#include "api/known_plans.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::io {

ConstView read_box(const Problem& problem, const Source& source, const Box& box, std::byte* buffer,
                   Progress& progress) {
  std::byte* next = buffer;
  const std::int64_t run = run_bytes(problem, box.extent, Side::source);
  for_each_run(problem, box, Side::source, [&](std::int64_t offset) {
    if (source.memory != nullptr) {
      std::memcpy(next, source.memory + offset, static_cast<std::size_t>(run));
    } else {
      source.file->read_at(next, run, source.offset + offset);
    }
    next += run;
  });
  if (source.memory == nullptr) progress.bytes_read += next - buffer;
  return {buffer, problem.src_type, box.extent, packed_like(problem, box.extent, Side::source)};
}

void write_box(const Problem& problem, const Sink& sink, const Box& box, const std::byte* data,
               const FileConversion& conversion, std::byte* work, Progress& progress) {
  const std::int64_t run = run_bytes(problem, box.extent, Side::destination);
  for_each_run(problem, box, Side::destination, [&](std::int64_t offset) {
    const std::int64_t written = conversion.result_bytes(run);
    if (conversion.converts()) conversion.run(data, run, offset, work);
    sink.file->write_at(conversion.converts() ? work : data, written,
                        sink.offset + conversion.result_bytes(offset));
    data += run;
    progress.wrote(written);
  });
}

void write_converted_box(const Problem& problem, const Sink& sink, const Box& box,
                         const std::byte* data, const FileConversion& conversion,
                         Progress& progress) {
  const std::int64_t run =
      conversion.result_bytes(run_bytes(problem, box.extent, Side::destination));
  for_each_run(problem, box, Side::destination, [&](std::int64_t offset) {
    sink.file->write_at(data, run, sink.offset + conversion.result_bytes(offset));
    data += run;
    progress.wrote(run);
  });
}

void with_kernel(const std::string& kernel, const std::function<void(const std::string&)>& work) {
  try {
    work(kernel);
  } catch (const Error& error) {
    if (error.status() != Status::invalid_argument) throw;
    work(std::string(any_kernel));
  }
}

void copy_box(const View& to, const ConstView& from, const Options& options,
              const Epilogue& epilogue) {
  Options some = options;
  with_kernel(options.kernel, [&](const std::string& kernel) {
    some.kernel = kernel;
    copy(to, from, epilogue, some);
  });
}

}  // namespace cornerturn::io
