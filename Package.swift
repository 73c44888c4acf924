// swift-tools-version: 6.3
import CompilerPluginSupport
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

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

/// Products of swift-syntax, which is neither fetched nor built unless the macros are asked for.
func macroProducts(_ names: [String]) -> [Target.Dependency] {
  names.map { .product(name: $0, package: "swift-syntax", condition: .when(traits: ["FoundationModelsMacros"])) }
}

/// libFuzzer's targets need a toolchain option of their own: `make fuzz` sets this, nothing else builds them.
let fuzzing: [Target] =
  Context.environment["DIBIT_FUZZ"] == nil
  ? []
  : [
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "DibitModelStore", "DibitCheckpoint", "DibitFiles", "DibitModel", "DibitTokenizer", "DibitJinja", "DibitTensor", "DibitJSON",
        "DibitTestSupport",
        "DibitDataset",
      ], path: "Tests/Fuzz",
      swiftSettings: [.unsafeFlags(["-parse-as-library"])])
  ]

/// The example of the library is a package of its own, as a user's is. `.ci/tests` builds it beside the tests, which have compiled all that it needs, with no more of
/// the library in sight than there.
let examples: [Target] =
  Context.environment["DIBIT_EXAMPLES"] == nil
  ? [] : [.executableTarget(name: "Tagger", dependencies: ["Dibit"], path: "docs/examples/Tagger/Sources/Tagger", packageAccess: false)]

/// Tests of a macro are built as tools of the build are, with all that is tested beside them: `make macros` sets this, and tests nothing else.
let testsMacros = Context.environment["DIBIT_MACROS"] != nil
let macroTests: [Target] =
  testsMacros
  ? [
    tests(
      "FoundationModelsMacrosTests",
      ["FoundationModelsMacros"]
        + macroProducts([
          "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros", "SwiftSyntaxMacroExpansion", "SwiftParser", "SwiftDiagnostics",
        ]))
  ] : []

/// `make build` says what the sources are. A number, because only C code takes the value of a definition, and text from C is unsafe.
let build: [CSetting] =
  (Context.environment["DIBIT_COMMIT"].map { [.define("DIBIT_COMMIT", to: "0x" + $0)] } ?? [])
  + (Context.environment["DIBIT_IS_MODIFIED"].map { [.define("DIBIT_IS_MODIFIED", to: $0)] } ?? [])

