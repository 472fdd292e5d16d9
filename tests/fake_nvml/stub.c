/* An invented libnvidia-ml.so.1: enough of the driver library for monitors to run unmodified on a machine without a GPU.
 *
 * Environment (read at the first call):
 *   FAKE_NVML_GPUS         how many GPUs (1)
 *   FAKE_NVML_NAME         their name ("NVIDIA H100 80GB HBM3")
 *   FAKE_NVML_DRIVER       driver version ("550.54.15")
 *   FAKE_NVML_INIT_RC      code that nvmlInit returns (0)
 *   FAKE_NVML_PIDS         "4711,4712@3": processes; without @GPU they go round the GPUs
 *   FAKE_NVML_PROCESSES    processes per GPU: drawn in turn from FAKE_NVML_PIDS, or invented
 *   FAKE_NVML_LOST_GPU     index of a GPU that is lost, FAKE_NVML_LOST_AFTER_S seconds after init (0)
 *   FAKE_NVML_SLEEP_MS     every call takes this much longer
 *   FAKE_NVML_HANG_AFTER_S every call blocks from this many seconds after init
 *   FAKE_NVML_HANG_FILE    calls block while this file exists
 *   FAKE_NVML_CALLS_FILE   "name count" lines, brought up to date once a second and at exit
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10, LOST = 15 };
#define MAX_GPUS 128
#define MAX_PIDS 4096
#define MEBI (1ULL << 20)
#define NO_INSTANCE 0xFFFFFFFFu

typedef void *device_t;
typedef unsigned long long u64;
typedef struct { unsigned pid; u64 memory; unsigned gi, ci; } process_t;
typedef struct { unsigned pid; u64 stamp_us; unsigned sm, memory, encoder, decoder; } use_t;
typedef struct { u64 total, reserved, free, used; } memory_t;
typedef struct { unsigned id, scope; long long stamp_us, latency_us; unsigned type, rc; union { double d; u64 u; } value; } field_t;
typedef struct { char legacy[16]; unsigned domain, bus, device, device_id, subsystem_id; char bus_id[32]; } pci_t;
typedef struct { unsigned id, rc; double value; char *names[3]; } metric_t;
typedef struct { unsigned version, count; void *first, *second; metric_t metrics[]; } metrics_t;
typedef struct { device_t device; u64 type, data; unsigned gi, ci; } event_t;
struct call { const char *name; atomic_ullong count; struct call *next; };

static struct { int gpus, init_rc, processes, pids, lost, counted; double lost_after_s, hang_after_s; long sleep_us;
                const char *name, *driver, *hang_file, *calls_file; } set;
static unsigned pid_of[MAX_PIDS];
static int gpu_of[MAX_PIDS];
static double started_s;
static struct call *calls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static u64 wall_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (u64)t.tv_sec * 1000000u + t.tv_nsec / 1000;
}

static const char *text(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static double number(const char *name, double otherwise) {
    const char *value = text(name, NULL);
    return value ? atof(value) : otherwise;
}

static void write_calls(void) {
    char path[4096];
    if (!set.calls_file || snprintf(path, sizeof path, "%s.%d", set.calls_file, (int)getpid()) >= (int)sizeof path) return;
    FILE *file = fopen(path, "w");
    if (!file) return;
    for (struct call *c = calls; c; c = c->next) fprintf(file, "%s %llu\n", c->name, (u64)c->count);
    fclose(file);
    rename(path, set.calls_file);
}

static void read_environment(void) {
    set.gpus = (int)number("FAKE_NVML_GPUS", 1);
    if (set.gpus > MAX_GPUS) set.gpus = MAX_GPUS;
    set.init_rc = (int)number("FAKE_NVML_INIT_RC", 0);
    set.processes = (int)number("FAKE_NVML_PROCESSES", -1);
    set.lost = (int)number("FAKE_NVML_LOST_GPU", -1);
    set.lost_after_s = number("FAKE_NVML_LOST_AFTER_S", 0);
    set.hang_after_s = number("FAKE_NVML_HANG_AFTER_S", -1);
    set.sleep_us = (long)(number("FAKE_NVML_SLEEP_MS", 0) * 1000);
    set.name = text("FAKE_NVML_NAME", "NVIDIA H100 80GB HBM3");
    set.driver = text("FAKE_NVML_DRIVER", "550.54.15");
    set.hang_file = text("FAKE_NVML_HANG_FILE", NULL);
    set.calls_file = text("FAKE_NVML_CALLS_FILE", NULL);
    for (const char *p = text("FAKE_NVML_PIDS", ""); *p && set.pids < MAX_PIDS;) {
        char *end;
        pid_of[set.pids] = strtoul(p, &end, 10);
        gpu_of[set.pids] = set.gpus ? set.pids % set.gpus : 0;
        if (*end == '@') gpu_of[set.pids] = strtol(end + 1, &end, 10);
        if (end == p) break;
        set.pids++;
        p = *end ? end + 1 : end;
    }
    started_s = now_s();
    if (set.calls_file) atexit(write_calls);
}

static void enter(struct call *call) {
    static double written_s;
    pthread_once(&once, read_environment);
    if (atomic_fetch_add(&call->count, 1) == 0) {
        pthread_mutex_lock(&lock);
        call->next = calls;
        calls = call;
        pthread_mutex_unlock(&lock);
    }
    if (set.sleep_us) usleep(set.sleep_us);
    while (set.hang_file && access(set.hang_file, F_OK) == 0) usleep(20000);
    while (set.hang_after_s >= 0 && now_s() - started_s >= set.hang_after_s) usleep(50000);
    if (set.calls_file && now_s() - written_s > 1.0 && pthread_mutex_trylock(&lock) == 0) {
        written_s = now_s();
        write_calls();
        pthread_mutex_unlock(&lock);
    }
}

static int index_of(device_t device) { return (int)((size_t)device - 0x1000); }
static int is_lost(int gpu) { return gpu == set.lost && now_s() - started_s >= set.lost_after_s; }

#define ENTER static struct call call_ = {.name = __func__}; enter(&call_)
#define GPU(device) ENTER; int gpu = index_of(device); if (gpu < 0 || gpu >= set.gpus) return INVALID_ARGUMENT; if (is_lost(gpu)) return LOST
#define NONE(name) int name(device_t device) { GPU(device); return NOT_SUPPORTED; }
#define UINT(name, expression) int name(device_t device, unsigned *out) { GPU(device); double t = now_s(); (void)t; *out = (unsigned)(expression); return OK; }

/* The invented machine: use swings between 45 and 95 %, and everything else follows from it. */
static double use(int gpu, double t) { return 70 + 25 * sin(t / 7 + gpu); }
static double power_w(int gpu, double t) { return 120 + 5.0 * use(gpu, t); }
static double energy_j(int gpu, double t) { return 120 * t + 5.0 * (70 * t - 175 * cos(t / 7 + gpu)) + 1000; }
static double temperature(int gpu, double t) { return 38 + 0.35 * use(gpu, t - 5) + gpu % 4; }
static double sm_mhz(int gpu, double t) { return 1980 - 3 * (use(gpu, t) - 45); }
static u64 reasons(int gpu, double t) { return use(gpu, t) > 90 ? 0x4 : 0; }

