#define _GNU_SOURCE
#include "cdibitoutputs.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct output {
  struct output *next;
  char path[];
};

// Nothing is allocated or freed while it is held: a malloc that ends the process comes here too.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct output *first;

// The link that leads to `path`, or the last one. The lock is held.
static struct output **find(const char *path) {
  struct output **link = &first;
  while (*link && strcmp((*link)->path, path) != 0) link = &(*link)->next;
  return link;
}

bool dibit_outputs_add(const char *path) {
  size_t bytes = strlen(path) + 1;
  struct output *new = malloc(sizeof *new + bytes);
  if (!new) return false;
  memcpy(new->path, path, bytes);
  pthread_mutex_lock(&lock);
  bool is_new = !*find(path);
  if (is_new) {
    new->next = first;
    first = new;
  }
  pthread_mutex_unlock(&lock);
  if (!is_new) free(new);
  return true;
}

void dibit_outputs_remove(const char *path) {
  pthread_mutex_lock(&lock);
  struct output **link = find(path), *found = *link;
  if (found) *link = found->next;
  pthread_mutex_unlock(&lock);
  free(found);
}

bool dibit_outputs_contains(const char *path) {
  pthread_mutex_lock(&lock);
  bool is_there = *find(path) != 0;
  pthread_mutex_unlock(&lock);
  return is_there;
}

// Removes a file, or a directory with all that is in it, without memory of the heap: where that is at its end this still ends. What cannot be
// removed stays; the rest goes.
static void remove_tree(int parent, const char *name, int depth) {
  enum { deepest = 32 };
  if (unlinkat(parent, name, 0) == 0 || errno != EISDIR || depth == deepest) return;
  int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return;
  alignas(struct dirent64) char entries[4096];
  for (ssize_t bytes; (bytes = getdents64(directory, entries, sizeof entries)) > 0;)
    for (ssize_t at = 0; at < bytes;) {
      const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) remove_tree(directory, entry->d_name, depth + 1);
      at += entry->d_reclen;
    }
  close(directory);
  unlinkat(parent, name, AT_REMOVEDIR);
}

void dibit_outputs_discard(const char *path) {
  remove_tree(AT_FDCWD, path, 0);
  dibit_outputs_remove(path);
}

void dibit_outputs_clean_up(void) {
  enum { passes = 50, pause = 1000 };
  pthread_mutex_lock(&lock);
  struct output *all = first;
  first = 0;
  pthread_mutex_unlock(&lock);
  while (all) {
    struct output *next = all->next;
    // Other threads may go on writing there for a moment.
    for (int pass = 0; pass < passes; pass++) {
      remove_tree(AT_FDCWD, all->path, 0);
      if (faccessat(AT_FDCWD, all->path, F_OK, AT_SYMLINK_NOFOLLOW) != 0) break;
      usleep(pause);
    }
    free(all);
    all = next;
  }
}
