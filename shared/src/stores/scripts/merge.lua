-- Merges entries into a list, newest first and each once.
-- KEYS[1] list; KEYS[2] hidden authors, of whom nothing is kept; ARGV[1] the marker that a rebuild or a filling put at the
-- end, or '' to merge into any list that exists; ARGV[2] most entries to keep; ARGV[3] marker for the end of a list that ends
-- with ARGV[1], else ''; ARGV[4...] the entries. Returns 1 if the list was changed.
local kept = redis.call('LRANGE', KEYS[1], 0, -1)
if #kept == 0 then
  return 0
end
local last = kept[#kept]
local rest = end_of(last)
if ARGV[1] ~= '' then
  if last ~= ARGV[1] then
    return 0
  end
  rest = ARGV[3]
end
if is_marker(last) then
  table.remove(kept)
end

local is_hidden = {}
for _, hidden in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  is_hidden[hidden] = true
end
local added = {}
for i = 4, #ARGV do
  added[#added + 1] = ARGV[i]
end

-- Where a list was cut, readers go on from the tables, on either side.
local highest = is_cut(rest) and highest_cut(rest)

local all = {}
for _, list in ipairs({ kept, added }) do
  for _, entry in ipairs(list) do
    local shown = (#entry == ENTRY or #entry == REPOST) and not is_hidden[author(entry)]
    if shown and (not highest or newer(entry, highest)) then
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
if #result > most and is_unfinished(rest) then
  -- This list is still to be filled. Without the marker it would pass for whole, so it goes.
  redis.call('DEL', KEYS[1])
  return 1
end
if #result > most then
  rest = cut_at(result[most + 1])
  for i = #result, most + 1, -1 do
    result[i] = nil
  end
end
result[#result + 1] = rest

replace(KEYS[1], result)
return 1
