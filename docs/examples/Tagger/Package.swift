// swift-tools-version: 6.3
import PackageDescription

// A package of a user. Outside of this repository its dependency is
//   .package(url: "https://…/dibit", from: "…")
let package = Package(
  name: "Tagger",
  dependencies: [.package(name: "dibit", path: "../../..")],
  targets: [.executableTarget(name: "Tagger", dependencies: [.product(name: "Dibit", package: "dibit")])],
  swiftLanguageModes: [.v6]
)
