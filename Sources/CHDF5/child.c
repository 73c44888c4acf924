#define _GNU_SOURCE
#include "child.h"
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

void chdf5_copy(char *to, size_t bytes, const char *from) {
  const size_t length = strnlen(from, bytes - 1);
  memmove(to, from, length);
  to[length] = 0;
}

bool chdf5_fail(chdf5_child *child, uint32_t code, const char *name, uint64_t first, uint64_t second) {
  if (child->reply.code != CHDF5_OK) return false;
  child->reply.code = code;
  child->reply.first = first;
  child->reply.second = second;
  chdf5_copy(child->reply.name, sizeof child->reply.name, name);
  return false;
}

// The first one upwards is the innermost.
static herr_t innermost(unsigned n, const H5E_error2_t *error, void *data) {
  if (n == 0 && error->desc) chdf5_copy(data, CHDF5_TEXT_BYTES, error->desc);
  return 0;
}

void chdf5_explain(chdf5_child *child) {
  if (child->reply.code == CHDF5_OK) child->h5.H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, child->reply.text);
}

static herr_t refuse(const char *a, const char *b, const char *c, const char *d, unsigned *flags, hid_t access, void *data) {
  (void)a, (void)b, (void)c, (void)d, (void)flags, (void)access, (void)data;
  return -1;
}

hid_t chdf5_access(const chdf5_library *h5, hid_t class) {
  const hid_t access = h5->H5Pcreate(class);
  if (access >= 0 && h5->H5Pset_nlinks(access, 8) >= 0 && h5->H5Pset_elink_cb(access, refuse, 0) >= 0) return access;
  return -1;
}

static bool open_file(chdf5_child *child, int file) {
  chdf5_reply *reply = &child->reply;
  const int begun = chdf5_begin(&child->h5, reply->text, sizeof reply->text);
  if (begun != CHDF5_OK) return chdf5_fail(child, (uint32_t)begun, "", 0, 0);
  // One descriptor beyond those that are open: libhdf5 can open this file and no second one.
  if (!chdf5_confine(&child->limits)) return chdf5_fail(child, CHDF5_NO_MEMORY, "", 0, 0);
  // A kernel without system call filters still has the limits above.
  const bool filtered = chdf5_filter(true);
  const chdf5_library *h5 = &child->h5;
  child->link_access = chdf5_access(h5, h5->link_access);
  if (child->link_access < 0) return chdf5_fail(child, CHDF5_NO_MEMORY, "", 0, 0);
  // The file that the parent opened, whatever its path means by now.
  char path[] = "/proc/self/fd/0";
  path[sizeof path - 2] = (char)('0' + file);
  child->file = h5->H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (child->file < 0) return chdf5_explain(child), chdf5_fail(child, CHDF5_NOT_OPENED, "", 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_NOFILE, &none);
  if (filtered && !chdf5_filter(false)) return chdf5_fail(child, CHDF5_NO_MEMORY, "", 0, 0);
  return chdf5_list(child);
}

// False when the parent is gone.
static bool answer(chdf5_child *child, int socket) {
  ssize_t sent;
  do sent = send(socket, &child->reply, sizeof child->reply, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)sizeof child->reply;
}

void chdf5_live(chdf5_child *child, int socket, int file) {
  // A parent that dies while libhdf5 hangs cannot end the child, so the child's own clock does.
  alarm((unsigned)child->limits.open_seconds + 5);
  child->open_dataset = child->open_space = child->open_type = -1;
  const bool listed = open_file(child, file);
  if (!answer(child, socket) || !listed) _exit(0);
  for (;;) {
    chdf5_request request;
    alarm(0);
    const ssize_t got = recv(socket, &request, sizeof request, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != (ssize_t)sizeof request) _exit(0);
    alarm((unsigned)(request.seconds < 3600 ? request.seconds : 3600) + 5);
    memset(&child->reply, 0, sizeof child->reply);
    chdf5_read(child, &request);
    if (!answer(child, socket)) _exit(0);
  }
}
