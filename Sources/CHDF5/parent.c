#define _GNU_SOURCE
#include "child.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// Descriptors of the child: 0 to 2 lead nowhere, 3 is the socket, 4 the file. All others are closed: a lock or a pipe of the parent
// must not live on in the child.
enum { SOCKET = 3, FILE_NUMBER = 4 };

static void close_from(int first) {
#ifdef __NR_close_range
  if (syscall(__NR_close_range, first, ~0U, 0) == 0) return;
#endif
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int number = first; number < (limit > 0 && limit < 65536 ? limit : 65536); number++) close(number);
}

static bool rearrange(int socket, int file) {
  // First out of the way of the final numbers.
  const int high_socket = fcntl(socket, F_DUPFD, 16), high_file = fcntl(file, F_DUPFD, 16), null = open("/dev/null", O_RDWR);
  if (high_socket < 0 || high_file < 0 || null < 0) return false;
  const int high_null = fcntl(null, F_DUPFD, 16);
  if (high_null < 0) return false;
  for (int number = 0; number <= 2; number++)
    if (dup2(high_null, number) < 0) return false;
  if (dup2(high_socket, SOCKET) < 0 || dup2(high_file, FILE_NUMBER) < 0) return false;
  close_from(FILE_NUMBER + 1);
  return true;
}

// The child forgets the parent's handlers. Keys pressed in the terminal reach it too; what they mean is for the parent to decide.
static void forget_signals(void) {
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGPIPE};
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, 0);
}

static _Noreturn void become_child(int socket, int file, uint64_t file_bytes, void *window, size_t window_bytes, const chdf5_limits *limits) {
  static chdf5_child child;
  // Nothing of the user's environment: it can name plugins, drivers and debug output. Locks fail on some network file systems.
  static char *environment[] = {"HDF5_USE_FILE_LOCKING=FALSE", 0};
  forget_signals();
  if (!rearrange(socket, file)) _exit(1);
  environ = environment;
  prctl(PR_SET_NAME, "hdf5 reader", 0, 0, 0);
  memset(&child, 0, sizeof child);
  child.limits = *limits;
  child.file_bytes = file_bytes;
  child.window = window;
  child.window_bytes = window_bytes;
  chdf5_live(&child, SOCKET, FILE_NUMBER);
}

int32_t chdf5_start(int32_t file, uint64_t file_bytes, size_t window_bytes, const chdf5_limits *limits, chdf5_reader *reader) {
  chdf5_load();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  void *window = mmap(0, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (window == MAP_FAILED) {
    const int code = errno;
    close(ends[0]);
    close(ends[1]);
    return code;
  }
  // No signal is delivered between the fork and the moment when the child has forgotten the handlers.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t process = fork();
  if (process == 0) become_child(ends[1], file, file_bytes, window, window_bytes, limits);
  const int code = errno;
  pthread_sigmask(SIG_SETMASK, &before, 0);
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    munmap(window, window_bytes);
    return code;
  }
  *reader = (chdf5_reader){process, ends[0], window, window_bytes};
  return 0;
}

static int64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int32_t chdf5_receive(const chdf5_reader *reader, uint64_t seconds, chdf5_reply *reply) {
  // Time is counted in slices: after a stop by the user only the slice that was running is lost, not the whole deadline.
  enum { SLICE = 100 };
  for (int64_t left = (int64_t)(seconds < 86400 ? seconds : 86400) * 1000; left > 0;) {
    struct pollfd event = {.fd = reader->socket, .events = POLLIN};
    const int64_t began = milliseconds();
    const int ready = poll(&event, 1, left < SLICE ? (int)left : SLICE);
    const int64_t took = milliseconds() - began;
    if (ready > 0) {
      const ssize_t got = recv(reader->socket, reply, sizeof *reply, MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) return CHDF5_ENDED;
      if (got != (ssize_t)sizeof *reply || reply->code >= CHDF5_CODES) return CHDF5_GARBLED;
      reply->name[CHDF5_NAME_BYTES - 1] = reply->text[CHDF5_TEXT_BYTES - 1] = 0;
      return CHDF5_ANSWERED;
    }
    if (ready < 0 && errno != EINTR && errno != EAGAIN) return CHDF5_ENDED;
    left -= took < 1 ? (ready == 0) : took < SLICE ? took : SLICE;
  }
  return CHDF5_TIMED_OUT;
}

bool chdf5_send(const chdf5_reader *reader, const chdf5_request *request) {
  ssize_t sent;
  do sent = send(reader->socket, request, sizeof *request, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)sizeof *request;
}

static pid_t wait_for(pid_t process, int *status, int options) {
  pid_t ended;
  do ended = waitpid(process, status, options);
  while (ended < 0 && errno == EINTR);
  return ended;
}

int32_t chdf5_stop(chdf5_reader *reader, _Bool ending) {
  if (reader->process <= 0) return 0;
  int status = 0;
  close(reader->socket);
  // A process that this call does not find any more has been waited for by someone else, and its number may be another's by now.
  pid_t ended = wait_for(reader->process, &status, WNOHANG);
  // A crash closes the socket a moment before the process can be waited for.
  const struct timespec moment = {0, 1000000};
  for (int tries = 0; ending && ended == 0 && tries < 2000; tries++) {
    nanosleep(&moment, 0);
    ended = wait_for(reader->process, &status, WNOHANG);
  }
  const bool by_itself = ended == reader->process;
  if (ended == 0) {
    kill(reader->process, SIGKILL);
    wait_for(reader->process, &status, 0);
  }
  munmap(reader->window, reader->window_bytes);
  *reader = (chdf5_reader){0, -1, 0, 0};
  return by_itself ? status : 0;
}
