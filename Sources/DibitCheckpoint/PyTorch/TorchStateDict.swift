internal import DibitTensor

/// Finds the named tensors in the value of a pickle.
struct TorchStateDict {
  /// The deepest nesting that is read.
  static let depthLimit = 64
  /// The longest name, in bytes: nested dictionaries could otherwise make names that take more memory than the file.
  static let nameLimit = 512
  /// The keys under which training checkpoints keep the parameters.
  static let parameterKeys = ["state_dict", "model", "model_state_dict", "module"]

  private let heap: PickleHeap
  /// For each object, whether a tensor can be reached from it.
  private let holdsTensors: [Bool]

  /// The tensors of the state dict that `root` is or contains, in the order of the file.
  ///
  /// - Complexity: O(objects), however often they are shared.
  static func tensors(_ heap: PickleHeap, root: Int32) throws(PyTorchFault) -> [(name: String, tensor: TorchTensor)] {
    let found = TorchStateDict(heap: heap, holdsTensors: try reach(heap, from: root))
    return try found.flattened(try found.stateDict(root))
  }

  // MARK: Which dictionary

  /// The dictionary of the parameters: the outermost one, or the only one with tensors under a key that trainers use.
  private func stateDict(_ root: Int32) throws(PyTorchFault) -> Int {
    guard case .dictionary(let outermost) = heap[root] else { throw .notAStateDict(found: heap[root].kind) }
    let pairs = heap.dictionaries[outermost]
    let keys = pairs.map { text($0.key) ?? heap[$0.key].kind }
    guard holdsTensors[Int(root)] else { throw .noTensors(keys: keys) }
    var inner: [(key: String, dictionary: Int)] = []
    var parameters: [String] = []
    for (key, pair) in zip(keys, pairs) where holdsTensors[Int(pair.value)] {
      switch heap[pair.value] {
      case .dictionary(let dictionary) where Self.parameterKeys.contains(key): inner.append((key: key, dictionary: dictionary))
      // States of random generators lie beside the parameters as integers.
      case .tensor(let tensor) where heap.tensors[tensor].dtype.isFloat: parameters.append(key)
      default: break
      }
    }
    guard let chosen = inner.first else { return outermost }
    guard Set(inner.map(\.dictionary)).count == 1, parameters.isEmpty else {
      throw .ambiguous(keys: inner.map(\.key) + parameters)
    }
    return chosen.dictionary
  }

  private func text(_ reference: Int32) -> String? {
    guard case .string(let text) = heap[reference] else { return nil }
    return text
  }

  // MARK: Names

  /// The tensors of a dictionary and of those in it, whose names follow after a full stop.
  private func flattened(_ dictionary: Int) throws(PyTorchFault) -> [(name: String, tensor: TorchTensor)] {
    var result: [(name: String, tensor: TorchTensor)] = []
    var names = Set<[UInt8]>()
    var seen: Set<Int> = [dictionary]
    var open = [(prefix: "", dictionary: dictionary)]
    while let (prefix, dictionary) = open.popLast() {
      for (key, value) in heap.dictionaries[dictionary] {
        let holds = holdsTensors[Int(value)]
        guard let key = text(key) else {
          guard !holds else { throw .key(path: prefix, found: heap[key].kind) }
          continue
        }
        guard holds else {
          try checkPlain(value, key: prefix + key)
          continue
        }
        guard prefix.utf8.count + key.utf8.count <= Self.nameLimit else { throw .longName(key: prefix + key, limit: Self.nameLimit) }
        let name = prefix + key
        switch heap[value] {
        case .tensor(let tensor):
          guard names.insert(Array(name.utf8)).inserted else { throw .duplicateName(name) }
          result.append((name: name, tensor: heap.tensors[tensor]))
        case .dictionary(let inner):
          guard seen.insert(inner).inserted else { throw .sharedDictionary(key: name) }
          open.append((prefix: name + ".", dictionary: inner))
        default: throw .value(key: name, found: heap[value].kind + " that holds tensors")
        }
      }
    }
    return result
  }

  /// Plain values beside the tensors are left out; what could have been meant as a tensor is not.
  private func checkPlain(_ value: Int32, key: @autoclosure () -> String) throws(PyTorchFault) {
    switch heap[value] {
    case .none, .bool, .integer, .longInteger, .float, .string, .bytes, .tuple, .list, .dictionary, .opaque, .global(.dtype),
      .global(.otherDType):
      break
    case .global, .storage, .tensor: throw .value(key: key(), found: heap[value].kind)
    }
  }

  // MARK: Reach

  /// For each object, whether a tensor can be reached from it; only what `root` reaches is looked at, each object once.
  private static func reach(_ heap: PickleHeap, from root: Int32) throws(PyTorchFault) -> [Bool] {
    enum Visit { case none, open, done }
    var visits = [Visit](repeating: .none, count: heap.objects.count)
    var holds = [Bool](repeating: false, count: heap.objects.count)
    var path: [(object: Int32, next: Int)] = [(object: root, next: 0)]
    visits[Int(root)] = .open
    while let (object, next) = path.last {
      guard let child = heap.child(object, next) else {
        if case .tensor = heap[object] { holds[Int(object)] = true }
        visits[Int(object)] = .done
        path.removeLast()
        if let parent = path.last?.object, holds[Int(object)] { holds[Int(parent)] = true }
        continue
      }
      path[path.count - 1].next += 1
      switch visits[Int(child)] {
      case .open: throw .cycle
      case .done: if holds[Int(child)] { holds[Int(object)] = true }
      case .none:
        guard path.count <= depthLimit else { throw .tooDeep(limit: depthLimit) }
        visits[Int(child)] = .open
        path.append((object: child, next: 0))
      }
    }
    return holds
  }
}

extension PickleHeap {
  /// Element `index` of a container, keys and values of dictionaries taking turns; nil after the last one.
  fileprivate func child(_ object: Int32, _ index: Int) -> Int32? {
    switch self[object] {
    case .tuple(let range): index < range.count ? items[range.lowerBound + index] : nil
    case .list(let list): index < lists[list].count ? lists[list][index] : nil
    case .dictionary(let dictionary):
      if index / 2 < dictionaries[dictionary].count {
        index % 2 == 0 ? dictionaries[dictionary][index / 2].key : dictionaries[dictionary][index / 2].value
      } else {
        nil
      }
    default: nil
    }
  }
}
