-- Adds a tweet to a feed that exists, and keeps the newest. KEYS[1] feed; KEYS[2] the right to fill it;
-- ARGV[1] milliseconds; ARGV[2] member; ARGV[3] most members; ARGV[4] seconds to live.
--
-- If the feed is missing, it stays missing: readers fill it from the tables. A reader that is filling it right now may
-- have read the tables too early, so the right is taken away.
redis.call('DEL', KEYS[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
-- A feed that was cut is whole from its lowest member upwards. What is older is in the table.
local lowest = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
-- Members begin with digits in fixed width, so their order as texts is the order of ids.
if lowest ~= 'bottom' and ARGV[2] < lowest then
  return 0
end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
local extra = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
if extra > 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, extra - 1)
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
