#include "torch_copies.hpp"

#include <memory>

#include "threads.hpp"
#include "torch/copies.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cornerturn::python {
namespace {

// PyTorch's copies on one kind of device, until end() is called.
class TorchCopies {
 public:
  explicit TorchCopies(bool on_gpu)
      : copies_(std::make_unique<torch::Copies>(on_gpu ? torch::Device::cuda : torch::Device::cpu,
                                                thread_limit)) {}
  void end() { copies_.reset(); }

 private:
  std::unique_ptr<torch::Copies> copies_;
};

}  // namespace

void add_torch_copies(nb::module_& module) {
  nb::class_<TorchCopies>(module, "TorchCopies",
                          "PyTorch's copies on one kind of device, done by Cornerturn.")
      .def(nb::init<bool>(), "on_gpu"_a)
      .def("end", &TorchCopies::end, "Gives them back to PyTorch.");
  module.def("torch_copies_done", torch::copies_done,
             "How many copies Cornerturn has done for PyTorch in this process.");
}

}  // namespace cornerturn::python
