#define _GNU_SOURCE
#include "child.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool limit(int resource, uint64_t value) {
  struct rlimit rule;
  if (getrlimit(resource, &rule) != 0) return false;
  // Of the processor's time a little more: the signal of the soft limit says what happened, that of the hard one does not.
  const uint64_t hard = value + (resource == RLIMIT_CPU ? 5 : 0);
  if (rule.rlim_max == RLIM_INFINITY || rule.rlim_max > hard) rule.rlim_max = hard;
  rule.rlim_cur = rule.rlim_max < value ? rule.rlim_max : value;
  return setrlimit(resource, &rule) == 0;
}

// The addresses that are in use already: the parent's mappings came along with the fork.
static uint64_t inherited(void) {
  char text[64];
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  uint64_t pages = 0;
  for (ssize_t i = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++) pages = pages * 10 + (uint64_t)(text[i] - '0');
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool chdf5_confine(const chdf5_limits *limits) {
  const uint64_t base = inherited();
  // The lowest free number is the one that libhdf5 gets when it opens the file; libraries may hold others.
  const int next = dup(0);
  if (next < 0) return false;
  close(next);
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) &&
         limit(RLIMIT_CPU, limits->processor_seconds) && limit(RLIMIT_NOFILE, (uint64_t)next + 1) &&
         (base == 0 || limit(RLIMIT_AS, base + limits->memory));
}

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define WHEN(number, value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), ANSWER(value)
#define ALLOW(number) WHEN(number, SECCOMP_RET_ALLOW)
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

static bool install(const struct sock_filter *rules, size_t count) {
  const struct sock_fprog program = {(unsigned short)count, (struct sock_filter *)rules};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// Everything that is not in the list fails with EPERM: libhdf5 takes that for an error of the file, and so do we.
// A second filter is added to the first, not put in its place; of two answers the stricter one counts.
bool chdf5_filter(bool may_open) {
#ifdef MACHINE
  static const struct sock_filter base[] = {
      LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0), ANSWER(SECCOMP_RET_KILL_PROCESS), LOAD(nr),
      // Reading the file, and talking over the socket.
      ALLOW(__NR_read), ALLOW(__NR_pread64), ALLOW(__NR_lseek), ALLOW(__NR_fstat), ALLOW(__NR_newfstatat), ALLOW(__NR_close),
      ALLOW(__NR_sendto), ALLOW(__NR_recvfrom), ALLOW(__NR_openat),
      ALLOW(__NR_readlinkat),
#ifdef __NR_alarm
      ALLOW(__NR_alarm), ALLOW(__NR_readlink), ALLOW(__NR_stat), ALLOW(__NR_lstat),
#endif
      // Memory, time, and the end.
      ALLOW(__NR_mmap), ALLOW(__NR_munmap), ALLOW(__NR_mremap), ALLOW(__NR_mprotect), ALLOW(__NR_brk), ALLOW(__NR_madvise),
      ALLOW(__NR_futex), ALLOW(__NR_setitimer), ALLOW(__NR_clock_gettime), ALLOW(__NR_gettimeofday), ALLOW(__NR_getrandom), ALLOW(__NR_getpid),
      ALLOW(__NR_rt_sigreturn), ALLOW(__NR_rt_sigprocmask), ALLOW(__NR_prlimit64), ALLOW(__NR_prctl), ALLOW(__NR_exit_group),
      ALLOW(__NR_restart_syscall), ANSWER(REFUSE)};
  static const struct sock_filter closed[] = {LOAD(nr), WHEN(__NR_openat, REFUSE), WHEN(__NR_prctl, REFUSE),
                                              WHEN(__NR_prlimit64, REFUSE), ANSWER(SECCOMP_RET_ALLOW)};
  // Memory is never made executable, and files are only read: the third argument of mmap and mprotect, and of openat.
  static const struct sock_filter data_only[] = {
      LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 3, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 4, 0), ANSWER(SECCOMP_RET_ALLOW),
      LOAD(args[2]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 3, 0), ANSWER(SECCOMP_RET_ALLOW),
      LOAD(args[2]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1), ANSWER(REFUSE),
      ANSWER(SECCOMP_RET_ALLOW)};
  if (!may_open) return install(closed, sizeof closed / sizeof *closed);
  return install(data_only, sizeof data_only / sizeof *data_only) && install(base, sizeof base / sizeof *base);
#else
  (void)may_open;
  return false;
#endif
}
