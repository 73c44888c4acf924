internal import DibitFailure

/// A fault in a pickle. Offsets are bytes from the start of the file.
package enum PickleFault: Error, Equatable, Sendable {
  case tooLarge(limit: Int, found: Int)
  case tooManyObjects(offset: Int, limit: Int)
  /// The pickle does not begin with a protocol from 2 to 5.
  case start(offset: Int, found: UInt8)
  case protocolVersion(offset: Int, found: UInt8)
  /// The pickle ends inside an instruction, or without a last one.
  case truncated(offset: Int, expectedBytes: Int, foundBytes: Int)
  /// The instruction is not one that `torch.save` writes.
  case opcode(offset: Int, found: UInt8)
  case stackUnderflow(offset: Int, opcode: UInt8)
  case noMark(offset: Int, opcode: UInt8)
  case operand(offset: Int, opcode: UInt8, expected: String, found: String)
  case text(offset: Int)
  case memoIndex(offset: Int, found: Int, limit: Int)
  case memoEmpty(offset: Int, index: Int)
  /// The pickle names a function or a class that is not data.
  case forbidden(offset: Int, name: String)
  /// A tensor, a storage or a plain object is described wrongly.
  case arguments(offset: Int, name: String, reason: String)
  /// More or less than one value is left at the end.
  case leftOver(offset: Int, count: Int)
  case trailingBytes(offset: Int, found: Int)
}

extension PickleFault: CustomStringConvertible {
  /// The fault in words, without the name of the file.
  package var description: String {
    switch self {
    case .tooLarge(let limit, let found): "the pickle: at most \(limit) bytes expected, \(found) found"
    case .tooManyObjects(let offset, let limit): "pickle at byte \(offset): more than \(limit) objects"
    case .start(let offset, let found): "pickle at byte \(offset): byte 0x80 expected, \(hexadecimal(found)) found; this is no pickle"
    case .protocolVersion(let offset, let found):
      "pickle at byte \(offset): protocol 2 to 5 expected, \(found) found; save it again with a current PyTorch"
    case .truncated(let offset, let expected, let found):
      "pickle at byte \(offset): \(expected) more bytes expected, \(found) found; the file is cut short or damaged; download it again"
    case .opcode(let offset, let found): "pickle at byte \(offset): instruction \(shown(found)) is not one that torch.save writes"
    case .stackUnderflow(let offset, let opcode): "pickle at byte \(offset): instruction \(shown(opcode)) finds no value to work on"
    case .noMark(let offset, let opcode): "pickle at byte \(offset): instruction \(shown(opcode)) finds no mark"
    case .operand(let offset, let opcode, let expected, let found):
      "pickle at byte \(offset): instruction \(shown(opcode)): \(expected) expected, \(found) found"
    case .text(let offset): "pickle at byte \(offset): text is not valid UTF-8"
    case .memoIndex(let offset, let found, let limit):
      "pickle at byte \(offset): memo index below \(limit) expected, \(found) found"
    case .memoEmpty(let offset, let index): "pickle at byte \(offset): nothing is stored under memo index \(index)"
    case .forbidden(let offset, let name) where name.hasPrefix("torch."):
      "pickle at byte \(offset): the file asks to run \(quoted(name)), which is not data; nothing was run; save model.state_dict() with dense "
        + "tensors instead of the model"
    case .forbidden(let offset, let name):
      "pickle at byte \(offset): the file asks to run \(quoted(name)), which is not data; Dibit runs nothing from a file, and nothing "
        + "was run; do not open this file in Python unless you trust whoever made it"
    case .arguments(let offset, let name, let reason): "pickle at byte \(offset): \(quoted(name)): \(reason)"
    case .leftOver(let offset, let count): "pickle at byte \(offset): one value expected at the end, \(count) found"
    case .trailingBytes(let offset, let found): "pickle: its end expected at byte \(offset), \(found) more bytes found"
    }
  }

  private func shown(_ opcode: UInt8) -> String {
    (0x21...0x7E).contains(opcode) ? "'\(Unicode.Scalar(opcode))'" : hexadecimal(opcode)
  }

  private func hexadecimal(_ byte: UInt8) -> String { "0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
}
