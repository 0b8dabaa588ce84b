-- Adds one page to a tweet's receipt. KEYS[1] hash; ARGV[1] followers; ARGV[2] deliveries; ARGV[3] depth;
-- ARGV[4] milliseconds after posting; ARGV[5] seconds to live;
-- ARGV[6] 1 if that was everybody, before the POST was answered.
redis.call('HINCRBY', KEYS[1], 'pages', 1)
redis.call('HINCRBY', KEYS[1], 'followers', ARGV[1])
redis.call('HINCRBY', KEYS[1], 'deliveries', ARGV[2])
for field, value in pairs({ hops = ARGV[3], last_ms = ARGV[4] }) do
  local have = redis.call('HGET', KEYS[1], field)
  if not have or tonumber(have) < tonumber(value) then
    redis.call('HSET', KEYS[1], field, value)
  end
end
if ARGV[6] == '1' then
  redis.call('HSET', KEYS[1], 'at_once', 1)
end
redis.call('EXPIRE', KEYS[1], ARGV[5])
return 1
