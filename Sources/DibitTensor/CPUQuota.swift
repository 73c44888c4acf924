/// The CPU time that control groups grant to this process, for version 1 (`cpu.cfs_quota_us`) and version 2 (`cpu.max`).
///
/// A container with a quota of 1.5 CPUs on a machine with 64 may run 64 threads, but is halted for most of each period if it does.
package enum CPUQuota {
  /// The smallest quota of the process's group and the groups around it, rounded up to whole threads; nil when there is none.
  ///
  /// `read` gives the text of a file.
  package static func threads(read: (_ path: String) -> String?) -> Int? {
    guard let groups = read("/proc/self/cgroup"), let mounts = read("/proc/self/mountinfo") else { return nil }
    let quotas = mounts.split(separator: "\n").compactMap(Mount.init).flatMap { mount in
      guard let group = mount.group(in: groups) else { return [Int]() }
      return mount.folders(of: group).compactMap { folder in
        mount.isUnified
          ? read("\(folder)/cpu.max").flatMap(unified)
          : read("\(folder)/cpu.cfs_quota_us").flatMap { quota in read("\(folder)/cpu.cfs_period_us").flatMap { legacy(quota, $0) } }
      }
    }
    return quotas.min()
  }

  /// Whole threads for the text of `cpu.max`: quota and period in microseconds, or "max" for no quota.
  package static func unified(_ text: String) -> Int? {
    let fields = text.split { $0.isWhitespace }
    guard fields.count == 2 else { return nil }
    return threads(Int(fields[0]), Int(fields[1]))
  }

  /// Whole threads for the texts of `cpu.cfs_quota_us` and `cpu.cfs_period_us`; a quota of -1 is none.
  package static func legacy(_ quota: String, _ period: String) -> Int? {
    threads(quota.split { $0.isWhitespace }.first.flatMap { Int($0) }, period.split { $0.isWhitespace }.first.flatMap { Int($0) })
  }

  private static func threads(_ quota: Int?, _ period: Int?) -> Int? {
    guard let quota, let period, quota > 0, period > 0 else { return nil }
    let (whole, rest) = quota.quotientAndRemainder(dividingBy: period)
    return rest > 0 ? whole + 1 : whole  // `whole` is below `Int.max` when there is a rest
  }
}

/// A line of `/proc/self/mountinfo` that mounts a hierarchy of groups with the CPU controller:
/// `35 25 0:30 /docker/1a2b /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu,cpuacct`.
private struct Mount {
  let isUnified: Bool
  /// The group that is seen at `point`.
  let root: [Substring]
  let point: String

  init?(_ line: Substring) {
    let fields = line.split(separator: " ")
    // Optional fields end with a dash; type, source and options of the file system follow.
    guard let dash = fields.dropFirst(6).firstIndex(of: "-"), fields.count > dash + 3 else { return nil }
    switch fields[dash + 1] {
    case "cgroup2": isUnified = true
    case "cgroup" where fields[dash + 3].split(separator: ",").contains("cpu"): isUnified = false
    default: return nil
    }
    root = fields[3].split(separator: "/")
    point = String(fields[4])
  }

  /// The process's group in this hierarchy; `groups` is the text of `/proc/self/cgroup`, with lines such as `4:cpu,cpuacct:/docker/1a2b`.
  func group(in groups: String) -> [Substring]? {
    for line in groups.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      if isUnified ? fields[0] == "0" && fields[1].isEmpty : fields[1].split(separator: ",").contains("cpu") {
        return fields[2].split(separator: "/")
      }
    }
    return nil
  }

  /// The folders of `group` and of the groups around it, as far as they are seen at this mount.
  func folders(of group: [Substring]) -> [String] {
    // A group outside of the mount's root, or of the process's namespace (`..`), leaves the root as the best guess.
    let inside = group.starts(with: root) && !group.contains("..") ? group.dropFirst(root.count) : []
    return (0...inside.count).map { ([point] + inside.prefix($0).map(String.init)).joined(separator: "/") }
  }
}
