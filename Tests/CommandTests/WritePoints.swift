import DibitTestSupport
import Foundation

/// A library that stands between `dibit` and the system calls that write, and kills the process at the n-th of them: before it, after it,
/// or with half of the bytes written.
///
/// It is compiled when a test needs it and loaded through `LD_PRELOAD`: nothing of it is in the program.
enum WritePoints {
  /// When the process dies.
  enum Moment: String, CaseIterable {
    case before, after, half
  }

  /// What a run was told, as environment variables.
  static func environment(library: String, dieAt point: Int, _ moment: Moment) -> [String: String] {
    ["LD_PRELOAD": library, "WRITE_POINT": "\(point)", "WRITE_MOMENT": "\(moment.rawValue)"]
  }

  /// Counts the points of a run into a file.
  static func environment(library: String, countingInto file: String) -> [String: String] {
    ["LD_PRELOAD": library, "WRITE_COUNT": file]
  }

  /// Compiles the library; nil without a compiler.
  static func build(in scratch: Scratch) throws -> String? {
    let source = try scratch.write(Self.source, to: "points.c")
    let library = scratch("points.so")
    for compiler in ["/opt/swift/usr/bin/clang", "/usr/bin/cc", "/usr/bin/clang", "/usr/bin/gcc"] where exists(compiler) {
      if run(compiler, ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]) == 0 { return library }
    }
    return nil
  }

  /// Files are told apart by their descriptors: standard streams are not counted. A rename of a file that was written and not flushed, or
  /// a flush that never came for a directory in which names changed, ends the process with a code of its own.
  private static let source = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <fcntl.h>
    #include <signal.h>
    #include <stdatomic.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <unistd.h>

    static atomic_long points;
    static long last = -1;
    static char moment;
    static const char *count_file;
    static ino_t dirty[64];
    static int dirty_count;

    __attribute__((constructor)) static void start(void) {
      const char *n = getenv("WRITE_POINT"), *p = getenv("WRITE_MOMENT");
      if (n) last = atol(n);
      moment = p ? p[0] : 'b';
      count_file = getenv("WRITE_COUNT");
      unsetenv("LD_PRELOAD");
    }

    __attribute__((destructor)) static void end(void) {
      if (!count_file) return;
      FILE *file = fopen(count_file, "w");
      if (file) { fprintf(file, "%ld", (long)atomic_load(&points)); fclose(file); }
    }

    static int dies(void) { return atomic_fetch_add(&points, 1) + 1 == last; }
    static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

    static void mark(int fd) {
      struct stat s;
      if (fstat(fd, &s) || !S_ISREG(s.st_mode)) return;
      for (int i = 0; i < dirty_count; i++) if (dirty[i] == s.st_ino) return;
      if (dirty_count < 64) dirty[dirty_count++] = s.st_ino;
    }
    static void clean(int fd) {
      struct stat s;
      if (fstat(fd, &s)) return;
      for (int i = 0; i < dirty_count; i++) if (dirty[i] == s.st_ino) { dirty[i] = dirty[--dirty_count]; return; }
    }
    /* A name must not appear for a file whose bytes may still be lost. */
    static void check(const char *path) {
      struct stat s;
      if (stat(path, &s) || !S_ISREG(s.st_mode)) return;
      for (int i = 0; i < dirty_count; i++) if (dirty[i] == s.st_ino) { dprintf(2, "unflushed: %s\\n", path); _exit(99); }
    }

    #define REAL(name, type, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)
    #define POINT(call) int d = dies(); if (d && moment != 'a') die(); int r = (call); if (d) die(); return r

    ssize_t write(int fd, const void *data, size_t count) {
      REAL(write, ssize_t, int, const void *, size_t);
      struct stat s;
      if (fd <= 2 || fstat(fd, &s) || !S_ISREG(s.st_mode)) return real(fd, data, count);
      int d = dies();
      if (d && moment == 'b') die();
      if (d && moment == 'h') { real(fd, data, count / 2); die(); }
      ssize_t r = real(fd, data, count);
      mark(fd);
      if (d) die();
      return r;
    }
    int fsync(int fd) {
      REAL(fsync, int, int);
      clean(fd);
      POINT(real(fd));
    }
    int rename(const char *a, const char *b) {
      REAL(rename, int, const char *, const char *);
      check(a);
      POINT(real(a, b));
    }
    int renameat2(int x, const char *a, int y, const char *b, unsigned flags) {
      REAL(renameat2, int, int, const char *, int, const char *, unsigned);
      POINT(real(x, a, y, b, flags));
    }
    int link(const char *a, const char *b) {
      REAL(link, int, const char *, const char *);
      check(a);
      POINT(real(a, b));
    }
    int unlink(const char *a) {
      REAL(unlink, int, const char *);
      POINT(real(a));
    }
    int mkdir(const char *a, mode_t mode) {
      REAL(mkdir, int, const char *, mode_t);
      POINT(real(a, mode));
    }
    int rmdir(const char *a) {
      REAL(rmdir, int, const char *);
      POINT(real(a));
    }
    int ftruncate(int fd, off_t length) {
      REAL(ftruncate, int, int, off_t);
      POINT(real(fd, length));
    }

    """
}
