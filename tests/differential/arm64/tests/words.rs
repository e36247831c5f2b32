// SPDX-License-Identifier: GPL-2.0

//! Every one of the 2^32 verdicts, compared with the kernel's.

#[cfg(not(kernel_oracle))]
#[test]
fn all_words_agree_with_the_kernel() {
    eprintln!("{}", ferroprobe_differential_arm64::SKIPPED);
}

#[cfg(kernel_oracle)]
mod compare {
    use ferroprobe_differential_arm64::oracle;
    use ferroprobe_engine::engine::insn::arm64::{self, Verdict};
    use std::thread;

    const CHUNK: usize = 1 << 16;
    const THREADS: u32 = 2;

    fn code(verdict: Verdict) -> u8 {
        match verdict {
            Verdict::Rejected(_) => 0,
            Verdict::Simulated => 1,
            Verdict::SteppableOutOfLine => 2,
        }
    }

    /// Compares the words from `first` up to 2^32, `step` words from one to
    /// the next chunk, and counts the verdicts.
    fn compare(first: u64, step: u64) -> Result<[u64; 3], String> {
        let mut counts = [0_u64; 3];
        let mut expected = vec![0_u8; CHUNK];
        let mut start = first;
        while let Ok(word) = u32::try_from(start) {
            oracle::verdicts(word, &mut expected);
            for (&kernel, word) in expected.iter().zip(word..=u32::MAX) {
                let ours = code(arm64::verdict(word));
                if ours != kernel {
                    return Err(format!("{word:#010x}: ours {ours}, kernel {kernel}"));
                }
                counts[usize::from(ours)] += 1;
            }
            start += step;
        }
        Ok(counts)
    }

    #[cfg_attr(
        debug_assertions,
        ignore = "takes minutes unoptimised: run with --release"
    )]
    #[test]
    fn all_words_agree_with_the_kernel() {
        let chunk = CHUNK as u64;
        let workers: Vec<_> = (0..u64::from(THREADS))
            .map(|i| thread::spawn(move || compare(i * chunk, u64::from(THREADS) * chunk)))
            .collect();
        let mut total = [0_u64; 3];
        for worker in workers {
            let counts = worker.join().unwrap().unwrap();
            for (sum, count) in total.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        println!(
            "{} rejected, {} simulated, {} steppable",
            total[0], total[1], total[2]
        );
        assert_eq!(total.iter().sum::<u64>(), 1 << 32);
    }

    #[test]
    fn a_sample_of_words_agrees_with_the_kernel() {
        // One chunk of 65536 words in every 211.
        compare(0, 211 * CHUNK as u64).unwrap();
    }
}
