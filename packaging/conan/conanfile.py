"""The library as a package of Conan 2, for C++ and C: `conan create packaging/conan -s compiler.cppstd=20`.

fmt, Highway, oneTBB and nlohmann-json are those of the system, so a package is for the distribution that it was
made on. The command line is not in it.
"""

import re
import shutil
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd, stdcpp_library
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.system.package_manager import Apt

required_conan_version = ">=2.0"
TREE = Path(__file__).resolve().parents[2]  # where the package is exported from


class Cornerturn(ConanFile):
    name = "cornerturn"
    description = "Transposes and permutes any strided tensor at the speed of memory"
    license = "Apache-2.0"
    topics = ("transpose", "permute", "layout", "tensor", "simd")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "cuda": [True, False]}
    default_options = {"shared": False, "fPIC": True, "cuda": False}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        header = (TREE / "include/cornerturn/version.hpp").read_text()
        self.version = ".".join(re.search(rf"VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        target = Path(self.export_sources_folder)
        for folder in ("cmake", "devices", "include", "src", "third_party"):
            copy(self, "*", TREE / folder, target / folder)
        for name in ("CMakeLists.txt", "LICENSE"):
            shutil.copy(TREE / name, target)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"os = {self.settings.os}: Cornerturn is for Linux")
        if self.options.cuda and not self.options.shared:
            raise ConanInvalidConfiguration("cuda = True needs shared = True: CUDA's runtime is inside the shared library")

    def system_requirements(self):
        Apt(self).install(["pkg-config", "libfmt-dev", "libhwy-dev", "libtbb-dev", "nlohmann-json3-dev"], check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        options = {"CUDA": self.options.cuda, "STATIC": not self.options.shared, "WERROR": False}
        options |= {"BUILD_TESTS": False, "BUILD_TOOLS": False, "BUILD_EXAMPLES": False}
        for name, value in options.items():
            toolchain.cache_variables[f"CORNERTURN_{name}"] = bool(value)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="cornerturn" if self.options.shared else "cornerturn_static")

    def package(self):
        for name in ("LICENSE", "third_party/NOTICES.txt"):
            path = Path(self.source_folder, name)
            copy(self, path.name, path.parent, Path(self.package_folder, "licenses"))
        for pattern in ("*.hpp", "*.h"):
            copy(self, pattern, Path(self.source_folder, "include"), Path(self.package_folder, "include"))
        library = "libcornerturn.so*" if self.options.shared else "libcornerturn.a"
        copy(self, library, Path(self.build_folder, "lib"), Path(self.package_folder, "lib"))

    def package_info(self):
        """The names are those of the CMake package that `cmake --install` makes."""
        self.cpp_info.libs = ["cornerturn"]
        self.cpp_info.set_property("cmake_file_name", "cornerturn")
        self.cpp_info.set_property("cmake_target_name", "cornerturn::cornerturn")
        self.cpp_info.set_property("pkg_config_name", "cornerturn")
        if not self.options.shared:
            self.cpp_info.set_property("cmake_target_aliases", ["cornerturn::static"])
            self.cpp_info.system_libs = ["tbb", "fmt", "hwy", "pthread", "dl"]
            # Programs in C are linked without what those in C++ are linked with anyhow.
            self.cpp_info.system_libs += [name for name in (stdcpp_library(self), "m") if name]
