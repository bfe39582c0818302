-- The question: its words $9, each with how often $10 it has them and its place, and its vector $8, null for none.
asked AS MATERIALIZED (
    SELECT t.term, t.repeats, t.place FROM unnest($9::integer [], $10::integer []) WITH ORDINALITY AS t (term, repeats, place)
)
