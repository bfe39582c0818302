-- For statements whose row counts only the values tell: planned anew, until the transaction ends.
SET LOCAL plan_cache_mode = force_custom_plan
