/// The file formats that tensors are read from.
package enum CheckpointFormat: String, CaseIterable, Sendable {
  case safetensors
  case gguf = "GGUF"
  case hdf5 = "HDF5"
  case pytorch = "PyTorch"
  case llama2c = "llama2.c"
}
