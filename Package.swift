// swift-tools-version: 6.3
import PackageDescription

/// One set of rules for every target: Swift 6 concurrency, strict memory safety, warnings are errors.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// `DibitTensor` vends its own spans; clients of such spans need no flag.
let lifetimes: [SwiftSetting] = strict + [.enableExperimentalFeature("Lifetimes")]

/// Kernels are optimised in every build and never contract `a * b + c`: the same source must give the same bits on every ISA.
let kernelFlags: [CSetting] = [.unsafeFlags(["-O3", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Werror"])]

func layer(_ name: String, _ dependencies: [Target.Dependency] = [], settings: [SwiftSetting] = strict) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
  name: "dibit",
  targets: [
    layer("DibitJSON"),
    tests("DibitJSONTests", ["DibitJSON"]),
    layer("DibitDigest"),
    tests("DibitDigestTests", ["DibitDigest"]),
    layer("DibitTensor", settings: lifetimes),
    tests("DibitTensorTests", ["DibitTensor"]),
    layer("DibitTokenizer", ["DibitJSON"]),
    tests("DibitTokenizerTests", ["DibitTokenizer", "DibitJSON"]),
    layer("DibitDataset", ["DibitTensor", "DibitDigest"]),
    tests("DibitDatasetTests", ["DibitDataset"]),
    layer("DibitCheckpoint", ["DibitTensor", "DibitJSON", "DibitDigest"]),
    tests("DibitCheckpointTests", ["DibitCheckpoint", "DibitTensor"]),
  ],
  swiftLanguageModes: [.v6]
)
