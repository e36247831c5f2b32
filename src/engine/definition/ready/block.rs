// SPDX-License-Identifier: GPL-2.0

//! The events of block devices: `include/trace/events/block.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    BLK_ZONE_APPEND_UPDATE_REQUEST_BIO {
        (dev_t) dev = "rq->q->disk->part0->bd_dev:u32",
        (sector_t) sector = "rq->__sector:u64" as RequestSector,
        (unsigned int) nr_sector = "rq->__data_len:b23@9/32",
        (unsigned int) bytes = "rq->__data_len:u32",
        (unsigned short) ioprio = "rq->bio->bi_ioprio:u16",
        (char) rwbs = "rq->cmd_flags:u32" as Rwbs,
        (char) comm = "$comm",
        (__data_loc char[]) cmd = r#"\"""#,
    }
    concat!(
            r#""%d,%d %s %u (%s) %llu + %u %s,%u,%u [%s]", ((unsigned int) ((REC->dev) >> 20)), "#,
            r#"((unsigned int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, REC->bytes, "#,
            r#"__get_str(cmd), (unsigned long long)REC->sector, REC->nr_sector, "#,
            r#"__print_symbolic((((REC->ioprio) >> 13) & (8 - 1)), { IOPRIO_CLASS_NONE, "none" }, "#,
            r#"{ IOPRIO_CLASS_RT, "rt" }, { IOPRIO_CLASS_BE, "be" }, { IOPRIO_CLASS_IDLE, "idle" "#,
            r#"}, { IOPRIO_CLASS_INVALID, "invalid"}), (((REC->ioprio) >> 3) & ((1 << 10) - 1)), "#,
            r#"((REC->ioprio) & ((1 << 3) - 1)), REC->comm"#,
        )
}

shape! {
    BLK_ZONE_WPLUG_BIO {
        (dev_t) dev = "q->disk->part0->bd_dev:u32",
        (unsigned int) zno = "zno:u32",
        (sector_t) sector = "sector:u64",
        (unsigned int) nr_sectors = "nr_sectors:u32",
    }
    concat!(
            r#""%d,%d zone %u, BIO %llu + %u", ((unsigned int) ((REC->dev) >> 20)), ((unsigned "#,
            r#"int) ((REC->dev) & ((1U << 20) - 1))), REC->zno, (unsigned long long)REC->sector, "#,
            r#"REC->nr_sectors"#,
        )
}

shape! {
    BLKDEV_ZONE_MGMT {
        (dev_t) dev = "bio->bi_bdev->bd_dev:u32",
        (sector_t) sector = "bio->bi_iter.bi_sector:u64",
        (sector_t) nr_sectors = "bio->bi_iter.bi_size:b23@9/64",
        (char) rwbs = "bio->bi_opf:u32" as Rwbs,
    }
    concat!(
            r#""%d,%d %s %llu + %llu", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) "#,
            r#"((REC->dev) & ((1U << 20) - 1))), REC->rwbs, (unsigned long long)REC->sector, "#,
            r#"REC->nr_sectors"#,
        )
}

shape! {
    BLOCK_BIO_BACKMERGE {
        (dev_t) dev = "bio->bi_bdev->bd_dev:u32",
        (sector_t) sector = "bio->bi_iter.bi_sector:u64",
        (unsigned int) nr_sector = "bio->bi_iter.bi_size:b23@9/32",
        (char) rwbs = "bio->bi_opf:u32" as Rwbs,
        (char) comm = "$comm",
    }
    concat!(
            r#""%d,%d %s %llu + %u [%s]", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) "#,
            r#"((REC->dev) & ((1U << 20) - 1))), REC->rwbs, (unsigned long long)REC->sector, "#,
            r#"REC->nr_sector, REC->comm"#,
        )
}

