-- Load of one slice for wrk: the plan as pieces of a Lua chunk in, one line "BENCH {json}" out. Every request has an id of its own.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

local head, sessions, bodies, must_contain
local sent = 0
wrong = 0

function init(args)
  local plan = assert(loadstring(table.concat(args)))()
  head, sessions, bodies, must_contain = plan.head, plan.sessions, plan.bodies, plan.must_contain
  for i, session in ipairs(sessions) do
    local token = plan.tokens[(i - 1) % #plan.tokens + 1]
    local authorization = token and "Authorization: Bearer " .. token .. "\r\n" or ""
    sessions[i] = head .. authorization .. "Mcp-Session-Id: " .. session .. "\r\nContent-Length: "
  end
  if #sessions == 0 then
    sessions[1] = head .. "Content-Length: "
  end
  -- wrk collects bodies only for a script that wants them; a list of megabytes is better judged by its size.
  if must_contain == nil then
    response = nil
  end
end

function request()
  sent = sent + 1
  local body = bodies[sent % #bodies + 1]
  local json = body[1] .. sent .. body[2]
  return sessions[sent % #sessions + 1] .. #json .. body[3] .. "\r\n\r\n" .. json
end

function response(status, headers, body)
  if status ~= 200 or not string.find(body, must_contain, 1, true) then
    wrong = wrong + 1
  end
end

function done(summary, latency)
  local wrong_replies = 0
  for _, thread in ipairs(threads) do
    wrong_replies = wrong_replies + thread:get("wrong")
  end
  local errors = summary.errors
  io.write(string.format(
    '\nBENCH {"requests":%d,"durationUs":%d,"bytes":%d,"p50Us":%d,"p99Us":%d,"failures":'
      .. '{"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d,"reply":%d}}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read, errors.write, errors.timeout, errors.status, wrong_replies))
end
