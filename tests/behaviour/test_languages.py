"""Keyword search in scripts with and without spaces: a rare word in the middle of a sentence is found."""

import random

import httpx
import pytest

from memex.model import Mode
from tests.behaviour.asking import ANA, search, store, store_all, texts

# Ordinary words of a language, a word that is rare there, and what stands between words.
LANGUAGES = {
    "zh": ("我 今天 喜欢 公园 咖啡 早上 朋友 一起 学习 工作 城市 天气 音乐 晚饭 喝茶 散步", "望远镜", ""),
    "ja": ("私は 今日 公園で コーヒーを 飲みます 友達と 毎朝 音楽が 好きです 仕事の 天気 夕食 散歩", "望遠鏡", ""),
    "ko": ("나는 오늘 공원에서 커피를 마신다 친구와 매일 음악을 좋아한다 도시의 날씨 저녁 산책", "망원경", " "),
    "th": ("ฉัน วันนี้ ชอบ สวน กาแฟ ตอนเช้า เพื่อน ด้วยกัน เรียน ทำงาน เมือง อากาศ ดนตรี เดิน", "กล้องโทรทรรศน์", ""),
    "ar": ("أنا اليوم أحب الحديقة القهوة صباحا صديقي معا الدراسة العمل المدينة الطقس الموسيقى", "تلسكوب", " "),
    "hi": ("मैं आज पसंद बगीचा कॉफी सुबह दोस्त साथ पढ़ाई काम शहर मौसम संगीत खाना", "दूरबीन", " "),
    "ru": ("я сегодня люблю парк кофе утром друг вместе учёба работа город погода музыка ужин", "телескоп", " "),
}


@pytest.mark.parametrize("language", sorted(LANGUAGES))
async def test_a_rare_word_in_the_middle_of_a_sentence_comes_first(rest: httpx.AsyncClient, language: str):
    words, rare, between = LANGUAGES[language]
    dice = random.Random(language)  # noqa: S311 - repeatable is what counts

    def sentence() -> list[str]:
        return dice.choices(words.split(), k=10)

    await store_all(rest, [between.join(sentence()) for _ in range(50)])
    begin, end = sentence(), sentence()
    wanted = await store(rest, between.join([*begin[:5], rare, *end[:5]]), created_at="2001-01-01")
    hits = await search(rest, rare, mode="keyword", alpha=1, explain=True)
    assert hits[0]["id"] == wanted["id"]
    assert hits[0]["explain"]["lexical"] > 2 * hits[1]["explain"]["lexical"]


async def test_facts_of_scripts_without_spaces_are_all_kept_apart(rest: httpx.AsyncClient):
    facts = [f"房间{number}在{number % 9}楼" for number in range(40)]
    await store_all(rest, facts)
    for number in (3, 17, 39):
        found = await texts(rest, f"房间{number}", mode="keyword", alpha=1, top_k=1)
        assert found == [facts[number]]
    for mode in Mode:
        assert set(await texts(rest, "房间", mode=mode, top_k=50)) == set(facts)


async def test_numbers_tell_otherwise_equal_facts_apart(rest: httpx.AsyncClient):
    facts = [f"Order {71_000 + number} was paid on day {number}." for number in range(50)]
    await store_all(rest, facts)
    for mode in Mode:
        assert set(await texts(rest, "order", mode=mode, top_k=50)) == set(facts)
        assert (await texts(rest, "Order 71033", mode=mode, alpha=1))[0] == facts[33]


async def test_thirty_near_equal_facts_are_kept_apart_and_each_is_found_by_its_number(rest: httpx.AsyncClient):
    facts = {
        number: f"Room {number} is on floor {number // 10}, phone 555 {number * 7919}." for number in range(10, 40)
    }
    await store_all(rest, facts.values())
    for mode in Mode:
        assert set(await texts(rest, "room floor phone", mode=mode, top_k=50)) == set(facts.values())
        for number, fact in facts.items():
            assert (await texts(rest, f"phone {number * 7919}", mode=mode, alpha=1, top_k=1)) == [fact]


async def test_a_correction_stands_beside_what_it_corrects(rest: httpx.AsyncClient):
    await store(rest, "Ana lives in Paris.", created_at="2024-01-01")
    await store(rest, "Ana lives in Berlin.", created_at="2025-01-01")
    for mode in Mode:
        found = await texts(rest, "Where does Ana live?", mode=mode)
        assert found == ["Ana lives in Berlin.", "Ana lives in Paris."]


async def test_one_text_in_two_unicode_forms_is_one_text(rest: httpx.AsyncClient):
    await store(rest, "Caf\u00e9 Ren\u00e9")
    await store(rest, "Cafe\u0301 Rene\u0301")
    for mode in Mode:
        for query in ("cafe\u0301", "caf\u00e9"):
            (found,) = await search(rest, query, mode=mode, alpha=1)
            assert (found["duplicates"], found["user_id"]) == (1, ANA["user_id"])
            assert found["score"] > 1e-3
