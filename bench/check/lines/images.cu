// Stencils, filters and pictures.
#include "data.hpp"

__constant__ float weights[7];
__constant__ float square_weights[5][5];

__global__ void stencil_line(int n, const float* in, float* out) {
  __shared__ float row[128 + 6];
  const int i = blockIdx.x * 128 + threadIdx.x;
  const int at = threadIdx.x + 3;
  row[at] = i < n ? in[i] : 0.0f;
  if (threadIdx.x < 3) {
    row[threadIdx.x] = i >= 3 ? in[i - 3] : 0.0f;
    row[at + 128] = i + 128 < n ? in[i + 128] : 0.0f;
  }
  __syncthreads();
  float sum = 0.0f;
  for (int k = -3; k <= 3; ++k) sum += weights[k + 3] * row[at + k];
  if (i < n) out[i] = sum;
}

__global__ void diffuse(int width, int height, const float* in, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  const int at = y * width + x;
  const float centre = in[at];
  const float west = in[at - 1];
  const float east = in[at + 1];
  const float north = in[at - width];
  const float south = in[at + width];
  out[at] = centre + 0.2f * (west + east + north + south - 4.0f * centre);
}

__global__ void diffuse_tiled(int width, int height, const float* in, float* out) {
  __shared__ float tile[18][18];
  const int left = blockIdx.x * 16 - 1, top = blockIdx.y * 16 - 1;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
    const int x = min(max(left + i % 18, 0), width - 1);
    const int y = min(max(top + i / 18, 0), height - 1);
    tile[i / 18][i % 18] = in[y * width + x];
  }
  __syncthreads();
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= width || y >= height) return;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const float centre = tile[ty][tx];
  const float sides = tile[ty][tx - 1] + tile[ty][tx + 1];
  const float ends = tile[ty - 1][tx] + tile[ty + 1][tx];
  out[y * width + x] = centre + 0.2f * (sides + ends - 4.0f * centre);
}

__global__ void stencil_space(int side, const float* in, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= side - 1 || y >= side - 1) return;
  float below = in[y * side + x];
  float here = in[(side + y) * side + x];
  for (int z = 1; z < side - 1; ++z) {
    const float above = in[((z + 1) * side + y) * side + x];
    const int at = (z * side + y) * side + x;
    const float around = in[at - 1] + in[at + 1] + in[at - side] + in[at + side];
    out[at] = 0.4f * here + 0.1f * (below + above + around);
    below = here;
    here = above;
  }
}

__global__ void filter_square(int width, int height, const float* in, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int dy = -2; dy <= 2; ++dy) {
    for (int dx = -2; dx <= 2; ++dx) {
      const int fx = x + dx, fy = y + dy;
      if (fx < 0 || fy < 0 || fx >= width || fy >= height) continue;
      sum += square_weights[dy + 2][dx + 2] * in[fy * width + fx];
    }
  }
  out[y * width + x] = sum;
}

__global__ void filter_columns(int width, int height, const float* in, float* out) {
  __shared__ float tile[32 + 6][16];
  const int x = blockIdx.x * 16 + threadIdx.x;
  const int top = blockIdx.y * 32 - 3;
  for (int r = threadIdx.y; r < 38; r += 8) {
    const int y = top + r;
    tile[r][threadIdx.x] = y >= 0 && y < height && x < width ? in[y * width + x] : 0.0f;
  }
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8) {
    float sum = 0.0f;
    for (int k = 0; k < 7; ++k) sum += weights[k] * tile[r + k][threadIdx.x];
    const int y = blockIdx.y * 32 + r;
    if (x < width && y < height) out[y * width + x] = sum;
  }
}

__global__ void edges(int width, int height, const unsigned char* in, unsigned char* out) {
  __shared__ unsigned char tile[10][34];
  const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
  for (int y = threadIdx.y; y < 10; y += 8) {
    for (int x = threadIdx.x; x < 34; x += 32) {
      const int fx = min(max(x0 + x - 1, 0), width - 1), fy = min(max(y0 + y - 1, 0), height - 1);
      tile[y][x] = in[fy * width + fx];
    }
  }
  __syncthreads();
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  const int across = tile[y][x + 1] - tile[y][x - 1];
  const int down = tile[y + 1][x] - tile[y - 1][x];
  if (x0 + x - 1 < width && y0 + y - 1 < height) {
    out[(y0 + y - 1) * width + x0 + x - 1] =
        static_cast<unsigned char>(min(abs(across) + abs(down), 255));
  }
}

