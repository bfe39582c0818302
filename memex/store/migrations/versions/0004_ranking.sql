-- What ranking by SQL needs of vectors: named by their schema, wherever the extension lives.
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '10min';

CREATE FUNCTION memex.vector_of(p_components real []) RETURNS vector
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN p_components::vector;

-- Of a stored vector and one in single precision, which is not rounded.
CREATE FUNCTION memex.inner_product(p_stored halfvec, p_asked vector) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN - (p_stored::vector <#> p_asked);
