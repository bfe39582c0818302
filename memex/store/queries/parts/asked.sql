-- The words $9 of the question, each with how often $10 it is there, and its place.
asked AS MATERIALIZED (
    SELECT t.term, t.repeats, t.place
    FROM unnest($9::integer [], $10::integer []) WITH ORDINALITY AS t (term, repeats, place)
)
