// Tables of lists, looked at before a call writes anything.
#pragma once

#include "core/buffers.hpp"
#include "core/problem.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn {

/// Does options.lists ask for a look at the entries of tables that lie there?
bool looks_at_entries(bool on_gpu, const Options& options);

/// check_tables() with the entries, of tables that lie on a GPU: the call waits for the stream.
void check_tables_of_gpu(const Problem& problem, const Buffers& buffers, const Options& options);

}  // namespace cornerturn
