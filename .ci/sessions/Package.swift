// swift-tools-version: 6.2
import PackageDescription

// Many sessions, four at a time, for sanitizers and for memory:
//   DIBIT_MODEL=recipes/base/model swift run -c release --sanitize address --package-path .ci/sessions --scratch-path .build-sessions sessions 1000
let package = Package(
  name: "sessions",
  dependencies: [.package(name: "dibit", path: "../..")],
  targets: [.executableTarget(name: "sessions", dependencies: [.product(name: "FoundationModels", package: "dibit")])]
)
