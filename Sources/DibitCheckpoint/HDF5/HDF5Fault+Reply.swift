#if HDF5
  internal import CHDF5

  extension HDF5Fault {
    /// The fault that a child reports, or nil when it reports none. Its numbers and texts are only shown.
    init?(_ reply: chdf5_reply, openSeconds: Int) {
      let (name, text) = (Self.text(of: reply.name), Self.text(of: reply.text))
      let (first, second) = (Int(truncatingIfNeeded: reply.first), Int(truncatingIfNeeded: reply.second))
      let (atMost, orMore) = (Int(clamping: reply.first), Int(clamping: reply.second))
      switch Int(reply.code) {
      case Int(CHDF5_OK): return nil
      case Int(CHDF5_NO_LIBRARY): self = .noLibrary(reason: text)
      case Int(CHDF5_OLD_LIBRARY): self = .unsuitableLibrary(reason: text)
      case Int(CHDF5_NOT_OPENED): self = .notOpened(reason: text)
      case Int(CHDF5_UNREADABLE): self = .unreadable(object: name.isEmpty ? "/" : name, reason: text)
      case Int(CHDF5_EXTERNAL_LINK): self = .externalLink(name, target: text)
      case Int(CHDF5_USER_LINK): self = .userDefinedLink(name, type: first)
      case Int(CHDF5_EXTERNAL_STORAGE): self = .externalStorage(dataset: name, target: text)
      case Int(CHDF5_VIRTUAL): self = .virtualDataset(name)
      case Int(CHDF5_TYPE): self = .elementType(dataset: name, found: text)
      case Int(CHDF5_FILTER): self = .filter(dataset: name, number: first, name: text)
      case Int(CHDF5_CHUNK): self = .chunk(dataset: name, limit: atMost, found: orMore)
      case Int(CHDF5_INFLATED): self = .inflated(dataset: name, storedBytes: atMost, bytes: orMore)
      case Int(CHDF5_UNALLOCATED): self = .unallocated(dataset: name, expected: atMost, found: orMore)
      case Int(CHDF5_TOO_DEEP): self = .tooDeep(name, limit: Int(CHDF5_DEPTH))
      case Int(CHDF5_TOO_MANY): self = second == 0 ? .tooManyLinks(limit: atMost) : .longListing(limit: atMost)
      case Int(CHDF5_LONG_NAME): self = .longName(name, limit: Int(CHDF5_NAME_BYTES) - 1)
      case Int(CHDF5_SHAPE): self = .shape(dataset: name, rank: first)
      case Int(CHDF5_OUTSIDE): self = .outside(dataset: name, end: atMost, fileBytes: orMore)
      case Int(CHDF5_NO_MEMORY): self = .outOfMemory
      default: self = .garbled(reason: "the fault \(reply.code)")
      }
    }

    /// The text in a C array of characters, up to its first zero.
    private static func text<Characters>(of characters: Characters) -> String {
      // SAFETY: the tuple is read as its own bytes.
      unsafe withUnsafeBytes(of: characters) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
  }
#endif
