-- Takes one request out of a budget that refills steadily (the generic cell rate algorithm).
-- KEYS: the budget. ARGV: microseconds until one request is refilled, requests that fit in, and requests to charge for an
-- answer that was given already, 0 for a request that is to be allowed or refused.
-- Answers: 1 if it may go on, requests left, microseconds until the next may go on, microseconds until all is refilled.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local refill, most = tonumber(ARGV[1]), tonumber(ARGV[2])
-- When the budget is full again.
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local left = math.floor((now + most * refill - full) / refill)
local charged = tonumber(ARGV[3])
if charged > 0 then
  full = full + charged * refill
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
  return { 1, math.max(left - charged, 0), 0, full - now }
end
if left < 1 then
  return { 0, 0, full + refill - most * refill - now, full - now }
end
full = full + refill
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
local wait = 0
if left == 1 then
  wait = full + refill - most * refill - now
end
return { 1, left - 1, wait, full - now }
