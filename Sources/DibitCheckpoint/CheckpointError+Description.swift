extension CheckpointError: CustomStringConvertible {
  /// One sentence: what, where, expected, found, and what to do where that is known.
  package var description: String {
    switch self {
    case .notFound(let path): "\(quoted(path)): no such file or directory"
    case .notAFile(let path, let found): "\(quoted(path)): a regular file expected, \(found) found"
    case .notReadable(let path, let code): "\(quoted(path)): cannot be read: \(systemMessage(code))"
    case .noTensors(let directory, let found):
      "\(quoted(directory)): no file with tensors in this directory (safetensors, GGUF, HDF5, PyTorch or llama2.c); it holds \(listed(found))"
    case .missingShard(let index, let shard):
      "\(quoted(index)): the shard \(quoted(shard)) is not beside the index; download it too"
    case .emptyFile(let path): "\(quoted(path)): the file is empty; make or download it again"
    case .tooLarge(let path, let limit, let found): "\(quoted(path)): at most \(limit) bytes expected, \(found) found"
    case .malformed(let file, let fault): "\(quoted(file)): \(fault)"
    case .gguf(let file, let fault): "\(quoted(file)): \(fault)"
    case .pytorch(let file, let fault): "\(quoted(file)): \(fault)"
    case .llama2c(let file, let fault): "\(quoted(file)): \(fault)"
    case .hdf5(let file, let fault): "\(quoted(file)): \(fault)"
    case .ambiguous(let directory, let candidates):
      "\(quoted(directory)): one file with tensors expected, \(candidates.count) found (\(listed(candidates))); name one of them"
    case .malformedIndex(let file, let reason): "\(quoted(file)): \(reason)"
    case .shardName(let index, let tensor, let shard):
      "\(quoted(index)): tensor \(quoted(tensor)): a file name beside the index expected, \(quoted(shard)) found"
    case .notInShard(let index, let tensor, let shard):
      "\(quoted(index)): tensor \(quoted(tensor)) is not in its shard \(quoted(shard)); download the shards and the index together"
    case .notInIndex(let index, let tensor, let shard):
      "\(quoted(index)): the shard \(quoted(shard)) holds tensor \(quoted(tensor)), which the index does not place there"
    case .unknownTensor(let name, let path): "\(quoted(path)): there is no tensor \(quoted(name))"
    case .shapeMismatch(let tensor, let file, let expected, let found):
      "\(quoted(file)): tensor \(quoted(tensor)): shape \(shown(expected)) expected, \(shown(found)) found"
    case .duplicateTensor(let name, let files):
      "\(quoted(files.last ?? "")): tensor \(quoted(name)) is there twice; the first is in \(quoted(files.first ?? ""))"
    case .unfitView(let tensor, let file, let found, let expected):
      "\(quoted(file)): tensor \(quoted(tensor)): as many elements as \(shown(expected)) expected, shape \(shown(found)) found"
    case .rowsOutside(let tensor, let file, let rows, let count):
      "\(quoted(file)): tensor \(quoted(tensor)): rows \(rows.lowerBound)..<\(rows.upperBound) asked for, \(count) rows found"
    case .outputExists(let path): "\(quoted(path)): the output exists already; choose another name or pass --overwrite"
    case .badOutputName(let path): "\(quoted(path)): the output needs a name of its own"
    case .missingParent(let path, let parent):
      "\(quoted(finalPath(path))): its directory \(quoted(finalPath(parent))) does not exist; create it first"
    case .parentNotADirectory(let path, let parent, let found):
      "\(quoted(finalPath(path))): \(quoted(finalPath(parent))) is \(found), not a directory; choose another place"
    case .notWritable(let path, let code): "\(quoted(finalPath(path))): cannot be created: \(systemMessage(code))"
    case .notReplaceable(let path, let found):
      "\(quoted(path)): will not be overwritten, because it is \(found); remove it by hand or choose another name"
    case .notOurs(let path, let expected):
      "\(quoted(path)): will not be overwritten, because it is not \(expected) that dibit wrote; remove it by hand or choose another name"
    case .outputOverInput(let path, let input, .same): "\(quoted(path)): the output is the input \(quoted(input)); choose another name"
    case .outputOverInput(let path, let input, .inside):
      "\(quoted(path)): the output lies in the input \(quoted(input)); choose a place outside of it"
    case .outputOverInput(let path, let input, .around):
      "\(quoted(path)): the output would replace the input \(quoted(input)), which lies in it; choose another name"
    case .noTemporaryFolder(let path): "TMPDIR is \(quoted(path)), which is no directory: create it, or set TMPDIR to another"
    case .outputInUse(let path, let partial):
      "\(quoted(path)): another job is writing it" + (partial == path ? "" : " (in \(quoted(partial)))")
    case .badDeclaration(let file, let tensor, let reason): "\(quoted(finalPath(file))): cannot hold tensor \(quoted(tensor)): \(reason)"
    case .noSpace(let directory, let needed, let free):
      "\(quoted(directory)): \(needed) bytes are needed there, \(free) are free; make room or choose another place"
    case .fileTooLarge(let directory, let needed, let limit):
      "\(quoted(directory)): a file of \(needed) bytes is needed there, at most \(limit) are allowed (ulimit -f)"
    case .system(let operation, let path, let code): "\(quoted(finalPath(path))): cannot \(operation): \(systemMessage(code))"
    case .wrongByteCount(let file, let tensor, let declared, let given):
      "\(quoted(finalPath(file))): tensor \(quoted(tensor)): \(declared) bytes declared, \(given) bytes given"
    }
  }
}

/// The text in quotes, at most 160 characters of it, with nothing a terminal could take for a command.
package func quoted(_ text: String) -> String {
  var result = "'"
  for (index, scalar) in text.unicodeScalars.enumerated() {
    guard index < 160 else {
      result += "…"
      break
    }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
      result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "'"
}

/// The shape, at most eight dimensions of it.
func shown(_ shape: [Int]) -> String {
  guard shape.count > 8 else { return shape.description }
  return "[" + shape.prefix(8).map(String.init).joined(separator: ", ") + ", …] of \(shape.count) dimensions"
}

/// At most eight of the names.
private func listed(_ names: [String]) -> String {
  guard !names.isEmpty else { return "nothing" }
  return names.prefix(8).map(quoted).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
}
