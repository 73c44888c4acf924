// swift-tools-version: 6.3
import PackageDescription

// A package of a user. Outside of this repository its dependency is
//   .package(url: "https://…/dibit", from: "…", traits: [.defaults, "FoundationModelsMacros"])
let package = Package(
  name: "Guide",
  dependencies: [.package(name: "dibit", path: "../../..", traits: [.defaults, "FoundationModelsMacros"])],
  targets: [.executableTarget(name: "Guide", dependencies: [.product(name: "FoundationModels", package: "dibit")])],
  swiftLanguageModes: [.v6]
)
