//! What one core and the memory of this machine can do at most, as one JSON object. Takes about a second.
//!
//! Arithmetic stays in registers: as many independent accumulators as hide the latency of an instruction. Memory is
//! only read, from an array far larger than the caches. Each figure is the median of [`REPEATS`] runs after one more.

use std::array;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

const REPEATS: usize = 9;
/// Instructions in flight: the longest latency (5 cycles on Zen 4) times the most of them per cycle, and room.
const ACCUMULATORS: usize = 16;
const TURNS: u32 = 4_000_000;
const MIB: usize = 1 << 20;
/// Read by one thread alone.
const ARRAY: usize = 256 * MIB;
/// Read by each of all threads: a few cores that share one cache exceed it together.
const SHARE: usize = 64 * MIB;
/// 64-bit numbers that are summed side by side: eight registers of 512 bits.
const LANES: usize = 64;

fn main() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let memory = vec![black_box(1_u64); ARRAY.max(SHARE * cores) / size_of::<u64>()];
    let alone = &memory[..ARRAY / size_of::<u64>()];
    println!(
        r#"{{"int8_gops": {}, "fp32_gflops": {:.1}, "read_gb_per_s": {:.2}, "read_all_cores_gb_per_s": {:.2}}}"#,
        int8_gops().map_or("null".into(), |rate| format!("{rate:.1}")),
        fp32_gflops(),
        billions_per_second(size_of_val(alone), || seconds(|| sum(alone))),
        billions_per_second(size_of_val(&*memory), || seconds_of_all(cores, &memory)),
    );
}

/// The median of several runs of `run`, which gives the seconds that `amount` operations or bytes took.
fn billions_per_second(amount: usize, mut run: impl FnMut() -> f64) -> f64 {
    run();
    let mut runs: [f64; REPEATS] = array::from_fn(|_| run());
    runs.sort_by(f64::total_cmp);
    amount as f64 / runs[REPEATS / 2] / 1e9
}

fn seconds<T>(work: impl FnOnce() -> T) -> f64 {
    let begin = Instant::now();
    black_box(work());
    begin.elapsed().as_secs_f64()
}

/// Seconds until each of `cores` threads, all started together, has read its part of `memory`.
fn seconds_of_all(cores: usize, memory: &[u64]) -> f64 {
    let start = Barrier::new(cores + 1);
    thread::scope(|scope| {
        let readers = memory.chunks(memory.len().div_ceil(cores));
        let readers = readers.map(|part| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                black_box(sum(part));
            })
        });
        let readers: Vec<_> = readers.collect();
        start.wait();
        seconds(|| readers.into_iter().for_each(|reader| reader.join().expect("a reader only adds")))
    })
}

/// The sum, in vectors of the widest kind.
fn sum(numbers: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: this machine has AVX-512F.
        return unsafe { x86::sum_avx512(numbers) };
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: this machine has AVX2.
        return unsafe { x86::sum_avx2(numbers) };
    }
    sum_in_lanes(numbers)
}

/// Compiled anew for each instruction set that calls it.
#[inline(always)]
#[allow(clippy::inline_always)] // otherwise it keeps the baseline's instructions
fn sum_in_lanes(numbers: &[u64]) -> u64 {
    let (rows, rest) = numbers.as_chunks::<LANES>();
    let mut sums = [0_u64; LANES];
    for row in rows {
        for (sum, number) in sums.iter_mut().zip(row) {
            *sum = sum.wrapping_add(*number);
        }
    }
    sums.iter().chain(rest).fold(0, |total, number| total.wrapping_add(*number))
}

/// 10⁹ multiplications and additions a second of `vpdpbusd`, 64 of each in one; None without AVX-512 VNNI.
fn int8_gops() -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
        // SAFETY: this machine has AVX-512F and VNNI.
        let run = || seconds(|| unsafe { x86::dot_products() });
        return Some(billions_per_second(2 * 64 * ACCUMULATORS * TURNS as usize, run));
    }
    None
}

/// 10⁹ multiplications and additions a second.
fn fp32_gflops() -> f64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: this machine has AVX-512F.
        let run = || seconds(|| unsafe { x86::fma_avx512() });
        return billions_per_second(2 * 16 * ACCUMULATORS * TURNS as usize, run);
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: this machine has AVX2 and FMA.
        let run = || seconds(|| unsafe { x86::fma_avx2() });
        return billions_per_second(2 * 8 * x86::ACCUMULATORS_AVX2 * TURNS as usize, run);
    }
    billions_per_second(2 * 4 * ACCUMULATORS * TURNS as usize, || seconds(multiply_and_add))
}

/// For the compiler to make vectors of 128 bits of, which every 64-bit architecture has.
fn multiply_and_add() -> [f32; 4 * ACCUMULATORS] {
    let (factor, term) = black_box((0.5_f32, 1.0_f32));
    let mut sums = black_box([0.0_f32; 4 * ACCUMULATORS]);
    for _ in 0..TURNS {
        for sum in &mut sums {
            // Fused where every machine of the architecture can; elsewhere that would be a call.
            *sum = if cfg!(target_arch = "aarch64") { sum.mul_add(factor, term) } else { *sum * factor + term };
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256, __m512, __m512i, _mm256_fmadd_ps, _mm256_set1_ps, _mm512_dpbusd_epi32, _mm512_fmadd_ps,
        _mm512_set1_epi8, _mm512_set1_ps, _mm512_setzero_si512,
    };
    use std::hint::black_box;

    use super::{ACCUMULATORS, TURNS, sum_in_lanes};

    /// Two of the 16 registers hold the factors.
    pub const ACCUMULATORS_AVX2: usize = 12;

    #[target_feature(enable = "avx512f")]
    pub fn sum_avx512(numbers: &[u64]) -> u64 {
        sum_in_lanes(numbers)
    }

    #[target_feature(enable = "avx2")]
    pub fn sum_avx2(numbers: &[u64]) -> u64 {
        sum_in_lanes(numbers)
    }

    // The compiler must not see that all accumulators hold the same, or it computes one.

    #[target_feature(enable = "avx512f,avx512vnni")]
    pub fn dot_products() -> [__m512i; ACCUMULATORS] {
        let (bytes, weights) = black_box((_mm512_set1_epi8(3), _mm512_set1_epi8(-5)));
        let mut sums = black_box([_mm512_setzero_si512(); ACCUMULATORS]);
        for _ in 0..TURNS {
            for sum in &mut sums {
                *sum = _mm512_dpbusd_epi32(*sum, bytes, weights);
            }
        }
        sums
    }

    #[target_feature(enable = "avx512f")]
    pub fn fma_avx512() -> [__m512; ACCUMULATORS] {
        let (factor, term) = black_box((_mm512_set1_ps(0.5), _mm512_set1_ps(1.0)));
        let mut sums = black_box([_mm512_set1_ps(0.0); ACCUMULATORS]);
        for _ in 0..TURNS {
            for sum in &mut sums {
                *sum = _mm512_fmadd_ps(*sum, factor, term);
            }
        }
        sums
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn fma_avx2() -> [__m256; ACCUMULATORS_AVX2] {
        let (factor, term) = black_box((_mm256_set1_ps(0.5), _mm256_set1_ps(1.0)));
        let mut sums = black_box([_mm256_set1_ps(0.0); ACCUMULATORS_AVX2]);
        for _ in 0..TURNS {
            for sum in &mut sums {
                *sum = _mm256_fmadd_ps(*sum, factor, term);
            }
        }
        sums
    }
}