static unsigned list(int gpu, process_t *rows, unsigned room) {
    unsigned count = 0;
    int wanted = set.processes >= 0 ? set.processes : set.pids;
    for (int i = 0; i < wanted; i++) {
        unsigned pid;
        if (set.processes < 0) {
            if (gpu_of[i] != gpu) continue;
            pid = pid_of[i];
        } else {
            pid = set.pids ? pid_of[(gpu * set.processes + i) % set.pids] : 100000u + gpu * 1000 + i;
        }
        if (rows && count < room) rows[count] = (process_t){pid, 0, NO_INSTANCE, NO_INSTANCE};
        count++;
    }
    u64 each = count ? 60000 * MEBI / count : 0;
    for (unsigned i = 0; rows && i < count && i < room; i++) rows[i].memory = each;
    return count;
}

static memory_t memory(int gpu) {
    memory_t m = {.total = 81559 * MEBI, .reserved = 551 * MEBI};
    unsigned count = list(gpu, NULL, 0);
    m.used = count ? 60000 * MEBI / count * count + 300 * MEBI : 4 * MEBI;
    m.free = m.total - m.reserved - m.used;
    return m;
}

/* Library and system */
int nvmlInitWithFlags(unsigned flags) { ENTER; (void)flags; return set.init_rc; }
int nvmlInit_v2(void) { ENTER; return set.init_rc; }
int nvmlShutdown(void) { ENTER; return OK; }
const char *nvmlErrorString(int code) { static _Thread_local char s[32]; snprintf(s, sizeof s, "Invented error %d", code); return s; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { ENTER; snprintf(out, n, "%s", set.driver); return OK; }
int nvmlSystemGetNVMLVersion(char *out, unsigned n) { ENTER; snprintf(out, n, "12.%s", set.driver); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { ENTER; *out = 12040; return OK; }
int nvmlSystemGetCudaDriverVersion(int *out) { ENTER; *out = 12040; return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { ENTER; *out = set.gpus; return OK; }

/* Handles and identity */
int nvmlDeviceGetHandleByIndex_v2(unsigned i, device_t *out) {
    ENTER;
    if ((int)i >= set.gpus) return INVALID_ARGUMENT;
    if (is_lost(i)) return LOST;
    *out = (device_t)(size_t)(0x1000 + i);
    return OK;
}
static void uuid_of(int gpu, char *out, unsigned n) { snprintf(out, n, "GPU-f00dcafe-0000-4000-8000-%012x", gpu + 1); }
static void bus_id_of(int gpu, char *out, unsigned n) { snprintf(out, n, "00000000:%02X:00.0", 0x10 + gpu); }
int nvmlDeviceGetHandleByUUID(const char *uuid, device_t *out) {
    ENTER;
    char mine[96];
    for (int i = 0; i < set.gpus; i++) {
        uuid_of(i, mine, sizeof mine);
        if (!strcmp(mine, uuid)) { *out = (device_t)(size_t)(0x1000 + i); return OK; }
    }
    return NOT_FOUND;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, device_t *out) {
    ENTER;
    char mine[32];
    for (int i = 0; i < set.gpus; i++) {
        bus_id_of(i, mine, sizeof mine);
        if (!strcasecmp(mine, bus_id)) { *out = (device_t)(size_t)(0x1000 + i); return OK; }
    }
    return NOT_FOUND;
}
int nvmlDeviceGetName(device_t d, char *out, unsigned n) { GPU(d); snprintf(out, n, "%s", set.name); return OK; }
int nvmlDeviceGetUUID(device_t d, char *out, unsigned n) { GPU(d); uuid_of(gpu, out, n); return OK; }
int nvmlDeviceGetSerial(device_t d, char *out, unsigned n) { GPU(d); snprintf(out, n, "%d", 1650000000 + gpu); return OK; }
int nvmlDeviceGetPciInfo_v3(device_t d, pci_t *out) {
    GPU(d);
    memset(out, 0, sizeof *out);
    bus_id_of(gpu, out->bus_id, sizeof out->bus_id);
    snprintf(out->legacy, sizeof out->legacy, "%s", out->bus_id + 4);
    out->bus = 0x10 + gpu;
    out->device_id = 0x233010DE;
    return OK;
}
int nvmlDeviceGetCudaComputeCapability(device_t d, int *major, int *minor) { GPU(d); *major = 9; *minor = 0; return OK; }
UINT(nvmlDeviceGetIndex, gpu)
UINT(nvmlDeviceGetMinorNumber, gpu)
UINT(nvmlDeviceGetArchitecture, 9)
UINT(nvmlDeviceGetBrand, 14)
UINT(nvmlDeviceGetNumaNodeId, gpu * 2 / (set.gpus ? set.gpus : 1))
UINT(nvmlDeviceGetComputeMode, 0)
UINT(nvmlDeviceGetPersistenceMode, 1)
UINT(nvmlDeviceGetDisplayMode, 0)
UINT(nvmlDeviceGetDisplayActive, 0)
int nvmlDeviceIsMigDeviceHandle(device_t d, unsigned *out) { GPU(d); *out = 0; return OK; }
int nvmlDeviceGetMigMode(device_t d, unsigned *now, unsigned *pending) { GPU(d); *now = *pending = 0; return OK; }
int nvmlDeviceGetMaxMigDeviceCount(device_t d, unsigned *out) { GPU(d); *out = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(device_t d, unsigned i, device_t *out) { GPU(d); (void)i; (void)out; return NOT_FOUND; }
NONE(nvmlDeviceGetGpuInstanceId)
NONE(nvmlDeviceGetComputeInstanceId)
NONE(nvmlDeviceGetDriverModel_v2)
NONE(nvmlDeviceGetDriverModel)
NONE(nvmlDeviceGetFanSpeed)
NONE(nvmlDeviceGetFanSpeed_v2)
UINT(nvmlDeviceGetNumFans, 0)

/* Figures */
int nvmlDeviceGetMemoryInfo(device_t d, u64 *out) {
    GPU(d);
    memory_t m = memory(gpu);
    out[0] = m.total; out[1] = m.free; out[2] = m.used + m.reserved;
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(device_t d, void *out) {
    GPU(d);
    struct { unsigned version; u64 total, reserved, free, used; } *info = out;
    if (info->version != (2u << 24 | sizeof *info)) return 25;
    memory_t m = memory(gpu);
    info->total = m.total; info->reserved = m.reserved; info->free = m.free; info->used = m.used;
    return OK;
}
int nvmlDeviceGetBAR1MemoryInfo(device_t d, u64 *out) { GPU(d); out[0] = 131072 * MEBI; out[2] = 3 * MEBI; out[1] = out[0] - out[2]; return OK; }
int nvmlDeviceGetUtilizationRates(device_t d, unsigned *out) { GPU(d); double t = now_s(); out[0] = use(gpu, t); out[1] = use(gpu, t) * 0.6; return OK; }
int nvmlDeviceGetEncoderUtilization(device_t d, unsigned *out, unsigned *period) { GPU(d); *out = 0; *period = 167000; return OK; }
int nvmlDeviceGetDecoderUtilization(device_t d, unsigned *out, unsigned *period) { GPU(d); *out = 0; *period = 167000; return OK; }
UINT(nvmlDeviceGetPowerUsage, power_w(gpu, t) * 1000)
UINT(nvmlDeviceGetEnforcedPowerLimit, 700000)
UINT(nvmlDeviceGetPowerManagementLimit, 700000)
UINT(nvmlDeviceGetPowerManagementDefaultLimit, 700000)
UINT(nvmlDeviceGetPowerManagementMode, 1)
int nvmlDeviceGetPowerManagementLimitConstraints(device_t d, unsigned *low, unsigned *high) { GPU(d); *low = 200000; *high = 700000; return OK; }
int nvmlDeviceGetTotalEnergyConsumption(device_t d, u64 *out) { GPU(d); *out = energy_j(gpu, now_s()) * 1000; return OK; }
int nvmlDeviceGetTemperature(device_t d, unsigned sensor, unsigned *out) { GPU(d); (void)sensor; *out = temperature(gpu, now_s()); return OK; }
int nvmlDeviceGetTemperatureV(device_t d, void *out) {
    GPU(d);
    struct { unsigned version, sensor; int degrees; } *info = out;
    if (info->version != (1u << 24 | sizeof *info)) return 25;
    info->degrees = temperature(gpu, now_s());
    return OK;
}
int nvmlDeviceGetTemperatureThreshold(device_t d, unsigned which, unsigned *out) {
    GPU(d);
    static const unsigned limits[] = {95, 90, 95, 87};
    if (which > 3) return NOT_SUPPORTED;
    *out = limits[which];
    return OK;
}
int nvmlDeviceGetClockInfo(device_t d, unsigned which, unsigned *out) { GPU(d); *out = which == 2 ? 2619 : sm_mhz(gpu, now_s()); return OK; }
int nvmlDeviceGetMaxClockInfo(device_t d, unsigned which, unsigned *out) { GPU(d); *out = which == 2 ? 2619 : 1980; return OK; }
UINT(nvmlDeviceGetPerformanceState, 0)
int nvmlDeviceGetCurrentClocksEventReasons(device_t d, u64 *out) { GPU(d); *out = reasons(gpu, now_s()); return OK; }
int nvmlDeviceGetCurrentClocksThrottleReasons(device_t d, u64 *out) { GPU(d); *out = reasons(gpu, now_s()); return OK; }
UINT(nvmlDeviceGetCurrPcieLinkGeneration, 5)
UINT(nvmlDeviceGetMaxPcieLinkGeneration, 5)
UINT(nvmlDeviceGetGpuMaxPcieLinkGeneration, 5)
UINT(nvmlDeviceGetCurrPcieLinkWidth, 16)
UINT(nvmlDeviceGetMaxPcieLinkWidth, 16)
UINT(nvmlDeviceGetPcieReplayCounter, 0)
int nvmlDeviceGetPcieThroughput(device_t d, unsigned which, unsigned *out) { GPU(d); usleep(20000); *out = which ? 1200000 : 800000; return OK; }
int nvmlDeviceGetEccMode(device_t d, unsigned *now, unsigned *pending) { GPU(d); *now = *pending = 1; return OK; }
int nvmlDeviceGetTotalEccErrors(device_t d, unsigned kind, unsigned span, u64 *out) { GPU(d); (void)kind; (void)span; *out = 0; return OK; }
int nvmlDeviceGetRemappedRows(device_t d, unsigned *a, unsigned *b, unsigned *c, unsigned *e) { GPU(d); *a = *b = *c = *e = 0; return OK; }

int nvmlDeviceGetFieldValues(device_t d, int count, field_t *fields) {
    GPU(d);
    double t = now_s();
    for (int i = 0; i < count; i++) {
        field_t *f = &fields[i];
        f->rc = OK; f->type = 3; f->stamp_us = wall_us(); f->latency_us = 10; f->value.u = 0;
        switch (f->id) {
        case 185: case 186: f->type = 1; f->value.u = (unsigned)(power_w(gpu, t) * 1000); break;
        case 83: f->value.u = energy_j(gpu, t) * 1000; break;
        case 82: f->type = 1; f->value.u = (unsigned)(temperature(gpu, t) + 6); break;
        case 74: f->value.u = t * 0.2e9; break;
        case 138: f->value.u = t * 9e6; break;
        case 139: f->value.u = t * 9e6; break;
        case 90: f->type = 1; f->value.u = 26562; break;
        case 91: f->type = 1; f->value.u = set.gpus > 1 ? 18 : 0; break;
        case 75: case 76: case 77: case 78: case 79: case 81: case 269: case 270: case 271: case 94:
        case 38: case 45: case 52: case 59: case 230: break;
        default: f->rc = NOT_SUPPORTED;
        }
    }
    return OK;
}

/* Links */
int nvmlDeviceGetNvLinkState(device_t d, unsigned link, unsigned *out) {
    GPU(d);
    if (set.gpus < 2) return NOT_SUPPORTED;
    if (link >= 18) return INVALID_ARGUMENT;
    *out = 1;
    return OK;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(device_t d, unsigned link, pci_t *out) { /* all links end at a switch */
    GPU(d);
    memset(out, 0, sizeof *out);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", 0xC0 + link % 4);
    return OK;
}
int nvmlDeviceGetTopologyCommonAncestor(device_t d, device_t other, unsigned *out) { GPU(d); *out = (gpu / 4 == index_of(other) / 4) ? 30 : 50; return OK; }

/* Processes */
static int give(device_t d, unsigned *count, process_t *rows, int gpu) {
    (void)d;
    unsigned need = list(gpu, NULL, 0);
    if (need > *count || (need && !rows)) { *count = need; return TOO_SMALL; }
    *count = list(gpu, rows, *count);
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(device_t d, unsigned *count, process_t *rows) { GPU(d); return give(d, count, rows, gpu); }
int nvmlDeviceGetComputeRunningProcesses_v2(device_t d, unsigned *count, process_t *rows) { GPU(d); return give(d, count, rows, gpu); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(device_t d, unsigned *count, process_t *rows) { GPU(d); (void)rows; *count = 0; return OK; }
int nvmlDeviceGetGraphicsRunningProcesses_v2(device_t d, unsigned *count, process_t *rows) { GPU(d); (void)rows; *count = 0; return OK; }
int nvmlDeviceGetMPSComputeRunningProcesses_v3(device_t d, unsigned *count, process_t *rows) { GPU(d); (void)rows; *count = 0; return OK; }
int nvmlDeviceGetProcessUtilization(device_t d, use_t *rows, unsigned *count, u64 since_us) {
    GPU(d);
    process_t found[256];
    unsigned need = list(gpu, found, 256);
    u64 stamp = wall_us() / 166667 * 166667; /* a sample every 1/6 s */
    if (need > 256) need = 256;
    if (!need || stamp <= since_us) return NOT_FOUND;
    if (need > *count || !rows) { *count = need; return TOO_SMALL; }
    for (unsigned i = 0; i < need; i++)
        rows[i] = (use_t){found[i].pid, stamp, (unsigned)(use(gpu, now_s()) / need), 10, 0, 0};
    *count = need;
    return OK;
}

/* Events: none ever comes */
int nvmlEventSetCreate(void **out) { ENTER; *out = (void *)0x77; return OK; }
int nvmlEventSetFree(void *events) { ENTER; (void)events; return OK; }
int nvmlDeviceGetSupportedEventTypes(device_t d, u64 *out) { GPU(d); *out = 0xF; return OK; }
int nvmlDeviceRegisterEvents(device_t d, u64 types, void *events) { GPU(d); (void)types; (void)events; return OK; }
int nvmlEventSetWait_v2(void *events, event_t *out, unsigned ms) { ENTER; (void)events; (void)out; usleep(ms * 1000); return TIMEOUT; }

/* GPM */
int nvmlGpmQueryDeviceSupport(device_t d, unsigned *out) { GPU(d); out[1] = 1; return OK; }
int nvmlGpmSampleAlloc(void **out) { ENTER; *out = malloc(16); return OK; }
int nvmlGpmSampleFree(void *sample) { ENTER; free(sample); return OK; }
int nvmlGpmSampleGet(device_t d, void *sample) { GPU(d); double *s = sample; s[0] = now_s(); s[1] = gpu; return OK; }
int nvmlGpmMetricsGet(metrics_t *m) {
    ENTER;
    double *s = m->second;
    for (unsigned i = 0; i < m->count; i++) {
        m->metrics[i].rc = OK;
        m->metrics[i].value = m->metrics[i].id >= 20 ? 1000.0 : use((int)s[1], s[0]) * 0.7;
    }
    return OK;
}
