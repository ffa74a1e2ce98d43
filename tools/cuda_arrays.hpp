// Arrays that kernels begin with, from .npy files, and those that they end
// with, in such files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "temporary_folder.hpp"
#include "workshop/cuda_source/front/program.hpp"

namespace cornerturn::cli {

/// Finds what the files of the arguments hold: their types and extents, and
/// where their elements begin. What comes from a pipe is kept in `folder`.
/// Throws Error.
void find_array_files(cuda_source::Request& request, const TemporaryFolder& folder);

/// Throws Error where --save = `path` is a file, or a folder with something in
/// it.
void require_empty(const std::string& path);

/// Puts what the program left in request.results into .npy files in the folder
/// `path`, which is made: all of them or none. Returns what they are, for the
/// report.
nlohmann::ordered_json save_arrays(const cuda_source::Request& request, const std::string& path);

}  // namespace cornerturn::cli
