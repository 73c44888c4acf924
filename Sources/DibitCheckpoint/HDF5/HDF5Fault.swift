internal import DibitFailure
internal import DibitFiles

/// The reasons for which an HDF5 file could not be read. Objects are named by their path within the file, without a leading slash.
package enum HDF5Fault: Error, Equatable, Sendable {
  // Nothing could be read here.
  case notBuilt
  case noLibrary(reason: String)
  case unsuitableLibrary(reason: String)
  case childNotStarted(code: Int32)

  // The file is damaged, or what libhdf5 cannot read.
  case notOpened(reason: String)
  case unreadable(object: String, reason: String)
  case outside(dataset: String, end: Int, fileBytes: Int)
  case shape(dataset: String, rank: Int)
  case sizeOverflow(dataset: String, shape: [Int])
  case badName(String)
  case longName(String, limit: Int)
  case duplicate(String)

  // The file is what nobody needs for tensors, and what attacks are made of.
  case externalLink(String, target: String)
  case userDefinedLink(String, type: Int)
  case externalStorage(dataset: String, target: String)
  case virtualDataset(String)
  case elementType(dataset: String, found: String)
  case filter(dataset: String, number: Int, name: String)
  case chunk(dataset: String, limit: Int, found: Int)
  case inflated(dataset: String, storedBytes: Int, bytes: Int)
  case unallocated(dataset: String, expected: Int, found: Int)
  case tooDeep(String, limit: Int)
  case tooManyLinks(limit: Int)
  case longListing(limit: Int)

  // The process that reads failed.
  case outOfMemory
  case crashed(signal: Int32, doing: String)
  case exited(code: Int32, doing: String)
  case timedOut(seconds: Int, doing: String)
  case garbled(reason: String)
}

extension HDF5Fault {
  /// True where this machine failed, and not the file.
  var isOfTheSystem: Bool {
    switch self {
    case .notBuilt, .noLibrary, .unsuitableLibrary, .childNotStarted: true
    default: false
    }
  }
}

extension HDF5Fault: CustomStringConvertible {
  /// The fault in words, without the name of the file.
  package var description: String {
    switch self {
    case .notBuilt: "this is an HDF5 file, and this build has no HDF5: build with the trait HDF5, or convert the file to safetensors"
    case .noLibrary(let reason):
      "this is an HDF5 file, and libhdf5 cannot be loaded: \(quoted(reason)); install it (Debian: libhdf5-103 or libhdf5-dev)"
    case .unsuitableLibrary(let reason): "the installed libhdf5 is not usable: \(quoted(reason)); version 1.10.5 or later expected"
    case .childNotStarted(let code): "the process that reads HDF5 cannot be started: \(systemMessage(code))"
    case .notOpened(let reason):
      "libhdf5 does not open it (\(quoted(reason))): the file is damaged, cut short or no HDF5 file; download it again"
    case .unreadable(let object, let reason):
      "\(quoted(object)): libhdf5 cannot read it (\(quoted(reason))); the file is damaged: download it again"
    case .outside(let dataset, let end, let fileBytes):
      "dataset \(quoted(dataset)): ends at byte \(end), the file has \(fileBytes); it is cut short: download it again"
    case .shape(let dataset, let rank):
      "dataset \(quoted(dataset)): at most 8 dimensions, a scalar or an array expected, rank \(rank) found"
    case .sizeOverflow(let dataset, let shape):
      "dataset \(quoted(dataset)): shape \(shown(shape)) has more bytes than 63 bits can count"
    case .badName(let name): "dataset \(quoted(name)): a name in UTF-8 expected"
    case .longName(let name, let limit): "\(quoted(name)): a path of at most \(limit) bytes expected"
    case .duplicate(let name): "dataset \(quoted(name)): two datasets have this name"
    case .externalLink(let link, let target):
      "\(quoted(link)) is a link to another file, \(quoted(target)), which is not followed; copy the data into one file"
    case .userDefinedLink(let link, let type): "\(quoted(link)) is a user-defined link (type \(type)), which is not followed"
    case .externalStorage(let dataset, let target):
      "dataset \(quoted(dataset)): its data are in another file, \(quoted(target)), which is not read; copy the data into one file"
    case .virtualDataset(let dataset):
      "dataset \(quoted(dataset)): a virtual dataset, put together from other files, is not read; copy the data into one file"
    case .elementType(let dataset, let found): "dataset \(quoted(dataset)): numbers expected, \(found) found"
    case .filter(let dataset, let number, let name):
      "dataset \(quoted(dataset)): filter \(number) (\(quoted(name))) is not supported; known are deflate, shuffle and fletcher32, once each"
    case .chunk(let dataset, let limit, let found):
      "dataset \(quoted(dataset)): chunks of 1 to \(limit) bytes expected, \(found) or more found"
    case .inflated(let dataset, let stored, let bytes):
      "dataset \(quoted(dataset)): \(stored) stored bytes cannot hold \(bytes) bytes of elements"
    case .unallocated(let dataset, let expected, let found):
      "dataset \(quoted(dataset)): not all of its data are in the file (\(expected) chunks or bytes expected, \(found) found)"
    case .tooDeep(let group, let limit): "\(quoted(group)): groups at most \(limit) deep expected; it may contain itself"
    case .tooManyLinks(let limit): "at most \(limit) links expected"
    case .longListing(let limit): "a list of datasets of at most \(limit) bytes expected"
    case .outOfMemory: "the process that reads HDF5 ran out of the memory it may use"
    case .crashed(let signal, let doing): "libhdf5 crashed \(doing) (signal \(signal)); the file is damaged or made to do harm"
    case .exited(let code, let doing): "the process that reads HDF5 ended \(doing) (code \(code))"
    case .timedOut(let seconds, let doing): "libhdf5 took more than \(seconds) seconds \(doing); the file is damaged or made to do harm"
    case .garbled(let reason): "the process that reads HDF5 gave an answer that makes no sense: \(reason)"
    }
  }
}
