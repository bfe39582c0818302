-- The parts of the score of an answer, and how many copies it stands for.
a.score, a.cosine, a.lexical, a.relevance, a.recency, a.factor, coalesce(c.others, 0)