shape! {
    BLOCK_BIO_COMPLETE {
        (dev_t) dev = "bio->bi_bdev->bd_dev:u32",
        (sector_t) sector = "bio->bi_iter.bi_sector:u64",
        (unsigned) nr_sector = "bio->bi_iter.bi_size:b23@9/32",
        (int) error = "bio->bi_status:u8" as BlockErrno,
        (char) rwbs = "bio->bi_opf:u32" as Rwbs,
    }
    concat!(
            r#""%d,%d %s %llu + %u [%d]", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) "#,
            r#"((REC->dev) & ((1U << 20) - 1))), REC->rwbs, (unsigned long long)REC->sector, "#,
            r#"REC->nr_sector, REC->error"#,
        )
}

shape! {
    BLOCK_BIO_REMAP {
        (dev_t) dev = "bio->bi_bdev->bd_dev:u32",
        (sector_t) sector = "bio->bi_iter.bi_sector:u64",
        (unsigned int) nr_sector = "bio->bi_iter.bi_size:b23@9/32",
        (dev_t) old_dev = "dev:u32",
        (sector_t) old_sector = "from:u64",
        (char) rwbs = "bio->bi_opf:u32" as Rwbs,
    }
    concat!(
            r#""%d,%d %s %llu + %u <- (%d,%d) %llu", ((unsigned int) ((REC->dev) >> 20)), "#,
            r#"((unsigned int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, (unsigned long "#,
            r#"long)REC->sector, REC->nr_sector, ((unsigned int) ((REC->old_dev) >> 20)), "#,
            r#"((unsigned int) ((REC->old_dev) & ((1U << 20) - 1))), (unsigned long "#,
            r#"long)REC->old_sector"#,
        )
}

shape! {
    BLOCK_DIRTY_BUFFER {
        (dev_t) dev = "bh->b_bdev->bd_dev:u32",
        (sector_t) sector = "bh->b_blocknr:u64",
        (size_t) size = "bh->b_size:u64",
    }
    concat!(
            r#""%d,%d sector=%llu size=%zu", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) "#,
            r#"((REC->dev) & ((1U << 20) - 1))), (unsigned long long)REC->sector, REC->size"#,
        )
}

shape! {
    BLOCK_PLUG {
        (char) comm = "$comm",
    }
    r#""[%s]", REC->comm"#
}

shape! {
    BLOCK_RQ_COMPLETE {
        (dev_t) dev = "rq->q->disk->part0->bd_dev:u32",
        (sector_t) sector = "rq->__sector:u64",
        (unsigned int) nr_sector = "nr_bytes:b23@9/32",
        (int) error = "error:u8" as BlockErrno,
        (unsigned short) ioprio = "rq->bio->bi_ioprio:u16",
        (char) rwbs = "rq->cmd_flags:u32" as Rwbs,
        (__data_loc char[]) cmd = r#"\"""#,
    }
    concat!(
            r#""%d,%d %s (%s) %llu + %u %s,%u,%u [%d]", ((unsigned int) ((REC->dev) >> 20)), "#,
            r#"((unsigned int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, __get_str(cmd), "#,
            r#"(unsigned long long)REC->sector, REC->nr_sector, __print_symbolic((((REC->ioprio) "#,
            r#">> 13) & (8 - 1)), { IOPRIO_CLASS_NONE, "none" }, { IOPRIO_CLASS_RT, "rt" }, { "#,
            r#"IOPRIO_CLASS_BE, "be" }, { IOPRIO_CLASS_IDLE, "idle" }, { IOPRIO_CLASS_INVALID, "#,
            r#""invalid"}), (((REC->ioprio) >> 3) & ((1 << 10) - 1)), ((REC->ioprio) & ((1 << 3) - "#,
            r#"1)), REC->error"#,
        )
}

