#include "transpose_arguments.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "cornerturn/error.hpp"
#include "cuda/device.hpp"
#include "files/output_file.hpp"

namespace cornerturn::cli {

std::string temporary_directory(const TransposeArguments& arguments) {
  const files::Place place = files::place_of(arguments.out);
  struct stat out {};
  const bool in_order = arguments.to_pipe || place.descriptor >= 0 ||
                        (stat(place.path.c_str(), &out) == 0 && !S_ISREG(out.st_mode));
  if (!in_order) return files::directory_of(place.path);
  const char* directory = std::getenv("TMPDIR");
  return directory != nullptr && *directory != '\0' ? directory : "/tmp";
}

bool runs_on_gpu(const TransposeArguments& arguments) {
  if (parse_device("--device", arguments.device) != "gpu") return false;
  if (const auto why = cuda::why_no_gpu()) {
    throw Error(Status::unsupported, "--device gpu: " + *why);
  }
  return true;
}

io::InputArray open_input(const TransposeArguments& arguments, std::int64_t memory) {
  io::InputOptions options;
  options.raw = arguments.raw;
  if (arguments.raw) {
    if (arguments.dtype.empty()) {
      throw Error(Status::invalid_argument, "--dtype is missing: --raw needs it");
    }
    const DtypeArgument dtype = parse_dtype("--dtype", arguments.dtype);
    options.shape = parse_numbers("--shape", arguments.shape);
    options.descr = dtype.descr;
    options.item_size = dtype.size;
  }
  options.in_place = arguments.in_place;
  if (memory > 0 && !arguments.in_place) options.spool_directory = temporary_directory(arguments);
  return io::open_array(arguments.in, options);
}

bool check_output(const io::InputArray& input, const std::string& name, const std::string& path) {
  struct stat in {};
  struct stat out {};
  const int descriptor = path == "-" ? STDOUT_FILENO : files::place_of(path).descriptor;
  const bool exists =
      descriptor >= 0 ? fstat(descriptor, &out) == 0 : stat(path.c_str(), &out) == 0;
  if (exists && fstat(input.file.descriptor(), &in) == 0 && S_ISREG(out.st_mode) &&
      in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
    throw Error(Status::invalid_argument, files::label_of(name, path) + " is the same file as " +
                                              input.file.label() + ": it has to be another");
  }
  if (descriptor >= 0 && isatty(descriptor) != 0) {
    throw Error(Status::invalid_argument,
                files::label_of(name, path) +
                    " is a terminal, which cannot show an array: name a file, or send it on with "
                    "| or >");
  }
  return descriptor >= 0 || (exists && !S_ISREG(out.st_mode));
}

}  // namespace cornerturn::cli
