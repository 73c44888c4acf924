internal import DibitFailure
internal import DibitCheckpoint
package import DibitFiles
internal import DibitTensor

/// The losses and rates of a run as TensorBoard reads them: a file of records that each hold an `Event` of Protocol Buffers.
///
/// A run that is taken up again gets another file, which says that earlier steps from there on do not count any more.
package struct TensorBoardLog: ~Copyable {
  private var file: JournalFile
  private var pending: [UInt8] = []
  private var lastFlush = ContinuousClock.now

  /// Creates a file in `directory`, which is made where it is missing and must not lie in one of the job's inputs.
  package init(directory: String, inputs: JobInputs) throws(TrainingError) {
    do throws(FileError) {
      try makeDirectory(directory, inputs: inputs)
      let time = WallClock.now
      // TensorBoard wants `tfevents` in the name, and reads the files in the order of their names.
      let name = "events.out.tfevents.\(Int(time)).dibit.\(Int(time * 1e6) % 1_000_000)"
      file = try JournalFile(path: directory + "/" + name, inputs: inputs)
    } catch { throw .file(error) }
    add(ProtobufMessage().double(1, WallClock.now).string(3, "brain.Event:2"))
  }

  /// Adds what is a scalar of an event.
  package mutating func add(_ event: TrainingEvent) throws(TrainingError) {
    let time = event.measured.time
    switch event.kind {
    case .start(let start):
      // SessionLog START: what other files say of this step and later ones is void.
      add(ProtobufMessage().double(1, time).int(2, start.step + 1).message(7, ProtobufMessage().int(1, 1)))
    case .step(let step):
      addScalars(
        step.step, time,
        [
          ("loss/train", step.loss), ("loss/train_content", step.contentLoss), ("learning_rate", step.learningRate),
          ("gradient_norm", step.gradientNorm), ("tokens_per_second", Float(event.measured.tokensPerSecond)),
        ])
    case .validation(let validation):
      addScalars(
        validation.step, time, [("loss/validation", validation.loss), ("loss/validation_content", validation.contentLoss)])
    case .checkpoint, .end: try flush()
    }
    if pending.count > 32_768 || ContinuousClock.now - lastFlush > .seconds(1) { try flush() }
  }

  private mutating func addScalars(_ step: Int, _ time: Double, _ values: [(tag: String, value: Float)]) {
    var summary = ProtobufMessage()
    for (tag, value) in values { summary = summary.message(1, ProtobufMessage().string(1, tag).float(2, value)) }
    add(ProtobufMessage().double(1, time).int(2, step).message(5, summary))
  }

  /// One record: length, its checksum, data, their checksum.
  private mutating func add(_ event: ProtobufMessage) {
    let length = UInt64(event.bytes.count).littleEndianBytes
    pending += length + CRC32C.masked(length).littleEndianBytes + event.bytes + CRC32C.masked(event.bytes).littleEndianBytes
  }

  /// Writes what is left.
  package mutating func flush() throws(TrainingError) {
    lastFlush = .now
    let bytes = pending
    try rethrow(as: TrainingError.file, file.append(bytes.span))
    pending.removeAll(keepingCapacity: true)
  }
}

/// A message of Protocol Buffers under construction.
private struct ProtobufMessage {
  private(set) var bytes: [UInt8] = []

  func int(_ field: Int, _ value: Int) -> ProtobufMessage { adding(field, 0, Self.varint(UInt64(bitPattern: Int64(value)))) }

  func double(_ field: Int, _ value: Double) -> ProtobufMessage { adding(field, 1, value.bitPattern.littleEndianBytes) }

  func float(_ field: Int, _ value: Float) -> ProtobufMessage { adding(field, 5, value.bitPattern.littleEndianBytes) }

  func string(_ field: Int, _ value: String) -> ProtobufMessage {
    adding(field, 2, Self.varint(UInt64(value.utf8.count)) + Array(value.utf8))
  }

  func message(_ field: Int, _ value: ProtobufMessage) -> ProtobufMessage {
    adding(field, 2, Self.varint(UInt64(value.bytes.count)) + value.bytes)
  }

  private func adding(_ field: Int, _ wire: Int, _ value: [UInt8]) -> ProtobufMessage {
    var result = self
    result.bytes += Self.varint(UInt64(field << 3 | wire)) + value
    return result
  }

  private static func varint(_ value: UInt64) -> [UInt8] {
    var (rest, bytes) = (value, [UInt8]())
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }
}

/// The checksum of RFC 3720, appendix B.4, as records of TensorFlow use it.
enum CRC32C {
  /// The remainder of each byte, for the polynomial 0x1EDC6F41 with its bits reversed.
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? rest >> 1 ^ 0x82F6_3B78 : rest >> 1 }
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { rest, byte in rest >> 8 ^ table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] }
  }

  /// Rotated and shifted, so that the checksum of data with checksums in it stays a good one.
  static func masked(_ bytes: [UInt8]) -> UInt32 {
    let crc = of(bytes)
    return (crc >> 15 | crc << 17) &+ 0xA282_EAD8
  }
}
