#include "arrow.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrow_structs.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

using arrow::Owned;

// ---- Tables of others.

template <class Struct>
Owned<Struct> taken_from(const nb::object& capsule, const char* name) {
  void* const found = PyCapsule_GetPointer(capsule.ptr(), name);
  if (found == nullptr) throw nb::python_error();
  auto& held = *static_cast<Struct*>(found);
  if (held.release == nullptr) throw nb::value_error("the table's capsule was read before");
  return Owned<Struct>(held);
}

/// The columns of a table as numbers: their types, and where the chunks of each lie.
class ArrowTable {
 public:
  /// Name, format, and whether the values are those of a dictionary.
  using Column = std::tuple<std::string, std::string, bool>;
  /// Addresses of the validity and of the values, 0 where there are none, the row of the buffers
  /// with which the chunk begins, and the number of nulls, -1 where it has not been counted.
  using Piece = std::tuple<std::uintptr_t, std::uintptr_t, std::int64_t, std::int64_t>;
  using Chunk = std::tuple<std::int64_t, std::vector<Piece>>;

  ArrowTable(ArrowTable&&) = default;
  ArrowTable(const ArrowTable&) = delete;

  static ArrowTable from_stream(const nb::object& capsule) {
    ArrowTable table;
    auto stream = taken_from<arrow::Stream>(capsule, arrow::stream_capsule);
    Owned<arrow::Schema> schema;
    check(stream, stream->get_schema(stream.get(), schema.get()));
    table.read_schema(*schema);
    for (;;) {
      Owned<arrow::Array> chunk;
      check(stream, stream->get_next(stream.get(), chunk.get()));
      if (chunk.empty()) return table;
      table.add(std::move(chunk));
    }
  }

  static ArrowTable from_array(const nb::object& schema, const nb::object& array) {
    ArrowTable table;
    table.read_schema(*taken_from<arrow::Schema>(schema, arrow::schema_capsule));
    table.add(taken_from<arrow::Array>(array, arrow::array_capsule));
    return table;
  }

  std::vector<Column> columns;
  std::vector<Chunk> chunks;

 private:
  ArrowTable() = default;

  static void check(Owned<arrow::Stream>& stream, int error) {
    if (error == 0) return;
    const char* const said = stream->get_last_error(stream.get());
    throw std::runtime_error("the table cannot be read: " +
                             std::string(said == nullptr ? std::strerror(error) : said));
  }

  void read_schema(const arrow::Schema& schema) {
    if (std::strcmp(schema.format, "+s") != 0 || schema.dictionary != nullptr) {
      const std::string what = "it is one column of Arrow's format \"";
      throw nb::type_error((what + schema.format + "\", and no table").c_str());
    }
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      const arrow::Schema& column = *schema.children[i];
      columns.emplace_back(column.name == nullptr ? "" : column.name, column.format,
                           column.dictionary != nullptr);
    }
  }

  void add(Owned<arrow::Array>&& chunk) {
    if (chunk->n_children != static_cast<std::int64_t>(columns.size())) {
      throw nb::value_error("a chunk of the table has another number of columns");
    }
    if (chunk->null_count != 0 && chunk->n_buffers > 0 && chunk->buffers[0] != nullptr) {
      throw nb::value_error("rows of the table are null as a whole");
    }
    std::vector<Piece> pieces;
    for (std::int64_t i = 0; i < chunk->n_children; ++i) {
      pieces.push_back(piece_of(*chunk->children[i], *chunk));
    }
    chunks.emplace_back(chunk->length, std::move(pieces));
    held_.push_back(std::move(chunk));
  }

  // The offset of a chunk counts for its columns as well.
  static Piece piece_of(const arrow::Array& column, const arrow::Array& chunk) {
    if (column.length < chunk.offset + chunk.length) {
      throw nb::value_error("a column of the table is shorter than its chunk");
    }
    const auto buffer = [&](std::int64_t i) {
      return i < column.n_buffers ? reinterpret_cast<std::uintptr_t>(column.buffers[i]) : 0;
    };
    return {buffer(0), buffer(1), column.offset + chunk.offset, column.null_count};
  }

  std::vector<Owned<arrow::Array>> held_;
};

// ---- Tables for others.

/// Columns of one format that lie in a block of memory, which `owner` keeps.
struct Block {
  nb::object owner;
  std::vector<std::string> names;
  std::string format;
  std::uintptr_t address = 0;
  std::int64_t rows = 0;
  std::int64_t step = 0;  ///< bytes from one column to the next

  ~Block() {
    if (Py_IsInitialized() == 0) {
      owner.release();
      return;
    }
    const nb::gil_scoped_acquire held;
    owner.reset();
  }
};

using Shared = std::shared_ptr<const Block>;

// A column may outlive its table, and each holds the block.
struct ArrayColumn {
  Shared block;
  const void* buffers[2];
};

template <class Struct, class Column>
struct Children {
  std::vector<Struct> columns;
  std::vector<Struct*> pointers;
  const void* no_validity = nullptr;

