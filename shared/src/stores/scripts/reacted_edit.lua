-- Notes one reaction, if the user's reactions are cached. KEYS[1] hash; KEYS[2] the right to fill it; KEYS[3] what others are
-- told of the user's deeds, which is taken away; ARGV[1] kind (l, r, h); ARGV[2] tweet; ARGV[3] version and whether it stands, as one number; ARGV[4] the most tweets of one kind.
--
-- A missing hash is filled by the next reader. A reader that is filling it right now may have read the table too early, so
-- the right is taken away. Ids have up to 19 digits, which is more than a Lua number holds, so they are compared as text.
local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
redis.call('DEL', KEYS[2], KEYS[3])
local kind, tweet = ARGV[1], ARGV[2]
local floor = redis.call('HGET', KEYS[1], kind)
if not floor or less(tweet, floor) then
  return 0
end
local field = kind .. tweet
local have = redis.call('HGET', KEYS[1], field)
if have and tonumber(have) >= tonumber(ARGV[3]) then
  return 0
end
redis.call('HSET', KEYS[1], field, ARGV[3])
local most = tonumber(ARGV[4])
-- All three kinds together, and half as much again, so that sorting is rare.
if redis.call('HLEN', KEYS[1]) <= 4.5 * most then
  return 1
end
local tweets = { l = {}, r = {}, h = {} }
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  local list = tweets[string.sub(name, 1, 1)]
  if #name > 1 and list then
    list[#list + 1] = string.sub(name, 2)
  end
end
for letter, list in pairs(tweets) do
  if #list > most then
    table.sort(list, function(a, b) return less(b, a) end)
    redis.call('HSET', KEYS[1], letter, list[most])
    for i = most + 1, #list do
      redis.call('HDEL', KEYS[1], letter .. list[i])
    end
  end
end
return 1
