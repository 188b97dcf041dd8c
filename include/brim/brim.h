/* brim/brim.h: everything. */
#ifndef BRIM_BRIM_H
#define BRIM_BRIM_H
#include "brim/base.h"
#include "brim/batch.h"
#include "brim/data.h"
#include "brim/device.h"
#include "brim/dist.h"
#include "brim/embed.h"
#include "brim/feed.h"
#include "brim/model.h"
#include "brim/profile.h"
#include "brim/report.h"
#include "brim/study.h"
#include "brim/task.h"
#include "brim/text.h"
#include "brim/train.h"
#include "brim/views.h"
#endif
