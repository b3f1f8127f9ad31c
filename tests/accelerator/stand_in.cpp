// A stand-in for CUDA: a backend of torch whose memory is the host's and whose kernels are those of
// the CPU. What autograd does with a device is torch's own: tensors say "cuda:0", and backward runs
// on the engine's thread for that device. It uses headers that torch does not promise to keep.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

constexpr auto kType = c10::DeviceType::CUDA;
constexpr auto kKey = c10::DispatchKey::CUDA;
const c10::Device kDevice(kType, 0);

// What tests ask for. A wait is a moment at which the host would wait for the device.
std::atomic<int64_t> bytes_in_use{0}, most_bytes{0}, most_allowed{0}, waits{0};
thread_local int kernels_running = 0;
thread_local c10::StreamId current_stream = 0;

struct KernelRuns {
  KernelRuns() { ++kernels_running; }
  ~KernelRuns() { --kernels_running; }
};

void waited() {
  if (!kernels_running) ++waits;
}

// ------------------------------------------------------------------------------------ memory

struct Memory final : c10::Allocator {
  struct Block {
    void* start;
    int64_t bytes;
  };

  static int64_t rounded(size_t bytes) {  // as the caching allocator of CUDA does
    return static_cast<int64_t>((bytes + 511) / 512 * 512);
  }

  static void give_back(void* context) {
    auto* block = static_cast<Block*>(context);
    bytes_in_use -= block->bytes;
    std::free(block->start);
    delete block;
  }

  static void nothing(void*) {}

  c10::DataPtr allocate(size_t wanted) override {
    if (wanted == 0) return {nullptr, nullptr, &nothing, kDevice};
    const int64_t bytes = rounded(wanted);
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        !most_allowed || bytes_in_use + bytes <= most_allowed,
        "CUDA out of memory. Tried to allocate ", bytes, " bytes on the stand-in");
    auto* block = new Block{std::aligned_alloc(512, bytes), bytes};
    bytes_in_use += bytes;
    if (bytes_in_use > most_bytes) most_bytes = bytes_in_use.load();
    return {block->start, block, &give_back, kDevice};
  }

  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

Memory memory;
const bool memory_is_known = (c10::SetAllocator(kType, &memory), true);

// ----------------------------------------------------------------------- device and streams

c10::Stream stream_of(c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, kDevice, id);
}

struct DeviceGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device) const override { return stream_of(current_stream); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream_of(0); }
  c10::Stream getNewStream(c10::Device, int) const override {
    static std::atomic<c10::StreamId> made{0};
    return stream_of(++made);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const auto before = current_stream;
    current_stream = stream.id();
    return stream_of(before);
  }

  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    if (!*event) *event = std::malloc(1);
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { std::free(event); }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeEvent(void*) const override { waited(); }
  void synchronizeStream(const c10::Stream&) const override { waited(); }
  void synchronizeDevice(c10::DeviceIndex) const override { waited(); }
};

const c10::impl::DeviceGuardImplRegistrar guard_is_known(kType, new DeviceGuard());

