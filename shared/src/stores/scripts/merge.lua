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
local hides = next(is_hidden) ~= nil

-- Where a list was cut, readers go on from the tables, on either side.
local cut_high, cut_low = -1, 0
if is_cut(rest) then
  cut_high, cut_low = id(highest_cut(rest))
end

local function is_above(high, low, other_high, other_low)
  return high > other_high or (high == other_high and low > other_low)
end

-- The entries of a list that may be shown, newest first, with the halves of their ids. A list comes nearly in order, so
-- an entry moves by a few places, and that is a quarter of the work of sorting. If entries move too often, it is sorted.
local function in_order(list, first)
  local entries, highs, lows, count, moves = {}, {}, {}, 0, 0
  local most_moves = 4 * #list
  for n = first, #list do
    local entry = list[n]
    local shown = (#entry == ENTRY or #entry == REPOST) and not (hides and is_hidden[author(entry)])
    local high, low = -1, 0
    if shown then
      high, low = id(entry)
    end
    if is_above(high, low, cut_high, cut_low) then
      local i = count
      while i > 0 and moves < most_moves and is_above(high, low, highs[i], lows[i]) do
        entries[i + 1], highs[i + 1], lows[i + 1] = entries[i], highs[i], lows[i]
        i = i - 1
        moves = moves + 1
      end
      entries[i + 1], highs[i + 1], lows[i + 1] = entry, high, low
      count = count + 1
    end
  end
  if moves == most_moves then
    table.sort(entries, newer)
    for n, entry in ipairs(entries) do
      highs[n], lows[n] = id(entry)
    end
  end
  return { entry = entries, high = highs, low = lows, count = count }
end
local old, new = in_order(kept, 1), in_order(ARGV, 4)

local result = {}
local i, j, high, low = 1, 1, nil, nil
while i <= old.count or j <= new.count do
  local from, n = old, i
  if i > old.count or (j <= new.count and is_above(new.high[j], new.low[j], old.high[i], old.low[i])) then
    from, n = new, j
    j = j + 1
  else
    i = i + 1
  end
  if from.high[n] ~= high or from.low[n] ~= low then
    result[#result + 1] = from.entry[n]
    high, low = from.high[n], from.low[n]
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
