/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FPTWINS_H
#define FPTWINS_H

struct kernel_param;

int fptwins_set_second(const char *text, const struct kernel_param *param);

#endif
