-- The texts of the $1 memories that were written last, in any space: ids rise with time.
SELECT m.content FROM memex.memories AS m ORDER BY m.id DESC LIMIT $1
