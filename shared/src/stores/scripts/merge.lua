-- Merges entries into a list, newest first and each once.
-- KEYS[1] list; ARGV[1] the marker that a rebuild or a filling put at the end, or '' to merge into any list that exists;
-- ARGV[2] most entries to keep; ARGV[3] marker for the end of a rebuilt list, or '' when the tables hold more than
-- ARGV[4...], the entries. Returns 1 if the list was changed.
--
-- What a list keeps must be complete from its last entry upwards. So entries older than that are left out, on either
-- side, unless a marker says that there is nothing below.
local ENTRY = 16

-- The top bit is not part of the id.
local function id(entry)
  local high, low = struct.unpack('>I4I4', entry)
  return high % 0x80000000, low
end

local function newer(a, b)
  local ah, al = id(a)
  local bh, bl = id(b)
  return ah > bh or (ah == bh and al > bl)
end

local function is_marker(entry)
  return string.sub(entry, 1, 8) == string.rep('\0', 8)
end

local kept = redis.call('LRANGE', KEYS[1], 0, -1)
if #kept == 0 then
  return 0
end
local last = kept[#kept]
local rebuilding = ARGV[1] ~= ''
local marker = ''
if rebuilding then
  if last ~= ARGV[1] then
    return 0
  end
  marker = ARGV[3]
elseif is_marker(last) then
  marker = last
end
if is_marker(last) then
  table.remove(kept)
end

local added = {}
for i = 4, #ARGV do
  added[#added + 1] = ARGV[i]
end

-- The side that was cut off decides how deep the result may reach.
local floor = nil
if marker == '' then
  if rebuilding then
    floor = added[#added]
  else
    floor = kept[#kept]
  end
end

local all = {}
for _, list in ipairs({ kept, added }) do
  for _, entry in ipairs(list) do
    if #entry == ENTRY and (floor == nil or not newer(floor, entry)) then
      all[#all + 1] = entry
    end
  end
end
table.sort(all, newer)

local result = {}
for _, entry in ipairs(all) do
  local before = result[#result]
  if not before or newer(before, entry) then
    result[#result + 1] = entry
  end
end
local most = tonumber(ARGV[2])
if #result > most and marker ~= '' and marker ~= string.rep('\0', ENTRY) then
  -- This list is still to be filled. Without the marker it would pass for whole, so it goes.
  redis.call('DEL', KEYS[1])
  return 1
end
if #result > most then
  for i = #result, most + 1, -1 do
    result[i] = nil
  end
elseif marker ~= '' then
  result[#result + 1] = marker
end

local ttl = redis.call('PTTL', KEYS[1])
redis.call('DEL', KEYS[1])
for i = 1, #result, 500 do
  redis.call('RPUSH', KEYS[1], unpack(result, i, math.min(i + 499, #result)))
end
if ttl > 0 and #result > 0 then
  redis.call('PEXPIRE', KEYS[1], ttl)
end
return 1
