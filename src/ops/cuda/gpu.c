/* gpu.c: what is there of a GPU, before anything is opened on it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "brim/device.h"
#include "ops/cuda/compile.h"
#include "ops/cuda/cuda.h"

static int find_card(brim_cuda *d, brim_gpu_info *out, brim_error *err) {
  size_t memory = 0;
  if (d->driver.cuDriverGetVersion(&out->driver_version))
    out->driver_version = 0;
  BRIM_TRY(brim_cuda_find_card(d, 0, &out->cards, err));
  out->capability = d->capability;
  if (d->driver.cuDeviceGetName(out->name, sizeof out->name, d->device))
    snprintf(out->name, sizeof out->name, "unknown");
  if (d->driver.cuDeviceTotalMem_v2(&memory, d->device) == 0)
    out->memory = memory;
  return BRIM_OK;
}

static int find_compiler(brim_gpu_info *out, brim_error *err) {
  brim_nvrtc nvrtc;
  int major = 0, minor = 0;
  if (brim_cuda_made(out->capability, out->compiler))
    return BRIM_OK;
  BRIM_TRY(brim_nvrtc_open(&nvrtc, err));
  if (nvrtc.nvrtcVersion(&major, &minor) == 0)
    out->compiler_version = 1000 * major + 10 * minor;
  snprintf(out->compiler, sizeof out->compiler, "%s", nvrtc.path);
  brim_nvrtc_close(&nvrtc);
  return BRIM_OK;
}

static void find_products(brim_gpu_info *out) {
  brim_cublaslt lt;
  if (!brim_cublaslt_open(&lt))
    return;
  const int version = (int)lt.cublasLtGetVersion(); /* 10000 * major + 100 * minor + patch */
  out->products_version = version / 10000 * 1000 + version / 100 % 100 * 10;
  snprintf(out->products, sizeof out->products, "%s", lt.path);
  brim_cublaslt_close(&lt);
}

int brim_gpu_own(int cards) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                                      "SLURM_LOCALID", "LOCAL_RANK"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *said = getenv(names[i]);
    if (said && *said && cards > 0)
      return (int)(strtoul(said, NULL, 10) % (unsigned long)cards);
  }
  return 0;
}

int brim_gpu_find(brim_gpu_info *out, brim_error *err) {
  BRIM_OUT(err, out);
  brim_cuda d = {0};
  int status = brim_cuda_driver_open(&d.driver, err);
  if (!status) {
    snprintf(out->driver, sizeof out->driver, "%s", d.driver.path);
    status = find_card(&d, out, err);
  }
  brim_cuda_driver_close(&d.driver);
  if (!status)
    status = find_compiler(out, err);
  if (!status)
    find_products(out);
  return status;
}