struct Hooks final : at::CUDAHooksInterface {
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isPinnedPtr(const void*) const override { return false; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex current_device() const override { return 0; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
};

const bool hooks_are_known =
    (at::CUDAHooksRegistry()->Register(
         "CUDAHooks",
         [](at::CUDAHooksArgs) -> std::unique_ptr<at::CUDAHooksInterface> {
           return std::make_unique<Hooks>();
         }),
     true);

// ----------------------------------------------------------------------------------- kernels

using at::Tensor;
using Sizes = c10::IntArrayRef;
using SymSizes = c10::SymIntArrayRef;

Tensor on_host(const Tensor& tensor) {  // the same memory, as a tensor of the CPU
  if (tensor.is_cpu()) return tensor;
  auto alias = at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
  if (tensor.is_conj()) alias._set_conj(true);
  if (tensor.is_neg()) alias._set_neg(true);
  return alias;
}

Tensor empty(
    Sizes size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
    std::optional<c10::Device>, std::optional<bool>, std::optional<c10::MemoryFormat> format) {
  return at::detail::empty_generic(
      size, &memory, c10::DispatchKeySet(kKey), c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(
    Sizes size, Sizes stride, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
    std::optional<c10::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(
      size, stride, &memory, c10::DispatchKeySet(kKey), c10::dtype_or_default(dtype));
}

Tensor& copy_(Tensor& to, const Tensor& from, bool non_blocking) {
  if (to.is_cpu() != from.is_cpu() && (to.is_cpu() || !non_blocking)) waited();
  c10::impl::ExcludeDispatchKeyGuard no_autograd(c10::autograd_dispatch_keyset);
  on_host(to).copy_(on_host(from));
  return to;
}

Tensor copy_from(const Tensor& from, const Tensor& to, bool non_blocking) {
  auto target = to;
  return copy_(target, from, non_blocking);
}

Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
  at::native::resize_(to, from.sizes(), std::nullopt);
  return copy_from(from, to, false);
}

c10::Scalar to_number(const Tensor& tensor) {
  waited();
  return at::native::_local_scalar_dense_cpu(on_host(tensor));
}

const Tensor& resize_(const Tensor& t, SymSizes size, std::optional<c10::MemoryFormat> format) {
  return at::native::resize_(t, C10_AS_INTARRAYREF_SLOW(size), format);
}

Tensor as_strided(
    const Tensor& t, SymSizes size, SymSizes stride, std::optional<c10::SymInt> offset) {
  std::optional<int64_t> start;
  if (offset) start = offset->expect_int();
  return at::native::as_strided_tensorimpl(
      t, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), start);
}

Tensor view(const Tensor& t, SymSizes size) {
  return at::native::view(t, C10_AS_INTARRAYREF_SLOW(size));
}

Tensor reshape_alias(const Tensor& t, SymSizes size, SymSizes stride) {
  return at::native::_reshape_alias(
      t, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

Tensor& set_tensor(Tensor& t, const Tensor& source) { return at::native::set_tensor_(t, source); }

Tensor& set_storage(Tensor& t, at::Storage source) {
  return at::native::set_(t, std::move(source));
}

Tensor& set_part(
    Tensor& t, at::Storage source, c10::SymInt offset, SymSizes size, SymSizes stride) {
  return at::native::set_storage_cpu_(
      t, std::move(source), offset.expect_int(), C10_AS_INTARRAYREF_SLOW(size),
      C10_AS_INTARRAYREF_SLOW(stride));
}

// Every other operation runs on copies on the CPU.
void run_on_copies(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  KernelRuns runs;
  at::native::cpu_fallback(op, stack);
}

// Some run on the memory itself.
void run_on_memory(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  KernelRuns runs;
  for (auto& value : *stack)
    if (value.isTensor() && value.toTensor().defined()) value = on_host(value.toTensor());
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  for (auto& value : *stack)
    if (value.isTensor() && value.toTensor().defined()) {
      const auto& result = value.toTensor();
      auto own = empty_strided(result.sizes(), result.strides(), result.scalar_type(), {}, {}, {});
      on_host(own).copy_(result);
      value = own;
    }
}

}  // namespace

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_copies>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("copy_", copy_);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", to_number);
  m.impl("resize_", resize_);
  m.impl("as_strided", as_strided);
  m.impl("view", view);
  m.impl("_reshape_alias", reshape_alias);
  m.impl("unfold", at::native::unfold);
  m.impl("view_as_real", at::native::view_as_real);
  m.impl("view_as_complex", at::native::view_as_complex);
  m.impl("set_.source_Tensor", set_tensor);
  m.impl("set_.source_Storage", set_storage);
  m.impl("set_.source_Storage_storage_offset", set_part);
  // The first writes to arguments, the others would warn of a result that is resized.
  for (const char* name : {"native_batch_norm", "huber_loss", "mse_loss", "smooth_l1_loss"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_memory>());
}

extern "C" {
int64_t stand_in_waits() { return waits; }
int64_t stand_in_bytes() { return bytes_in_use; }
int64_t stand_in_most_bytes() { return most_bytes; }
void stand_in_forget_most_bytes() { most_bytes = bytes_in_use.load(); }
void stand_in_allow_bytes(int64_t bytes) { most_allowed = bytes; }
void stand_in_wait() { waited(); }
}
