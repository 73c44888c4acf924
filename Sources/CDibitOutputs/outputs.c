#define _GNU_SOURCE
#include "cdibitoutputs.h"
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position) {
  (void)status, (void)type, (void)position;
  // What cannot be removed stays; the rest goes.
  remove(path);
  return 0;
}

void dibit_outputs_clean_up(void) {
  enum { descriptors = 16 };
  pthread_mutex_lock(&lock);
  struct output *all = first;
  first = 0;
  pthread_mutex_unlock(&lock);
  while (all) {
    struct output *next = all->next;
    nftw(all->path, remove_entry, descriptors, FTW_DEPTH | FTW_PHYS);
    free(all);
    all = next;
  }
}
