-- Raises a canary. KEYS[1] canary; ARGV[1] milliseconds since 1970; ARGV[2] seconds to live.
-- Returns its height until now, 0 if it was not there, and its height from now on. It only grows.
local before = tonumber(redis.call('GET', KEYS[1]) or 0)
local now = math.max(before + 1, tonumber(ARGV[1]))
redis.call('SET', KEYS[1], string.format('%.0f', now), 'EX', ARGV[2])
return { before, now }
