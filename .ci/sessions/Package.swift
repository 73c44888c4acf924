// swift-tools-version: 6.2
import PackageDescription

// Many sessions, four at a time, for sanitizers and for memory: `.ci/sanitize` builds and runs it.
let package = Package(
  name: "sessions",
  dependencies: [.package(name: "dibit", path: "../..")],
  targets: [.executableTarget(name: "sessions", dependencies: [.product(name: "FoundationModels", package: "dibit")])]
)
