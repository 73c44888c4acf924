import DibitFailure
@testable import DibitFiles
import Glibc
import DibitTestSupport
import Testing

/// Outputs that would destroy an input, under every name that a path can have.
@Suite struct JobInputsTests {
  private let scratch = Scratch()

  private func relation(_ output: String, _ inputs: JobInputs, folder: Bool = false) -> OutputRelation? {
    let fault = error { () throws(FileError) in
      if folder { try inputs.check(folder: output) } else { try inputs.check(output: output) }
    }
    guard case .outputOverInput(output, _, let relation) = fault else {
      #expect(fault == nil)
      return nil
    }
    return relation
  }

  @Test("links, dots and slashes hide nothing")
  func spellings() throws {
    let model = try scratch.directory("model")
    let file = try scratch.write("x", to: "model/file")
    #expect(unsafe symlink("model", scratch("link")) == 0)
    #expect(unsafe symlink("model/file", scratch("filelink")) == 0)
    #expect(SystemCall.link(file, scratch("hard")) == 0)
    let inputs = JobInputs([model])
    for same in [model, model + "/", model + "//", scratch("link"), scratch("link/"), scratch("./model"), scratch("model/../model")] {
      #expect(relation(same, inputs) == .same, "\(same)")
      #expect(relation(model, JobInputs([same])) == .same, "\(same)")
      #expect(relation(same, inputs, folder: true) == .same, "\(same)")
    }
    for inside in [file, scratch("link/new"), scratch("model/../model/new"), scratch("filelink")] {
      #expect(relation(inside, inputs) == .inside, "\(inside)")
    }
    for same in [file, scratch("hard"), scratch("filelink"), scratch("link/file")] {
      #expect(relation(same, JobInputs([file])) == .same, "\(same)")
      #expect(relation(file, JobInputs([same])) == .same, "\(same)")
    }
    try scratch.directory("model/a")
    try scratch.directory("model/a/b")
    for deep in ["model/a/b", "model/a/b/new", "link/a"] { #expect(relation(scratch(deep), inputs) == .inside, "\(deep)") }
    for deep in ["model/a/b", "model/file", "link/a", "filelink"] {
      #expect(relation(model, JobInputs([scratch(deep)])) == .around, "\(deep)")
      #expect(relation(scratch("link"), JobInputs([scratch(deep)])) == .around, "\(deep)")
    }
  }

  @Test("what lies beside an input, and what is not there, is no matter")
  func harmless() throws {
    let model = try scratch.directory("model")
    for output in ["model2", "out", "no/such", "mode"] { #expect(relation(scratch(output), JobInputs([model, nil])) == nil, "\(output)") }
    // Two outputs of one name, of which neither is there yet.
    #expect(relation(scratch("gone"), JobInputs([scratch("model/../gone")])) == .same)
    #expect(relation(scratch("gone"), JobInputs([scratch("model/gone")])) == nil)
    // A folder gets new files: what it holds stays.
    #expect(relation(scratch.path, JobInputs([model]), folder: true) == nil)
    // A job that leaves its own output out may have it among what it reads, but not in the place of it.
    let searched = JobInputs([], searched: [model])
    #expect(relation(scratch("model/out.csv"), searched) == nil)
    #expect(relation(model, searched) == .same)
    #expect(relation(scratch.path, searched) == .around)
  }

  @Test("a file without the mark is not replaced, an empty one is")
  func marks() throws {
    let mark = OutputMark("a report", text: "dibit evaluate")
    func replace(_ text: String) throws -> FileError? {
      SystemCall.unlink(scratch("page"))
      let path = try scratch.write(text, to: "page")
      let fault = error { () throws(FileError) in try writeFileAtomically(path: path, bytes: [1], replacing: mark, inputs: .none) }
      #expect(try readFile(path, limit: 1 << 20) == (fault == nil ? [1] : Array(text.utf8)))
      return fault
    }
    #expect(try replace("<html>dibit evaluate") == nil)
    #expect(try replace("") == nil)
    let refusal = try replace("dear dibit evaluat")
    #expect(
      refusal?.description
        == "'\(scratch("page"))': will not be overwritten, because it is not a report that dibit wrote; remove it by hand or choose another name"
    )
    #expect(refusal?.kind == .cannotCreate)
    #expect(try replace("x") != nil)
  }
}
