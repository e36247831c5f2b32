// SPDX-License-Identifier: GPL-2.0

//! Nothing: the manifest has to name a source.