__global__ void resize(int width, int height, int wide, int high, const float* in, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= wide || y >= high) return;
  const float fx = x * float(width - 1) / (wide - 1), fy = y * float(height - 1) / (high - 1);
  const int x0 = min(int(fx), width - 2), y0 = min(int(fy), height - 2);
  const float a = in[y0 * width + x0];
  const float b = in[y0 * width + x0 + 1];
  const float c = in[(y0 + 1) * width + x0];
  const float d = in[(y0 + 1) * width + x0 + 1];
  const float top = a + (fx - x0) * (b - a), bottom = c + (fx - x0) * (d - c);
  out[y * wide + x] = top + (fy - y0) * (bottom - top);
}

__global__ void rotate_quarter(int width, int height, const uchar4* in, uchar4* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[x * height + height - 1 - y] = in[y * width + x];
}

__global__ void flip(int width, int height, uchar3* picture) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= width / 2 || y >= height) return;
  const uchar3 left = picture[y * width + x];
  const uchar3 right = picture[y * width + width - 1 - x];
  picture[y * width + x] = right;
  picture[y * width + width - 1 - x] = left;
}

__global__ void largest_of_four(int width, int height, const float* in, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width / 2 || y >= height / 2) return;
  float most = -1e30f;
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) most = fmaxf(most, in[(2 * y + dy) * width + 2 * x + dx]);
  }
  out[y * (width / 2) + x] = most;
}

__global__ void pixels_to_planes(int pixels, int channels, const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels * channels) return;
  out[i % channels * pixels + i / channels] = in[i];
}

__global__ void columns_of_patches(int side, int patch, const float* in, float* out) {
  const int inner = side - patch + 1;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= inner * inner) return;
  const int x = i % inner, y = i / inner;
  for (int k = 0; k < patch * patch; ++k) {
    out[k * inner * inner + i] = in[(y + k / patch) * side + x + k % patch];
  }
}

__global__ void next_generation(int side, const unsigned char* now, unsigned char* next) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= side || y >= side) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0) continue;
      alive += now[(y + dy + side) % side * side + (x + dx + side) % side];
    }
  }
  next[y * side + x] = alive == 3 || (alive == 2 && now[y * side + x]);
}

int main() {
  const float line[7] = {1, 2, 3, 4, 3, 2, 1};
  const float square[25] = {1, 2, 3, 2, 1, 2, 4, 6, 4, 2, 3, 6, 9, 6, 3, 2, 4, 6, 4, 2, 1, 2, 3, 2, 1};
  must(cudaMemcpyToSymbol(weights, line, sizeof line));
  must(cudaMemcpyToSymbol(square_weights, square, sizeof square));
  const int width = 75, height = 50, pixels = width * height;
  const dim3 grid(5, 4), block(16, 16);
  const auto result = [=] { return zeros<float>(pixels); };
  float* const in = floats(pixels);
  const auto byte = [](unsigned i) { return (unsigned char)(mixed(i)); };
  stencil_line<<<30, 128>>>(pixels, in, result());
  diffuse<<<grid, block>>>(width, height, in, result());
  diffuse_tiled<<<grid, block>>>(width, height, in, result());
  stencil_space<<<dim3(1, 5), dim3(32, 4)>>>(20, floats(8000), zeros<float>(8000));
  filter_square<<<grid, block>>>(width, height, in, result());
  filter_columns<<<dim3(5, 2), dim3(16, 8)>>>(width, height, in, result());
  edges<<<dim3(3, 7), dim3(32, 8)>>>(width, height, filled<unsigned char>(pixels, byte),
                                     zeros<unsigned char>(pixels));
  resize<<<dim3(7, 7), block>>>(width, height, 100, 100, in, zeros<float>(10000));
  const auto pixel = [](unsigned i) { return make_uchar4(i, i, i, i); };
  rotate_quarter<<<grid, block>>>(width, height, filled<uchar4>(pixels, pixel),
                                  zeros<uchar4>(pixels));
  flip<<<dim3(2, height), 32>>>(
      width, height, filled<uchar3>(pixels, [](unsigned i) { return make_uchar3(i, i, i); }));
  largest_of_four<<<dim3(2, 4), dim3(32, 8)>>>(width, height, in, zeros<float>(37 * 25));
  pixels_to_planes<<<12, 256>>>(1000, 3, in, zeros<float>(3000));
  columns_of_patches<<<4, 256>>>(30, 3, floats(900), zeros<float>(9 * 28 * 28));
  next_generation<<<dim3(2, 8), dim3(32, 8)>>>(
      60, filled<unsigned char>(3600, [](unsigned i) { return mixed(i) % 2; }),
      zeros<unsigned char>(3600));
  return finish();
}
