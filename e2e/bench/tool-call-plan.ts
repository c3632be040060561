import { inParallel } from './concurrency.ts';
import type { Body, Plan } from './load.ts';
import { callTool, openSession } from './mcp.ts';

/** The argument of every measured call. */
export const TEXT = 'the words that a search of ordinary length is made of';

function toBody(name: string): Body {
  const params = JSON.stringify({ name, arguments: { text: TEXT } });
  return { before: '{"jsonrpc":"2.0","id":', after: `,"method":"tools/call","params":${params}}` };
}

/**
 * Calls of `names` in turn, over one session per connection. Each session reaches `warm` names once before, so that no
 * slice pays for the handshakes of its backends: the first `warm` names must stand for all backends.
 */
export async function toolCallPlan(
  { url, port }: { readonly url: string; readonly port: number },
  names: readonly string[],
  connections: number,
  warm = 3,
): Promise<Plan> {
  const sessions = await inParallel(Array.from({ length: connections }), 16, async () => {
    const session = await openSession(url);
    for (const name of names.slice(0, warm)) await callTool(url, name, TEXT, session);
    return session;
  });
  return {
    port,
    sessions: sessions.filter((session) => session !== undefined),
    bodies: names.map(toBody),
    mustContain: '"result":',
  };
}
