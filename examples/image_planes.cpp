// A window of an RGB image into three planes. The window's rows are not packed: its strides say so,
// and nothing is copied first. The second half moves the planes back, flipped left to right by a
// negative stride.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "cornerturn/cornerturn.hpp"

namespace {

constexpr std::int64_t image_width = 640, image_height = 480, channels = 3;
constexpr std::int64_t width = 200, height = 100, left = 17, top = 33;

std::vector<std::uint8_t> make_image() {
  std::vector<std::uint8_t> image(image_width * image_height * channels);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i * 7 % 251);
  return image;
}

std::size_t pixel(std::int64_t y, std::int64_t x, std::int64_t c) {
  return static_cast<std::size_t>(((top + y) * image_width + left + x) * channels + c);
}

}  // namespace

int main() try {
  std::vector<std::uint8_t> image = make_image();
  std::vector<std::uint8_t> planes(channels * height * width);

  // (height, width, channel), with the pitch of the whole image.
  const cornerturn::Extents shape = {height, width, channels};
  const cornerturn::Extents strides = {image_width * channels, channels, 1};
  const auto window = cornerturn::view(&image[pixel(0, 0, 0)], shape, strides);
  cornerturn::permute(planes.data(), window, {2, 0, 1});

  const auto plane_at = [&](std::int64_t c, std::int64_t y, std::int64_t x) {
    return planes[static_cast<std::size_t>((c * height + y) * width + x)];
  };
  if (plane_at(1, 7, 9) != image[pixel(7, 9, 1)]) return 1;
  const std::uint8_t green = plane_at(1, 7, 9);

  // Back into the window, the columns in reverse.
  std::uint8_t* last_column = &planes[width - 1];
  const auto flipped =
      cornerturn::view(last_column, {height, width, channels}, {width, -1, height * width});
  cornerturn::copy(window, flipped);

  std::printf("window of %dx%d of a %dx%d image: split into planes, written back mirrored\n",
              static_cast<int>(width), static_cast<int>(height), static_cast<int>(image_width),
              static_cast<int>(image_height));
  return image[pixel(7, width - 1 - 9, 1)] == green ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "image_planes: %s\n", error.what());
  return 1;
}
