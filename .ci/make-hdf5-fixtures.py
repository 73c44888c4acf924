#!/usr/bin/env python3
"""Writes Tests/Fixtures/hdf5: small HDF5 files, good and bad, for the tests of DibitCheckpoint.

    pip install h5py numpy ml_dtypes
    .ci/make-hdf5-fixtures.py Tests/Fixtures/hdf5

The bytes differ from run to run only in times of modification and in unused memory that libhdf5 writes out.

Element i of a float dataset is i / 4 - 2, of a signed one i - 3, of an unsigned one i, in row-major order.
"""
import os, sys
import h5py, ml_dtypes
import numpy as np

out = sys.argv[1]
os.makedirs(out, exist_ok=True)


def values(shape, dtype="<f4"):
    dtype = np.dtype(dtype)
    i = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
    return (i / 4 - 2 if dtype.kind == "f" else i - 3 if dtype.kind == "i" else i).astype(dtype)


def file(name):
    return h5py.File(os.path.join(out, name + ".h5"), "w")


with file("plain") as f:
    f["a/b/matrix"] = values((6, 4))
    f["a/vector"] = values((5,))
    f["cube"] = values((2, 3, 4))
    f["scalar"] = np.float64(1.5)
    f["empty"] = values((0, 3))
    f["note"] = "a string alone is no tensor"
    f["types/half"] = values((3, 2), "<f2")
    f["types/double"] = values((3, 2), "<f8")
    for kind in ("i", "u"):
        for size in (1, 2, 4, 8):
            f[f"types/{kind}{size * 8}"] = values((3, 2), f"<{kind}{size}")
    f["named type"] = np.dtype("<f4")
    # bfloat16 as Keras writes it: two opaque bytes and the type's name.
    brain = values((3, 2)).astype(ml_dtypes.bfloat16)
    f.create_dataset("types/keras brain", data=brain).attrs["dtype"] = "bfloat16"
    # bfloat16 as a floating-point type of its own: 1 sign bit, 8 of the exponent, 7 of the fraction.
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_size(2)
    kind.set_precision(16) if kind.get_precision() != 16 else None
    space = h5py.h5s.create_simple((3, 2))
    data = h5py.h5d.create(f["types"].id, b"brain", kind, space)
    data.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(brain.view("<u2")), mtype=kind)
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    data = h5py.h5d.create(f.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((2, 2)), compact)
    data.write(h5py.h5s.ALL, h5py.h5s.ALL, values((2, 2)))
    f["soft"] = h5py.SoftLink("/a/vector")

with file("packed") as f:
    shape, chunks = (37, 11), (8, 4)
    f.create_dataset("chunked", data=values(shape), chunks=chunks)
    f.create_dataset("gzip", data=values(shape), chunks=chunks, compression="gzip")
    f.create_dataset("shuffle", data=values(shape), chunks=chunks, compression="gzip", shuffle=True)
    f.create_dataset("all", data=values(shape), chunks=chunks, compression="gzip", shuffle=True, fletcher32=True)
    f.create_dataset("growing", data=values(shape), chunks=chunks, maxshape=(None, 11))

# As much as deflate can shrink: 40 MB in 40 kB, all in one chunk.
with file("zeros") as f:
    f.create_dataset("zeros", data=np.zeros(10_000_000, "<f4"), chunks=(10_000_000,), compression="gzip", compression_opts=9)

with file("big-endian") as f:
    for name in ("f2", "f4", "f8", "i2", "u4", "i8"):
        f.create_dataset(name, data=values((5, 3), ">" + name))
    f.create_dataset("gzip", data=values((5, 3), ">f4"), chunks=(2, 2), compression="gzip")

with file("names") as f:
    f["model.embed_tokens.weight"] = values((4, 2))
    f["model.layers.0.self_attn.q_proj.weight"] = values((2, 2))
    f["model/layers/1/self_attn/q_proj/weight"] = values((2, 2))
    f["übermäßig/重み"] = values((2,))

with file("external-link") as f:
    f["here"] = values((2,))
    f["there"] = h5py.ExternalLink("plain.h5", "/a/vector")
with file("soft-to-external") as f:
    f["first"] = h5py.SoftLink("/second/vector")
    f["second"] = h5py.ExternalLink("plain.h5", "/a")
with file("external-storage") as f:
    f.create_dataset("weights", shape=(4,), dtype="<f4", external=[("/etc/passwd", 0, 16)])
with file("virtual") as f:
    layout = h5py.VirtualLayout(shape=(5,), dtype="<f4")
    layout[:] = h5py.VirtualSource("plain.h5", "a/vector", shape=(5,))
    f.create_virtual_dataset("weights", layout)
with file("shape-bomb") as f:
    f.create_dataset("weights", shape=(1 << 20, 1 << 20), dtype="<f4", chunks=(1 << 10, 1 << 10), compression="gzip")
with file("unwritten") as f:
    f.create_dataset("weights", shape=(1 << 20,), dtype="<f4")
with file("hole") as f:
    f.create_dataset("weights", shape=(16,), dtype="<f4", chunks=(4,))[0:4] = 1
with file("inflated") as f:
    f.create_dataset("weights", shape=(1 << 22,), dtype="<f4", chunks=(1 << 22,), compression="gzip").id.write_direct_chunk((0,), b"x" * 20)
with file("large-chunk") as f:
    f.create_dataset("weights", shape=(1 << 26,), dtype="<f4", chunks=(1 << 26,), compression="gzip").id.write_direct_chunk((0,), b"x" * 20)

with file("compound") as f:
    f["weights"] = np.zeros(3, dtype=[("a", "<f4"), ("b", "<i4")])
with file("sequence") as f:
    f.create_dataset("weights", shape=(2,), dtype=h5py.vlen_dtype(np.float32))[0] = [1, 2]
with file("reference") as f:
    f["a"] = values((2,))
    f.create_dataset("weights", data=f["a"].ref)
with file("boolean") as f:
    f["weights"] = np.array([True, False])
with file("strings") as f:
    f["weights"] = [b"one", b"two"]
with file("opaque") as f:
    f.create_dataset("weights", data=np.arange(4, dtype="<u2").view(ml_dtypes.bfloat16))
with file("nothing") as f:
    f["weights"] = h5py.Empty("<f4")
with file("scale-offset") as f:
    f.create_dataset("weights", data=values((8,), "<i4"), chunks=(4,), scaleoffset=0)
with file("lzf") as f:
    f.create_dataset("weights", data=values((8,)), chunks=(4,), compression="lzf")
with file("rank") as f:
    f["weights"] = values((1,) * 9)

with file("deep") as f:
    f["/".join(f"g{i}" for i in range(20)) + "/weights"] = values((2,))
with file("cycle") as f:
    group = f.create_group("a/b")
    group["up"] = f["a"]
with file("dangling") as f:
    f["link"] = h5py.SoftLink("/nowhere")
with file("long-name") as f:
    f["n" * 600] = values((2,))
with file("bad-name") as f:
    h5py.h5d.create(f.id, b"a\xffb", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((2,))).write(h5py.h5s.ALL, h5py.h5s.ALL, values((2,)))

# A link type that libhdf5 does not know: the type byte of an external link, changed in place.
with file("user-link") as f:
    f["there"] = h5py.ExternalLink("elsewhere.h5", "/marker")
path = os.path.join(out, "user-link.h5")
data = open(path, "rb").read()
message = b"\x01\x08\x40\x05there"  # version, flags, type 64 (external), length and name
assert data.count(message) == 1
open(path, "wb").write(data.replace(message, b"\x01\x08\x41\x05there"))
