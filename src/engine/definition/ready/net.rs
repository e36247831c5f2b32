// SPDX-License-Identifier: GPL-2.0

//! The events of network devices: `include/trace/events/net.h`.

use super::row::{shape, ReadyRow};
use crate::engine::record::{Class, ReadyField, ReadyShape};

shape! {
    NAPI_GRO_FRAGS_EXIT {
        (int) ret = "ret:s32",
    }
    r#""ret=%d", REC->ret"#
}

shape! {
    NET_DEV_QUEUE {
        (void *) skbaddr = "skb:x64",
        (unsigned int) len = "skb->len:u32",
        (__data_loc char[]) name = "skb->dev->name:string",
        (u64) net_cookie = "skb->dev->nd_net.net->net_cookie:u64",
    }
    concat!(
            r#""dev=%s skbaddr=%p len=%u net_cookie=%llu", __get_str(name), REC->skbaddr, "#,
            r#"REC->len, REC->net_cookie"#,
        )
}

shape! {
    NET_DEV_XMIT {
        (void *) skbaddr = "skb:x64",
        (unsigned int) len = "skb_len:u32",
        (int) rc = "rc:s32",
        (__data_loc char[]) name = "dev->name:string",
        (u64) net_cookie = "dev->nd_net.net->net_cookie:u64",
    }
    concat!(
            r#""dev=%s skbaddr=%p len=%u rc=%d net_cookie=%llu", __get_str(name), REC->skbaddr, "#,
            r#"REC->len, REC->rc, REC->net_cookie"#,
        )
}

shape! {
    NET_DEV_XMIT_TIMEOUT {
        (__data_loc char[]) name = "dev->name:string",
        (__data_loc char[]) driver = "dev->dev.parent->driver->name:string",
        (int) queue_index = "queue_index:s32",
        (u64) net_cookie = "dev->nd_net.net->net_cookie:u64",
    }
    concat!(
            r#""dev=%s driver=%s queue=%d net_cookie=%llu", __get_str(name), __get_str(driver), "#,
            r#"REC->queue_index, REC->net_cookie"#,
        )
}

/// The events.
pub(super) const ROWS: &[ReadyRow] = &[
    ReadyRow::new("napi_gro_frags_exit", &NAPI_GRO_FRAGS_EXIT),
    ReadyRow::new("napi_gro_receive_exit", &NAPI_GRO_FRAGS_EXIT),
    ReadyRow::new("net_dev_queue", &NET_DEV_QUEUE),
    ReadyRow::new("net_dev_xmit", &NET_DEV_XMIT),
    ReadyRow::new("net_dev_xmit_timeout", &NET_DEV_XMIT_TIMEOUT),
    ReadyRow::new("netif_receive_skb", &NET_DEV_QUEUE),
    ReadyRow::new("netif_receive_skb_exit", &NAPI_GRO_FRAGS_EXIT),
    ReadyRow::new("netif_receive_skb_list_exit", &NAPI_GRO_FRAGS_EXIT),
    ReadyRow::new("netif_rx", &NET_DEV_QUEUE),
    ReadyRow::new("netif_rx_exit", &NAPI_GRO_FRAGS_EXIT),
];
