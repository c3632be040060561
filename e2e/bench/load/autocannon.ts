import autocannon from 'autocannon';
import { happened, type Engine, type Load, type Plan } from './load.ts';
import { mcpHeaders } from '../mcp.ts';

async function run(plan: Plan, connections: number, seconds: number): Promise<Load> {
  const { mustContain, sessions, tokens = [], bodies } = plan;
  let sent = 0;
  const result = await autocannon({
    url: `http://127.0.0.1:${String(plan.port)}`,
    connections,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        path: '/mcp',
        setupRequest: (request) => {
          sent += 1;
          const body = bodies[sent % bodies.length];
          const session = sessions[sent % sessions.length];
          const headers = mcpHeaders(session, tokens[(sent % sessions.length) % tokens.length]);
          return {
            ...request,
            headers: { ...headers, ...body?.headers },
            body: `${body?.before ?? ''}${String(sent)}${body?.after ?? ''}`,
          };
        },
      },
    ],
    ...(mustContain === undefined ? {} : { verifyBody: (body) => body.includes(mustContain) }),
  });
  const { errors, timeouts, non2xx, mismatches } = result;
  return {
    requests: result.requests.total,
    seconds: result.duration,
    bytes: result.throughput.total,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    failures: happened({ errors: errors - timeouts, timeout: timeouts, status: non2xx, reply: mismatches }),
  };
}

/** Engine for machines without wrk: latencies in whole milliseconds, and lower rates because it uses more CPU per request. */
export const autocannonEngine: Engine = { name: 'autocannon', run };
