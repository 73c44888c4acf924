import DibitFiles

/// The parser that this process fuzzes, by the name in `DIBIT_FUZZ_TARGET`.
private let target: FuzzTarget = {
  let name = environment("DIBIT_FUZZ_TARGET") ?? ""
  guard let target = FuzzTarget(rawValue: name) else {
    StandardError.write(
      "DIBIT_FUZZ_TARGET: one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")) expected, '\(name)' found\n")
    exitNow(64)
  }
  return target
}()

/// libFuzzer calls this once. With `DIBIT_FUZZ_SEEDS` the target's seeds are written into that directory, and nothing else is done.
@_cdecl("LLVMFuzzerInitialize")
package func fuzzInitialize(
  _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
  if let directory = environment("DIBIT_FUZZ_SEEDS") {
    FuzzSeeds.write(target, into: directory)
    exitNow(0)
  }
  return 0
}

/// libFuzzer's entry point: any bytes may throw, none may trap, hang or take memory out of proportion.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzzOne(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  target.run(Array(UnsafeBufferPointer(start: data, count: count)))
  return 0
}
