@testable import DibitInference
import DibitTensor
import Testing

@Suite struct RowAllocatorTests {
  @Test("slots never overlap and all come back", arguments: 0..<20)
  func random(seed: UInt64) {
    var rng = SplitMix64(seed: seed)
    var allocator = RowAllocator(10..<210)
    var taken: [Range<Int>] = []
    for _ in 0..<2_000 {
      if rng.below(2) == 0, !taken.isEmpty {
        allocator.release(taken.remove(at: rng.below(taken.count)))
      } else {
        let count = 1 + rng.below(40)
        let before = allocator.free
        guard let slot = allocator.allocate(count) else {
          #expect(before.allSatisfy { $0.count < count })
          continue
        }
        #expect(slot.count == count && slot.lowerBound >= 10 && slot.upperBound <= 210)
        #expect(taken.allSatisfy { !$0.overlaps(slot) })
        taken.append(slot)
      }
      #expect(allocator.free.reduce(0) { $0 + $1.count } + taken.reduce(0) { $0 + $1.count } == 200)
      #expect(zip(allocator.free, allocator.free.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
    }
    for slot in taken { allocator.release(slot) }
    #expect(allocator.free == [10..<210])
  }
}
