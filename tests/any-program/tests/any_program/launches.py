"""Launches a kernel from each kind of Python function.

The comment `launches K` marks the line that launches the kernel K, and `calls K` the line of the
function that called it. Arguments: what to do besides, and the library of native_launches.c.
"""

import asyncio
import ctypes
import functools
import os
import sys
import threading

KERNELS = [
    "nested", "generator", "coroutine", "thread", "lambda", "comprehension", "method", "key",
    "callback", "gil", "native", "native_thread", "recursion", "lines", "latin", "wide", "text",
    "renewed", "module",
]

cuda = ctypes.CDLL("libcuda.so.1")
cuda_with_gil = ctypes.PyDLL("libcuda.so.1")
native = ctypes.CDLL(sys.argv[2])
launch = {}


def check(status):
    if status:
        sys.exit(f"CUDA error {status}")


def start():
    device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    entries = "\n".join(f".visible .entry {name}() {{ ret; }}" for name in KERNELS)
    code = f".version 7.0\n.target sm_50\n.address_size 64\n{entries}\n"
    check(cuda.cuModuleLoadData(ctypes.byref(module), code.encode()))
    shape = (1, 1, 1, 1, 1, 1, 0, None, None, None)
    for name in KERNELS:
        kernel = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, name.encode()))
        driver = cuda_with_gil if name == "gil" else cuda
        launch[name] = functools.partial(driver.cuLaunchKernel, kernel, *shape)
    return context, launch["native"].args[0], launch["native_thread"].args[0]


def nested():
    def inner():
        launch["nested"]()  # launches nested

    inner()  # calls nested


def generator():
    def numbers():
        yield 1
        launch["generator"]()  # launches generator
        yield 2

    for _ in numbers():  # calls generator
        pass


async def coroutine():
    async def inner():
        await asyncio.sleep(0)
        launch["coroutine"]()  # launches coroutine

    await inner()  # calls coroutine


def in_thread(context):
    check(cuda.cuCtxSetCurrent(context))
    launch["thread"]()  # launches thread


def with_lambda():
    function = lambda: launch["lambda"]()  # launches lambda
    function()  # calls lambda


def comprehension():
    return [launch["comprehension"]() for _ in range(2)]  # launches comprehension


class Model:
    @classmethod
    def method(cls):
        launch["method"]()  # launches method

    def __call__(self):
        self.method()  # calls method


def with_key():
    def key(number):
        launch["key"]()  # launches key
        return number

    sorted([1, 2], key=key)  # calls key


def with_callback():
    def called():
        launch["callback"]()  # launches callback

    native.call(ctypes.CFUNCTYPE(None)(called))  # calls callback


def with_gil():
    launch["gil"]()  # launches gil


def recursion(depth):
    if depth:
        recursion(depth - 1)
    else:
        launch["recursion"]()  # launches recursion


def lines():
    for number in range(2):
        (
            launch[  # launches lines
                "lines"
            ]()
            if number
            else max(
                1,
                2,
            )
        )


def größe():
    launch["latin"]()  # launches latin


class 名𐐀:
    def 呼(self):
        launch["wide"]()  # launches wide


def renewed():
    """Code objects that begin at the same line and are freed at once."""
    for at in range(4):
        code = ["def made():", " 0", " 0", " 0", " 0"]
        code[1 + at] = " launch()"
        names = {"launch": launch["renewed"]}
        exec("\n".join(code), names)
        names["made"]()  # calls renewed


def main():
    other = sys.argv[1]
    if other == "fork" and os.fork() == 0:
        other = "child"
    context, native_kernel, thread_kernel = start()
    nested()
    generator()
    asyncio.run(coroutine())
    thread = threading.Thread(target=in_thread, args=(context,))
    thread.start()
    thread.join()
    with_lambda()
    comprehension()
    Model()()
    with_key()
    with_callback()
    with_gil()
    native["_ZN3app6launch17h0123456789abcdefE"](cuda.cuLaunchKernel, native_kernel)  # calls native
    native.launch_on_thread(cuda.cuLaunchKernel, cuda.cuCtxSetCurrent, context, thread_kernel)
    recursion(200)
    lines()
    größe()
    名𐐀().呼()
    exec("\n\nlaunch()", {"launch": launch["text"]})  # calls text
    renewed()
    check(cuda.cuCtxSynchronize())
    if other == "fork":
        os.wait()
    print("done")


main()  # calls main
launch["module"]()  # launches module
check(cuda.cuCtxSynchronize())
