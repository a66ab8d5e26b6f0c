/* Builds programs by an OpenCL driver and makes their kernels, so that the driver compiles them; what it says of them is the driver's.
 *
 * client LIST     Each line of LIST is a file, a tab, and its build options: the driver's start takes a minute, a file some seconds.
 *                 Lines on standard error say which file and which kernel comes, and which file is not built.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

extern int clGetPlatformIDs(unsigned, handle *, unsigned *);
extern int clGetDeviceIDs(handle, unsigned long, unsigned, handle *, unsigned *);
extern handle clCreateContext(const void *, unsigned, const handle *, void *, void *, int *);
extern handle clCreateProgramWithSource(handle, unsigned, const char **, const size_t *, int *);
extern int clBuildProgram(handle, unsigned, const handle *, const char *, void *, void *);
extern int clGetProgramBuildInfo(handle, handle, unsigned, size_t, void *, size_t *);
extern int clCreateKernelsInProgram(handle, unsigned, handle *, unsigned *);

enum { BUILD_LOG = 0x1183, MOST_BYTES = 1 << 22, MOST_KERNELS = 1024 };

static const unsigned long ALL_DEVICES = 0xFFFFFFFF;

static char text[MOST_BYTES];

static void compile(handle context, handle device, const char *options, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "=== NOT BUILT %s: cannot be read\n", path);
        return;
    }
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    fprintf(stderr, "=== FILE %s\n", path);
    const char *source = text;
    int error;
    handle program = clCreateProgramWithSource(context, 1, &source, &size, &error);
    if (clBuildProgram(program, 1, &device, options, NULL, NULL)) {
        static char log[65536];
        clGetProgramBuildInfo(program, device, BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "=== NOT BUILT %s: %.500s\n", path, log);
        return;
    }
    static handle kernels[MOST_KERNELS];
    unsigned count = 0;
    error = clCreateKernelsInProgram(program, MOST_KERNELS, kernels, &count);
    fprintf(stderr, "=== KERNELS %u of %s (%d)\n", count, path, error);
}

int main(int count, char **words) {
    handle platform, device;
    unsigned found;
    int error;
    FILE *list = count == 2 ? fopen(words[1], "r") : NULL;
    if (!list) {
        fprintf(stderr, "=== NO LIST\n");
        return 2;
    }
    if (clGetPlatformIDs(1, &platform, &found) || clGetDeviceIDs(platform, ALL_DEVICES, 1, &device, &found)) {
        fprintf(stderr, "=== NO DEVICE\n");
        return 2;
    }
    handle context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    static char line[65536];
    while (fgets(line, sizeof line, list)) {
        char *options = strchr(line, '\t');
        if (!options) continue;
        *options++ = 0;
        options[strcspn(options, "\n")] = 0;
        compile(context, device, options, line);
    }
    return 0;
}
