// SPDX-License-Identifier: GPL-2.0

//! Compares every one of the 2^32 verdicts with the kernel's, and says how long
//! our own take alone.

use ferroprobe_differential_arm64::words::{code, compare, CHUNK};
use ferroprobe_differential_arm64::{PRESENT, SKIPPED};
use ferroprobe_engine::engine::code::insn::arm64;
use std::hint::black_box;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

fn main() -> ExitCode {
    if !PRESENT {
        println!("{SKIPPED}");
        return ExitCode::FAILURE;
    }
    let start = Instant::now();
    let judged: u64 = (0..=u32::MAX)
        .map(|word| u64::from(code(black_box(arm64::verdict(word)))))
        .sum();
    black_box(judged);
    let alone = start.elapsed();

    let start = Instant::now();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let workers: Vec<_> = (0..threads as u64)
        .map(|i| thread::spawn(move || compare(i * CHUNK as u64, threads as u64 * CHUNK as u64)))
        .collect();
    let mut total = [0_u64; 3];
    let mut failed = false;
    for worker in workers {
        match worker.join() {
            Ok(Ok(counts)) => {
                for (sum, count) in total.iter_mut().zip(counts) {
                    *sum += count;
                }
            }
            Ok(Err(message)) => {
                println!("{message}");
                failed = true;
            }
            Err(_) => failed = true,
        }
    }
    failed |= total.iter().sum::<u64>() != 1 << 32;
    println!(
        "{} rejected, {} simulated, {} steppable; {}",
        total[0],
        total[1],
        total[2],
        if failed { "they differ" } else { "all equal" }
    );
    println!(
        "{:.1} s for ours on one thread, {:.1} s to compare on {threads}",
        alone.as_secs_f64(),
        start.elapsed().as_secs_f64()
    );
    ExitCode::from(u8::from(failed))
}
