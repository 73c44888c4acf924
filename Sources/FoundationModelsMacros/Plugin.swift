#if FoundationModelsMacros
  internal import SwiftCompilerPlugin
  internal import SwiftSyntaxMacros

  /// The program that the compiler runs to expand `@Generable`, `@Guide` and `@SessionPropertyEntry`.
  @main
  struct Plugin: CompilerPlugin {
    /// The macros of the plugin.
    let providingMacros: [any Macro.Type] = [
      GenerableMacro.self, GuideMacro.self, SessionPropertyEntryMacro.self, SessionPropertyEntryDefaultValueMacro.self,
    ]
  }
#else
  internal import Foundation

  /// The program of a build without macros, where the library declares none and the compiler never starts it.
  @main
  struct Plugin {
    /// Tells whoever starts it that it expands nothing.
    static func main() {
      FileHandle.standardError.write(Data("FoundationModelsMacros: built without the package trait of this name, expands no macro\n".utf8))
      exit(EXIT_FAILURE)
    }
  }
#endif
