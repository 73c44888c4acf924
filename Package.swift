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
let kernelFlags: [CSetting] = [.unsafeFlags(["-O3", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-Wno-psabi"])]

func layer(_ name: String, _ dependencies: [Target.Dependency] = [], settings: [SwiftSetting] = strict) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
  name: "dibit",
  traits: [
    .default(enabledTraits: ["OpenBLAS", "HDF5"]),
    .trait(name: "OpenBLAS", description: "Matrix products through libopenblas, loaded when the program runs; off: Dibit's own kernels."),
    .trait(name: "HDF5", description: "Reads HDF5 checkpoints through libhdf5."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-numerics", from: "1.1.1"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  ],
  targets: [
    .target(name: "CDibitKernels", cSettings: kernelFlags),
    .target(name: "COpenBLAS", cSettings: kernelFlags),
    layer("DibitKernels", ["DibitTensor", "CDibitKernels", .target(name: "COpenBLAS", condition: .when(traits: ["OpenBLAS"]))]),
    tests("DibitKernelsTests", ["DibitKernels", "DibitTensor", "DibitTestSupport"]),
    .target(
      name: "DibitTestSupport",
      dependencies: ["DibitTensor", .product(name: "ComplexModule", package: "swift-numerics"), .product(name: "RealModule", package: "swift-numerics")],
      path: "Tests/DibitTestSupport", swiftSettings: strict),
    layer("DibitModel", ["DibitTensor", "DibitKernels", "DibitJSON", .product(name: "BasicContainers", package: "swift-collections")]),
    tests("DibitModelTests", ["DibitModel", "DibitKernels", "DibitTensor", "DibitJSON", "DibitTestSupport"]),
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