let package = Package(
  name: "dibit",
  products: [
    .library(name: "Dibit", targets: ["Dibit"]), .library(name: "FoundationModels", targets: ["FoundationModels"]),
    .executable(name: "dibit", targets: ["dibit"]),
  ],
  traits: [
    .default(enabledTraits: ["HDF5", "OpenBLAS"]),
    .trait(name: "HDF5", description: "Checkpoints in HDF5 files through libhdf5, loaded in a child process; off: such files are refused."),
    .trait(name: "OpenBLAS", description: "Matrix products through libopenblas, loaded when the program runs; off: Dibit's own kernels."),
    .trait(
      name: "FoundationModelsMacros",
      description: "@Generable and @Guide of the product FoundationModels, which swift-syntax expands; off: conformances written by hand."),
    .trait(
      name: "FoundationModels27",
      description:
        "Reasoning, attachments and custom segments in transcripts of FoundationModels; off: a switch over the cases of 26 is whole."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-numerics", from: "1.1.1"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/swiftlang/swift-syntax", "602.0.0"..<"604.0.0"),
  ],
  targets: [
    // L0: pure compute.
    .target(name: "CDibitKernels", cSettings: kernelFlags),
    .target(name: "COpenBLAS", cSettings: kernelFlags),
    .target(name: "CHDF5", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
    .target(name: "CDibitBytes", cSettings: kernelFlags),
    .target(name: "CDibitThreads", cSettings: kernelFlags),
    .target(name: "CDibitBuild", cSettings: build),
    .target(name: "CDibitMemory", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
    .target(name: "CDibitOutputs", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
    // L1: leaves.
    layer("DibitFailure"),
    layer("DibitJSON"),
    layer("DibitQuantization"),
    layer("DibitTensor", ["DibitQuantization", "CDibitThreads"], settings: lifetimes),
    layer("DibitFiles", ["DibitFailure", "DibitTensor", "DibitJSON", "CDibitBytes", "CDibitOutputs"]),
    layer(
      "DibitKernels",
      [
        "DibitFailure", "DibitTensor", "DibitQuantization", "CDibitKernels",
        .target(name: "COpenBLAS", condition: .when(traits: ["OpenBLAS"])),
      ]),
    // L2: formats and text.
    layer(
      "DibitCheckpoint",
      [
        "DibitFailure", "DibitFiles", "DibitTensor", "DibitJSON", "CDibitBytes",
        .target(name: "CHDF5", condition: .when(traits: ["HDF5"])),
      ]),
    layer("DibitJinja", ["DibitFailure", "DibitJSON"]),
    layer("DibitTokenizer", ["DibitFailure", "DibitJinja", "DibitJSON"]),
    layer("DibitConstraint", ["DibitFailure", "DibitTokenizer", "DibitJSON"]),
    layer("DibitStatistics", ["DibitTensor", .product(name: "RealModule", package: "swift-numerics")]),
    layer("DibitBaselines", ["DibitTensor", .product(name: "RealModule", package: "swift-numerics")]),
    layer("DibitDataset", ["DibitCheckpoint", "DibitFiles", "DibitFailure", "DibitTokenizer", "DibitJinja", "DibitTensor", "DibitJSON"]),
    // L3: the model, and the directories it is kept in.
    layer(
      "DibitModel",
      ["DibitTensor", "DibitKernels", "DibitQuantization", "DibitJSON", .product(name: "BasicContainers", package: "swift-collections")]),
    layer(
      "DibitModelStore",
      [
        "DibitModel", "DibitQuantization", "DibitCheckpoint", "DibitFiles", "DibitFailure", "DibitTokenizer", "DibitJinja", "DibitTensor",
        "DibitKernels", "DibitJSON",
        .product(name: "BasicContainers", package: "swift-collections"),
      ]),
    layer(
      "DibitCalibration",
      [
        "DibitModel", "DibitQuantization", "DibitFiles", "DibitTensor", "DibitKernels",
        .product(name: "BasicContainers", package: "swift-collections"),
      ]),
    // L4: engines, siblings that never import each other.
    layer(
      "DibitConversion",
      [
        "DibitCalibration", "DibitModelStore", "DibitModel", "DibitQuantization", "DibitCheckpoint", "DibitFiles", "DibitFailure",
        "DibitTokenizer",
        "DibitTensor", "DibitKernels",
        "DibitJSON",
      ]),
    layer(
      "DibitTraining",
      [
        "DibitModel", "DibitQuantization", "DibitDataset", "DibitCheckpoint", "DibitFiles", "DibitFailure", "DibitTensor", "DibitKernels",
        "DibitJSON",
        .product(name: "BasicContainers", package: "swift-collections"),
      ]),
    layer(
      "DibitVerification",
      [
        "DibitFailure",
        "DibitModelStore", "DibitModel", "DibitCheckpoint", "DibitTensor", "DibitKernels", "DibitJSON",
        .product(name: "BasicContainers", package: "swift-collections"),
      ]),
    layer(
      "DibitInference", ["DibitFailure", "DibitModel", "DibitConstraint", "DibitTokenizer", "DibitTensor", "DibitKernels"]),
    // L5: evaluation and its reports, benchmarks and recipes.
    layer("DibitReport", ["DibitFailure", "DibitStatistics", "DibitJSON", .product(name: "RealModule", package: "swift-numerics")]),
    layer(
      "DibitEvaluation",
      [
        "DibitFailure",
        "DibitReport", "DibitBaselines", "DibitStatistics", "DibitFiles", "DibitInference", "DibitConstraint", "DibitDataset",
        "DibitModel", "DibitTokenizer", "DibitKernels",
        "DibitJSON", "DibitTensor",
      ]),
    layer(
      "DibitBenchmark",
      [
        "DibitFailure",
        "DibitInference", "DibitTraining", "DibitModelStore", "DibitModel", "DibitQuantization", "DibitCheckpoint", "DibitFiles",
        "DibitTensor",
        "DibitKernels",
        "DibitJSON",
      ]),
    layer("DibitRecipe", ["DibitFailure", .product(name: "Yams", package: "Yams")]),
    // L6: the library, the only target with public declarations.
    layer(
      "Dibit",
      [
        "DibitConversion", "DibitCalibration", "DibitTraining", "DibitInference", "DibitEvaluation", "DibitBaselines", "DibitReport",
        "DibitStatistics", "DibitRecipe", "DibitModelStore", "DibitModel", "DibitTensor", "DibitFiles", "DibitFailure",
        "DibitQuantization", "DibitCheckpoint", "DibitConstraint", "DibitTokenizer", "DibitJinja", "DibitDataset", "DibitKernels",
        "DibitJSON",
      ]),
    // L7: Apple's surface over the library.
    .macro(
      name: "FoundationModelsMacros",
      dependencies: macroProducts(["SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros", "SwiftCompilerPlugin", "SwiftDiagnostics"]),
      swiftSettings: strict),
    layer(
      "FoundationModels",
      ["Dibit", "DibitJSON", .target(name: "FoundationModelsMacros", condition: .when(traits: ["FoundationModelsMacros"]))]),
    // L7: the command line, a client of the library, and the only target that prints.
    layer(
      "DibitCommand",
      [
        "Dibit",
        "DibitConversion", "DibitTraining", "DibitInference", "DibitEvaluation", "DibitReport", "DibitBenchmark", "DibitVerification",
        "DibitRecipe", "DibitModelStore", "DibitModel", "DibitQuantization", "DibitCheckpoint", "DibitFiles", "DibitFailure",
        "DibitConstraint", "DibitTokenizer",
        "DibitDataset", "DibitStatistics", "DibitTensor", "DibitKernels", "DibitJSON", "CDibitBuild",
        "CDibitMemory",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .executableTarget(name: "dibit", dependencies: ["DibitCommand"], swiftSettings: strict),
    // Tests.
    .target(
      name: "DibitTestSupport",
      dependencies: [
        "DibitTensor", "DibitQuantization", "DibitCheckpoint", "DibitFiles", "DibitTokenizer", "DibitJSON",
        .product(name: "ComplexModule", package: "swift-numerics"),
        .product(name: "RealModule", package: "swift-numerics"),
      ],
      path: "Tests/DibitTestSupport", swiftSettings: strict),
    .target(name: "CAllocationCount", path: "Tests/CAllocationCount"),
    tests("FoundationModelsTests", ["FoundationModels", "Dibit", "DibitJSON", "DibitTokenizer", "DibitTestSupport"]),
    tests("DibitJSONTests", ["DibitJSON"]),
    tests("DibitTensorTests", ["DibitTensor", "DibitQuantization", "CAllocationCount"]),
    tests(
      "DibitKernelsTests",
      [
        "DibitKernels", "DibitTensor", "DibitQuantization", "DibitTestSupport", .product(name: "RealModule", package: "swift-numerics"),
        .product(name: "ComplexModule", package: "swift-numerics"),
      ]),
    tests("DibitFilesTests", ["DibitFiles", "DibitFailure", "DibitCheckpoint", "DibitTensor", "DibitTestSupport"]),
    tests("DibitCheckpointTests", ["DibitCheckpoint", "DibitFiles", "DibitFailure", "DibitTensor", "DibitTestSupport"]),
    tests("DibitJinjaTests", ["DibitJinja", "DibitJSON"], exclude: ["Goldens"]),
    tests("DibitTokenizerTests", ["DibitTokenizer", "DibitJinja", "DibitJSON"], exclude: ["Goldens"]),
    tests("DibitConstraintTests", ["DibitConstraint", "DibitTokenizer", "DibitJSON"]),
    tests(
      "DibitStatisticsTests", ["DibitStatistics", "DibitTensor", "DibitJSON", .product(name: "RealModule", package: "swift-numerics")]),
    tests("DibitBaselinesTests", ["DibitBaselines", "DibitTensor", "DibitJSON"]),
    tests("DibitDatasetTests", ["DibitFailure", "DibitFiles", "DibitDataset", "DibitTokenizer", "DibitJinja", "DibitTensor", "DibitJSON"]),
    tests(
      "ParityTests",
      [
        "DibitModelStore", "DibitModel", "DibitCheckpoint", "DibitKernels", "DibitTensor", "DibitTestSupport",
        .product(name: "BasicContainers", package: "swift-collections"),
        .product(name: "ComplexModule", package: "swift-numerics"), .product(name: "RealModule", package: "swift-numerics"),
      ]),
    tests("DibitModelTests", ["DibitModel", "DibitKernels", "DibitTensor", "DibitJSON", "DibitTestSupport"]),
    tests(
      "ModelStoreTests",
      [
        "DibitModelStore", "DibitModel", "DibitQuantization", "DibitCheckpoint", "DibitFiles", "DibitTokenizer", "DibitConversion",
        "DibitKernels",
        "DibitTensor", "DibitJSON",
        "DibitTestSupport",
        .product(name: "BasicContainers", package: "swift-collections"),
      ]),
    tests(
      "ConversionTests",
      [
        "DibitFailure",
        "DibitConversion", "DibitCalibration", "DibitModelStore", "DibitModel", "DibitQuantization", "DibitInference", "DibitCheckpoint",
        "DibitFiles",
        "DibitKernels",
        "DibitTensor",
        "DibitJSON", "DibitTestSupport",
        .product(name: "BasicContainers", package: "swift-collections"), .product(name: "RealModule", package: "swift-numerics"),
      ]),
    tests(
      "TrainingTests",
      [
        "DibitTraining", "DibitEvaluation", "DibitInference", "DibitConversion", "DibitModelStore", "DibitModel", "DibitQuantization",
        "DibitDataset", "DibitTokenizer", "DibitStatistics", "CAllocationCount",
        "DibitCheckpoint", "DibitFiles", "DibitKernels", "DibitTensor", "DibitJSON", "DibitTestSupport",
        .product(name: "BasicContainers", package: "swift-collections"),
      ]),
    tests(
      "InferenceTests",
      [
        "Dibit", "DibitConstraint", "DibitInference", "DibitModelStore", "DibitModel", "DibitTokenizer", "DibitKernels", "DibitTensor",
        "DibitQuantization",
        "DibitTestSupport", "CAllocationCount",
        .product(name: "BasicContainers", package: "swift-collections"),
      ]),
    tests(
      "EvaluationTests",
      [
        "DibitEvaluation", "DibitBaselines", "DibitReport", "DibitInference", "DibitDataset", "DibitModelStore", "DibitModel",
        "DibitTokenizer", "DibitStatistics", "DibitKernels", "DibitJSON", "DibitTestSupport",
      ]),
    tests("DibitReportTests", ["DibitReport", "DibitStatistics", "DibitTensor", "DibitJSON"]),
    tests(
      "DibitBenchmarkTests",
      [
        "DibitBenchmark", "DibitModelStore", "DibitModel", "DibitInference", "DibitQuantization", "DibitFiles", "DibitKernels",
        "DibitTokenizer", "DibitTensor", "DibitJSON", "DibitTestSupport",
      ]),
    tests(
      "VerificationTests",
      ["DibitVerification", "DibitModelStore", "DibitCheckpoint", "DibitKernels", "DibitTensor", "DibitJSON", "DibitTestSupport"]),
    tests(
      "MalformedTests",
      [
        "DibitFailure", "DibitModelStore", "DibitKernels", "DibitCheckpoint", "DibitTokenizer", "DibitJinja", "DibitJSON",
        "DibitTestSupport",
      ]),
    tests("RecipeTests", ["DibitRecipe", "DibitTestSupport"]),
    tests("DibitTests", ["Dibit", "DibitJSON", "DibitTestSupport"]),
    tests(
      "CommandTests",
      [
        "DibitReport", "DibitModelStore", "DibitTraining", "DibitFiles", "DibitRecipe", "DibitFailure", "DibitBenchmark", "DibitDataset",
        "dibit", "DibitCommand", "Dibit", "DibitInference", "DibitJSON", "DibitCheckpoint", "DibitTokenizer", "DibitKernels",
        "DibitTensor", "DibitTestSupport",
      ]),
  ] + fuzzing + examples + macroTests,
  swiftLanguageModes: [.v6]
)

if testsMacros { package.targets.removeAll { $0.isTest && !["FoundationModelsMacrosTests", "FoundationModelsTests"].contains($0.name) } }
// Texts of expansions need nothing but the macros: minutes less.
if Context.environment["DIBIT_MACROS"] == "expansions" {
  package.targets.removeAll { !$0.name.hasPrefix("FoundationModelsMacros") }
  package.products = []
}