shape! {
    BLOCK_RQ_REQUEUE {
        (dev_t) dev = "rq->q->disk->part0->bd_dev:u32",
        (sector_t) sector = "rq->__sector:u64" as RequestSector,
        (unsigned int) nr_sector = "rq->__data_len:b23@9/32",
        (unsigned short) ioprio = "rq->bio->bi_ioprio:u16",
        (char) rwbs = "rq->cmd_flags:u32" as Rwbs,
        (__data_loc char[]) cmd = r#"\"""#,
    }
    concat!(
            r#""%d,%d %s (%s) %llu + %u %s,%u,%u [%d]", ((unsigned int) ((REC->dev) >> 20)), "#,
            r#"((unsigned int) ((REC->dev) & ((1U << 20) - 1))), REC->rwbs, __get_str(cmd), "#,
            r#"(unsigned long long)REC->sector, REC->nr_sector, __print_symbolic((((REC->ioprio) "#,
            r#">> 13) & (8 - 1)), { IOPRIO_CLASS_NONE, "none" }, { IOPRIO_CLASS_RT, "rt" }, { "#,
            r#"IOPRIO_CLASS_BE, "be" }, { IOPRIO_CLASS_IDLE, "idle" }, { IOPRIO_CLASS_INVALID, "#,
            r#""invalid"}), (((REC->ioprio) >> 3) & ((1 << 10) - 1)), ((REC->ioprio) & ((1 << 3) - "#,
            r#"1)), 0"#,
        )
}

shape! {
    BLOCK_SPLIT {
        (dev_t) dev = "bio->bi_bdev->bd_dev:u32",
        (sector_t) sector = "bio->bi_iter.bi_sector:u64",
        (sector_t) new_sector = "new_sector:u64",
        (char) rwbs = "bio->bi_opf:u32" as Rwbs,
        (char) comm = "$comm",
    }
    concat!(
            r#""%d,%d %s %llu / %llu [%s]", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) "#,
            r#"((REC->dev) & ((1U << 20) - 1))), REC->rwbs, (unsigned long long)REC->sector, "#,
            r#"(unsigned long long)REC->new_sector, REC->comm"#,
        )
}

shape! {
    BLOCK_UNPLUG {
        (int) nr_rq = "depth:s32",
        (char) comm = "$comm",
    }
    r#""[%s] %d", REC->comm, REC->nr_rq"#
}

/// The events.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new(
        "blk_zone_append_update_request_bio",
        &BLK_ZONE_APPEND_UPDATE_REQUEST_BIO,
    ),
    ReadyRow::new("blk_zone_wplug_bio", &BLK_ZONE_WPLUG_BIO),
    ReadyRow::new("blkdev_zone_mgmt", &BLKDEV_ZONE_MGMT),
    ReadyRow::new("block_bio_backmerge", &BLOCK_BIO_BACKMERGE),
    ReadyRow::new("block_bio_complete", &BLOCK_BIO_COMPLETE),
    ReadyRow::new("block_bio_frontmerge", &BLOCK_BIO_BACKMERGE),
    ReadyRow::new("block_bio_queue", &BLOCK_BIO_BACKMERGE),
    ReadyRow::new("block_bio_remap", &BLOCK_BIO_REMAP),
    ReadyRow::new("block_dirty_buffer", &BLOCK_DIRTY_BUFFER),
    ReadyRow::new("block_getrq", &BLOCK_BIO_BACKMERGE),
    ReadyRow::new("block_io_done", &BLK_ZONE_APPEND_UPDATE_REQUEST_BIO),
    ReadyRow::new("block_io_start", &BLK_ZONE_APPEND_UPDATE_REQUEST_BIO),
    ReadyRow::new("block_plug", &BLOCK_PLUG),
    ReadyRow::new("block_rq_complete", &BLOCK_RQ_COMPLETE),
    ReadyRow::new("block_rq_error", &BLOCK_RQ_COMPLETE),
    ReadyRow::new("block_rq_insert", &BLK_ZONE_APPEND_UPDATE_REQUEST_BIO),
    ReadyRow::new("block_rq_issue", &BLK_ZONE_APPEND_UPDATE_REQUEST_BIO),
    ReadyRow::new("block_rq_merge", &BLK_ZONE_APPEND_UPDATE_REQUEST_BIO),
    ReadyRow::new("block_rq_requeue", &BLOCK_RQ_REQUEUE),
    ReadyRow::new("block_split", &BLOCK_SPLIT),
    ReadyRow::new("block_touch_buffer", &BLOCK_DIRTY_BUFFER),
    ReadyRow::new("block_unplug", &BLOCK_UNPLUG),
    ReadyRow::new("disk_zone_wplug_add_bio", &BLK_ZONE_WPLUG_BIO),
];
