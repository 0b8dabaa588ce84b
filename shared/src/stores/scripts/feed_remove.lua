-- Takes a tweet or a repost out of a feed. KEYS[1] feed; KEYS[2] the right to fill it; ARGV[1] milliseconds; ARGV[2] what its
-- member begins with: the id; ARGV[3] the fewest members of a feed that does not hold everything.
--
-- A reader that is filling the feed right now may have read the tables too early, so the right is taken away.
redis.call('DEL', KEYS[2])
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[1])) do
  if string.sub(member, 1, #ARGV[2]) == ARGV[2] then
    redis.call('ZREM', KEYS[1], member)
  end
end
-- Readers rely on it that such a feed reaches deeper than they ask. The next one makes it anew.
local lowest = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if lowest ~= 'bottom' and redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('DEL', KEYS[1])
end
return 1