  explicit Children(std::size_t count) : columns(count) {
    for (Struct& column : columns) {
      column.release = [](Struct* it) {
        delete static_cast<Column*>(it->private_data);
        it->release = nullptr;
      };
      pointers.push_back(&column);
    }
  }
};

template <class Struct, class Column>
void show_columns(Struct& table, std::unique_ptr<Children<Struct, Column>> columns) {
  table.n_children = static_cast<std::int64_t>(columns->columns.size());
  table.children = columns->pointers.data();
  table.private_data = columns.release();
  table.release = [](Struct* it) {
    auto* const children = static_cast<Children<Struct, Column>*>(it->private_data);
    for (Struct* column : children->pointers) {
      if (column->release != nullptr) column->release(column);
    }
    delete children;
    it->release = nullptr;
  };
}

void show_schema(const Shared& block, arrow::Schema& out) {
  auto columns = std::make_unique<Children<arrow::Schema, Shared>>(block->names.size());
  for (std::size_t i = 0; i < block->names.size(); ++i) {
    arrow::Schema& column = columns->columns[i];
    column.format = block->format.c_str();
    column.name = block->names[i].c_str();
    column.flags = arrow::nullable;
    column.private_data = new Shared(block);
  }
  out = {};
  out.format = "+s";
  out.name = "";
  show_columns(out, std::move(columns));
}

void show_array(const Shared& block, arrow::Array& out) {
  auto columns = std::make_unique<Children<arrow::Array, ArrayColumn>>(block->names.size());
  for (std::size_t i = 0; i < block->names.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i) * block->step;
    const auto* const values = reinterpret_cast<const void*>(
        static_cast<std::uintptr_t>(static_cast<std::int64_t>(block->address) + step));
    auto* const held = new ArrayColumn{block, {nullptr, values}};
    arrow::Array& column = columns->columns[i];
    column.length = block->rows;
    column.n_buffers = 2;
    column.buffers = held->buffers;
    column.private_data = held;
  }
  out = {};
  out.length = block->rows;
  out.n_buffers = 1;
  out.buffers = &columns->no_validity;
  show_columns(out, std::move(columns));
}

struct OneChunk {
  Shared block;
  bool was_read = false;
};

OneChunk& state_of(arrow::Stream* stream) {
  return *static_cast<OneChunk*>(stream->private_data);
}

template <class Show>
int without_throwing(const Show& show) {
  try {
    show();
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

void fill_stream(arrow::Stream& stream, Shared block) {
  stream.get_schema = [](arrow::Stream* it, arrow::Schema* out) {
    return without_throwing([&] { show_schema(state_of(it).block, *out); });
  };
  stream.get_next = [](arrow::Stream* it, arrow::Array* out) {
    OneChunk& state = state_of(it);
    *out = {};
    if (state.was_read) return 0;
    state.was_read = true;
    return without_throwing([&] { show_array(state.block, *out); });
  };
  stream.get_last_error = [](arrow::Stream*) -> const char* { return nullptr; };
  stream.private_data = new OneChunk{std::move(block)};
  stream.release = [](arrow::Stream* it) {
    delete static_cast<OneChunk*>(it->private_data);
    it->release = nullptr;
  };
}

nb::object stream_of(nb::object owner, std::vector<std::string> names, std::string format,
                     std::uintptr_t address, std::int64_t rows, std::int64_t step) {
  auto stream = std::make_unique<Owned<arrow::Stream>>();
  fill_stream(*stream->get(), Shared(new Block{std::move(owner), std::move(names),
                                               std::move(format), address, rows, step}));
  PyObject* const capsule =
      PyCapsule_New(stream->get(), arrow::stream_capsule, [](PyObject* object) {
        auto* const held =
            static_cast<arrow::Stream*>(PyCapsule_GetPointer(object, arrow::stream_capsule));
        // The owner has no other member, and its address is that of the structure.
        delete reinterpret_cast<Owned<arrow::Stream>*>(held);
      });
  if (capsule == nullptr) throw nb::python_error();
  stream.release();  // NOLINT: the capsule has it
  return nb::steal(capsule);
}

}  // namespace

void bind_arrow(nb::module_& module) {
  nb::class_<ArrowTable>(module, "ArrowTable",
                         "A table of somebody else, in Arrow's C data interface. `columns` are "
                         "(name, format, has a\ndictionary); `chunks` are (rows, pieces) with a "
                         "piece of each column: (address of the validity,\naddress of the values, "
                         "first row, nulls).")
      .def_static("from_stream", &ArrowTable::from_stream, "capsule"_a)
      .def_static("from_array", &ArrowTable::from_array, "schema"_a, "array"_a)
      .def_ro("columns", &ArrowTable::columns)
      .def_ro("chunks", &ArrowTable::chunks);
  module.def("arrow_stream", stream_of, "owner"_a, "names"_a, "format"_a, "address"_a, "rows"_a,
             "step"_a,
             "A capsule with an Arrow stream of one chunk: columns of one format, `step` bytes "
             "apart, in the memory\nthat `owner` keeps.");
}

}  // namespace cornerturn::python
