//! Scripts that do not part words by spaces.

/// Blocks of Chinese, Japanese, Korean and Thai letters, ascending. Digits of these scripts are left to words.
const UNSPACED: [(u32, u32); 23] = [
    (0x0e01, 0x0e3a),   // Thai
    (0x0e40, 0x0e4e),   // Thai
    (0x1100, 0x11ff),   // Hangul Jamo
    (0x2e80, 0x2fdf),   // radicals
    (0x3005, 0x3007),   // iteration mark, closing mark, zero
    (0x3021, 0x3029),   // Hangzhou numerals
    (0x302a, 0x302f),   // tone marks
    (0x3031, 0x3035),   // kana repeat marks
    (0x3038, 0x303c),   // Hangzhou numerals, masu mark
    (0x3041, 0x3096),   // Hiragana
    (0x3099, 0x309f),   // Hiragana marks
    (0x30a1, 0x30ff),   // Katakana
    (0x3105, 0x312f),   // Bopomofo
    (0x3131, 0x318e),   // Hangul compatibility
    (0x31a0, 0x31bf),   // Bopomofo
    (0x31f0, 0x31ff),   // Katakana
    (0x3400, 0x4dbf),   // Han
    (0x4e00, 0x9fff),   // Han
    (0xa960, 0xa97f),   // Hangul Jamo
    (0xac00, 0xd7ff),   // Hangul
    (0xf900, 0xfaff),   // Han
    (0x1aff0, 0x1b16f), // Kana
    (0x20000, 0x3ffff), // Han
];

/// Whether a character belongs to a script that does not part words by spaces.
pub(super) fn is_unspaced(character: char) -> bool {
    let code = u32::from(character);
    let after = UNSPACED.partition_point(|&(first, _)| first <= code);
    after > 0 && code <= UNSPACED[after - 1].1
}

#[cfg(test)]
mod tests {
    use super::{UNSPACED, is_unspaced};

    #[test]
    fn blocks_ascend() {
        assert!(UNSPACED.iter().all(|(first, last)| first <= last));
        assert!(UNSPACED.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn letters_of_unspaced_scripts_are_told_from_others() {
        assert!("构 か カ ー 한 ก ไ 々 𠀀".split(' ').all(|s| s.chars().all(is_unspaced)));
        assert!(!"aéжक۱๑٣0_".chars().any(is_unspaced));
    }
}
