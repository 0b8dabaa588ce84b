-- Stores a user's reactions as read from the table, unless they changed since. KEYS[1] hash; KEYS[2] the right to fill it;
-- ARGV[1] token; ARGV[2] seconds to live; ARGV[3...] fields and values. Returns 1 if it stored.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
for i = 3, #ARGV, 500 do
  redis.call('HSET', KEYS[1], unpack(ARGV, i, math.min(i + 499, #ARGV)))
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
