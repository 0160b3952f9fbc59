#!/bin/sh
# Runs a command, such as `cargo build --release`, where no CUDA toolkit is installed: with nvcc and
# the CUDA libraries from NVIDIA's wheels on PyPI (1.2 GB under target/cuda, fetched once), and
# without candle's quantized kernels, which take most of the build and are not used here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cuda=$here/target/cuda
root=$cuda/nvidia/cu13

if [ ! -e "$cuda/complete" ]; then
    rm -rf "$cuda"
    python3 -m pip install --quiet --no-deps --target "$cuda" \
        nvidia-cuda-nvcc==13.0.* nvidia-cuda-crt==13.0.* nvidia-nvvm==13.0.* \
        nvidia-cuda-runtime==13.0.* nvidia-cuda-cccl==13.0.* nvidia-cuda-nvrtc==13.0.* \
        nvidia-cuda-cupti==13.0.* nvidia-cublas==13.0.* nvidia-curand==10.4.0.*
    # The linker looks for names without versions.
    for library in "$root"/lib/*.so.*; do
        ln -sf "${library##*/}" "${library%%.so.*}.so"
    done
    # libcuda is part of the driver. The linker needs only the names of its functions; like
    # NVIDIA's own stub, each returns CUDA_ERROR_STUB_LIBRARY.
    mkdir "$root/lib/stubs"
    grep -oE '\bcu[A-Z][A-Za-z0-9_]*' "$root/include/cuda.h" | sort -u |
        sed 's/.*/int &(void) { return 34; }/' |
        cc -x c -shared -w -Wl,-soname,libcuda.so.1 -o "$root/lib/stubs/libcuda.so" -
    # An nvcc that compiles an empty file in place of the quantized kernels.
    mkdir "$cuda/bin"
    : > "$cuda/bin/empty.cu"
    cat > "$cuda/bin/nvcc" <<'NVCC'
#!/bin/sh
bin=$(cd "$(dirname "$0")" && pwd)
for argument; do
    shift
    case $argument in
        */moe/*.cu | */mmq_gguf/*.cu | */mmvq_gguf.cu) argument=$bin/empty.cu ;;
    esac
    set -- "$@" "$argument"
done
exec "$bin/../nvidia/cu13/bin/nvcc" "$@"
NVCC
    chmod +x "$cuda/bin/nvcc"
    : > "$cuda/complete"
fi

export CUDA_HOME="$root" NVCC="$cuda/bin/nvcc" PATH="$cuda/bin:$PATH"
# nvcc cannot ask for the compute capability where there is no GPU: 90 is the H100's and H200's.
export CUDA_COMPUTE_CAP="${CUDA_COMPUTE_CAP:-90}"
export LD_LIBRARY_PATH="$root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$@"
