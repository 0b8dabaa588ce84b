-- Stores the authors whom a user must not be shown as read from the table, unless they changed since. KEYS[1] authors;
-- KEYS[2] the right to store them; ARGV[1] token; ARGV[2] seconds to live; ARGV[3] authors. Returns 1 if it stored.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[3], 'EX', ARGV[2])
redis.call('DEL', KEYS[2])
return 1
