// The bodies for any CPU.
#include "tables.h"
#define DIBIT_TABLE dibit_table_scalar
#include "body/table.inc.h"
