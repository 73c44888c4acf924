import DibitTensor
import DibitTestSupport
import Testing

@testable import DibitCheckpoint

/// The floats 0, 1, 2, … as a storage called "0".
func ramp(_ count: Int) -> [(key: String, data: [UInt8])] { [(key: "0", data: floatBytes((0..<count).map(Float.init)))] }

/// The file, or its fault.
func torchFile(_ array: [UInt8]) -> Result<PyTorchFile, PyTorchFault> {
  do throws(PyTorchFault) { return .success(try PyTorchFile(bytes(array))) } catch { return .failure(error) }
}

func torchFault(_ array: [UInt8]) -> PyTorchFault? {
  guard case .failure(let fault) = torchFile(array) else { return nil }
  return fault
}

/// The fault of a pickle in an otherwise right archive.
func pickleFault(_ pickle: [UInt8]) -> PickleFault? {
  guard case .pickle(let fault) = torchFault(ZipMaker.torch(pickle).make().bytes) else { return nil }
  return fault
}

extension PyTorchFile {
  /// All rows of a tensor as floats, `step` of them at a time.
  func floats(_ name: String, step: Int = 2) -> [Float]? {
    guard let index = tensors.firstIndex(where: { $0.name == name }) else { return nil }
    let shape = tensors[index].tensor.shape
    let rows = shape.count >= 2 ? shape[0] : 1
    let columns = (shape.count >= 2 ? shape.dropFirst() : shape[...]).reduce(1, *)
    var result: [Float] = []
    for row in stride(from: 0, to: rows, by: step) {
      let end = min(row + step, rows)
      var part = [Float](repeating: .nan, count: (end - row) * columns)
      var span = part.mutableSpan
      readRows(index, rows: row..<end, into: &span)
      result += part
    }
    return result
  }
}
