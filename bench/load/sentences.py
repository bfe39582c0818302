"""The sentences of the load tests, all our own: a few fixed ones, and patterns of which no two give the same text."""

import math

import msgspec

# 54 to 79 characters each.
TEXTS = (
    "The customer asked for invoices in PDF form and wants them every Monday morning",
    "Her flight to Lisbon leaves at nine, so we meet on Thursday",
    "He prefers short answers with one code example and no introduction at all",
    "The staging database was restored from the backup of March",
    "Their team writes services in Go and its tools in Python",
    "She is allergic to peanuts and asks for a vegetarian menu at every event",
    "The deployment failed because a certificate had expired last week",
    "The heating in the office turns itself off after seven",
    "The quarterly report needs all numbers before Wednesday",
    "She moved from Oslo to Vienna in spring and works from home on Fridays",
    "The printer upstairs only accepts paper from the lower tray",
    "Their contract ends in September and may be extended by two more years",
    "He wants a reminder one day before the birthday of each of his children",
    "The search page became slow after the index on the users table was lost",
    "She reads every error message aloud before she looks at the source code",
)
# 28 to 45 characters each.
QUERIES = (
    "When does her flight to Lisbon leave?",
    "Which food should the menu leave out?",
    "Why did the deployment fail last week?",
    "What language are the services written in?",
    "How does he like his answers to look?",
    "When is the quarterly report needed?",
    "Where did she move to in spring?",
    "What made the search page slow?",
)

OPENINGS = ("When", "Where", "Why", "How")
NAMES = (
    "Ada Alma Anton Arno Berta Boris Carla Cleo David Edith Elias Emil Erik Fanny Felix Frida Greta Hugo Ida Igor "
    "Irma Jakob Jana Jonas Karl Lea Leon Luisa Marta Mila Nina Olga Oskar Paul Pia Rosa Simon Tara Tom Vera"
)
VERBS = (
    "adjust alter block borrow brush check clean crack crush export fetch finish fold knock lift lock mail mend "
    "offer open order pack paint pass pick polish print pull push record reject repair report return review sketch "
    "sort turn unpack wash"
)
QUALITIES = (
    "black blue brass brown cheap clean cold dark dusty empty extra green grey heavy huge light long loose loud new "
    "odd old outer pale plain quiet red round rusty sharp short small smart soft spare steel thick tiny warm white"
)
THINGS = (
    "anchor apron basket bell blanket bottle bowl brick bucket cabinet camera candle chair clock coat curtain desk "
    "door drill drum engine fence flag frame gate guitar hammer helmet kettle ladder lamp lantern map mirror needle "
    "parcel pump radio saddle sledge"
)
PLACES = (
    "in Porto today; behind the mill; at the station; by the lake; near the church; on the terrace; "
    "in the cellar; at the market; under the roof; in the garage; beside the well; at the harbour"
)
TIMES = (
    "last winter; this spring; on Tuesday; before noon; after lunch; in October; at midnight; on Sunday; yesterday; "
    "in the rain; last week; at sunrise"
)
PRIME = 2_654_435_761  # no multiple of a list's length, so index · PRIME mod size visits each text once


class Pattern(msgspec.Struct, frozen=True):
    """Sentences of one form, one word of each list: any index below `size` gives a text of its own."""

    form: str
    words: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """How many different texts there are."""
        return math.prod(map(len, self.words))

    def text(self, index: int) -> str:
        """The text of that index, 0 … size - 1; neighbouring indices share few words."""
        rest = index * PRIME % self.size
        chosen = []
        for list_ in self.words:
            rest, at = divmod(rest, len(list_))
            chosen.append(list_[at])
        return self.form.format(*chosen)


# 31 to 45 and 54 to 79 characters, as the fixed ones.
names, verbs, qualities, things = (tuple(words.split()) for words in (NAMES, VERBS, QUALITIES, THINGS))
places, times = (tuple(words.split("; ")) for words in (PLACES, TIMES))
QUESTION = Pattern("{} did {} {} {}'s {} {}?", (OPENINGS, names, verbs, names, qualities, things))
STATEMENT = Pattern("{} said that {}'s {} {} was {}ed {} {}", (names, names, qualities, things, verbs, places, times))
