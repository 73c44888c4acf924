import DibitTensor
import Testing

@Suite struct ProcessorsTests {
  @Test func thereIsOneAtLeast() {
    #expect(Processors.available >= 1)
    #expect(Processors.available <= Processors.schedulable)
    #expect(Processors.schedulable <= Processors.affinity().count)
  }

  /// Hardware threads 0 and 2 share a core, 1 and 3 another; 4 is alone.
  @Test func siblingsShareACore() {
    let topology = [
      "/sys/devices/system/cpu/smt/active": "1\n",
      "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0,2\n",
      "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "1,3\n",
      "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "0,2\n",
      "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list": "1,3\n",
      "/sys/devices/system/cpu/cpu4/topology/thread_siblings_list": "4\n",
    ]
    #expect(Processors.physicalCores([0, 1, 2, 3, 4]) { topology[$0] } == 3)
    #expect(Processors.physicalCores([0, 2]) { topology[$0] } == 1)
    #expect(Processors.physicalCores([1, 2]) { topology[$0] } == 2)  // one thread of each core
  }

  @Test func withoutTopologyEveryCPUIsACore() {
    #expect(Processors.physicalCores([0, 1, 5]) { _ in nil } == 3)
    #expect(Processors.physicalCores([0, 1]) { $0.hasSuffix("active") ? "0\n" : "0-1\n" } == 2)  // switched off: the lists do not count
    #expect(Processors.physicalCores([0, 1]) { $0.hasSuffix("active") ? "1\n" : "0-1\n" } == 1)
  }
}

@Suite struct CPUQuotaTests {
  @Test(arguments: [
    ("100000 100000\n", 1), ("150000 100000\n", 2), ("1000 100000", 1), ("400000 100000\n", 4), ("9223372036854775807 1", Int.max),
    ("9223372036854775807 2", 4_611_686_018_427_387_904),
  ])
  func unified(text: String, threads: Int) { #expect(CPUQuota.unified(text) == threads) }

  @Test(arguments: [
    "max 100000\n", "", "\n", "100000", "0 100000", "-1 100000", "100000 0", "1e5 100000", "1 2 3", "99999999999999999999 1",
  ])
  func noUnifiedQuota(text: String) { #expect(CPUQuota.unified(text) == nil) }

  @Test(arguments: [("250000\n", "100000\n", 3), ("50000\n", "50000\n", 1), ("1\n", "1000000\n", 1)])
  func legacy(quota: String, period: String, threads: Int) { #expect(CPUQuota.legacy(quota, period) == threads) }

  @Test(arguments: [("-1\n", "100000\n"), ("0\n", "100000\n"), ("", ""), ("100000\n", "0\n"), ("many\n", "100000\n"), ("100000\n", "\n")])
  func noLegacyQuota(quota: String, period: String) { #expect(CPUQuota.legacy(quota, period) == nil) }

  static let unifiedMount = "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
  static let proc = "22 28 0:20 / /proc rw,nosuid shared:12 - proc proc rw\n"

  static func threads(_ group: String, _ mounts: String, _ files: [String: String]) -> Int? {
    let kernel = ["/proc/self/cgroup": group, "/proc/self/mountinfo": mounts]
    return CPUQuota.threads { kernel[$0] ?? files[$0] }
  }

  @Test func theSmallestQuotaOfAllLevelsCounts() {
    let files = [
      "/sys/fs/cgroup/cpu.max": "800000 100000\n",
      "/sys/fs/cgroup/a/cpu.max": "250000 100000\n",
      "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
      "/sys/fs/cgroup/a/b/c/cpu.max": "100000 100000\n",
      "/sys/fs/cgroup/z/cpu.max": "1000 100000\n",
    ]
    #expect(Self.threads("0::/a/b\n", Self.proc + Self.unifiedMount, files) == 3)
    #expect(Self.threads("0::/a/b/c\n", Self.proc + Self.unifiedMount, files) == 1)
    #expect(Self.threads("0::/\n", Self.proc + Self.unifiedMount, files) == 8)
    #expect(Self.threads("0::/a/b\n", Self.proc + Self.unifiedMount, [:]) == nil)
    #expect(Self.threads("0::/a/b\n", Self.proc, files) == nil)
    #expect(CPUQuota.threads { _ in nil } == nil)
  }

  /// The group's path is the host's, but the mount shows the container's group as its root.
  @Test func version1InAContainer() {
    let mounts = "733 730 0:27 /docker/1a2b /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - cgroup cgroup rw,cpu,cpuacct\n"
    let memory = "734 730 0:28 /docker/1a2b /sys/fs/cgroup/memory ro,nosuid master:12 - cgroup cgroup rw,memory\n"
    let files = [
      "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "350000\n", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
      "/sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_quota_us": "20000\n", "/sys/fs/cgroup/cpu,cpuacct/sub/cpu.cfs_period_us": "10000\n",
      "/sys/fs/cgroup/memory/cpu.cfs_quota_us": "1\n", "/sys/fs/cgroup/memory/cpu.cfs_period_us": "1\n",
    ]
    let group: (String) -> String = { "5:memory:/docker/1a2b\n4:cpuset:/\n3:cpu,cpuacct:/docker/1a2b\($0)\n0::/\n" }
    #expect(Self.threads(group(""), memory + mounts, files) == 4)
    #expect(Self.threads(group("/sub"), memory + mounts, files) == 2)
    #expect(Self.threads("3:cpu,cpuacct:/elsewhere\n", memory + mounts, files) == 4)  // moved since; what is seen counts
  }

  /// Both versions at once, as systemd once set up: the controller is in one of them.
  @Test func bothVersions() {
    let mounts = """
      32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw

      """
    let files = [
      "/sys/fs/cgroup/cpu/x:y/cpu.cfs_quota_us": "200000\n", "/sys/fs/cgroup/cpu/x:y/cpu.cfs_period_us": "100000\n",
      "/sys/fs/cgroup/unified/u/cpu.max": "500000 100000\n",
    ]
    #expect(Self.threads("1:cpu:/x:y\n0::/u\n", mounts, files) == 2)  // names may have colons
    #expect(Self.threads("1:cpu:/\n0::/u\n", mounts, files) == 5)
  }

  @Test func aGroupOutsideOfTheNamespaceIsNotFollowed() {
    let files = ["/sys/fs/cgroup/cpu.max": "300000 100000\n", "/sys/fs/cgroup/../x/cpu.max": "100000 100000\n"]
    #expect(Self.threads("0::/../x\n", Self.unifiedMount, files) == 3)
  }

  @Test(arguments: [
    "", "\n", "a b c", "1 2 3 4 5 6 -", "1 2 3 4 5 6 - cgroup2", "29 23 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw", "0::/",
  ])
  func linesThatMakeNoSense(line: String) {
    let files = ["/sys/fs/cgroup/cpu.max": "100000 100000\n"]
    #expect(Self.threads("0::/\n", line, files) == nil)
    #expect(Self.threads(line, Self.proc + Self.unifiedMount, files) == (line == "0::/" ? 1 : nil))
  }
}
