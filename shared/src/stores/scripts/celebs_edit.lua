-- Adds an author to a user's celebrities or takes one away, if the set exists. KEYS[1] set; KEYS[2] the right to
-- fill it; ARGV[1] SADD or SREM; ARGV[2] author.
--
-- A missing set is filled by the next reader. A reader that is filling it right now may have read the tables too early, so
-- the right is taken away.
redis.call('DEL', KEYS[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
return redis.call(ARGV[1], KEYS[1], ARGV[2])
