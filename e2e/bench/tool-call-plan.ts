import { inParallel } from './load/concurrency.ts';
import type { Body, Plan } from './load/load.ts';
import { callTool, openSession } from './mcp.ts';

/** The argument of every measured call. */
export const TEXT = 'the words that a search of ordinary length is made of';

function toBody(name: string): Body {
  const params = JSON.stringify({ name, arguments: { text: TEXT } });
  return { before: '{"jsonrpc":"2.0","id":', after: `,"method":"tools/call","params":${params}}` };
}

/**
 * Plans calls of `names` in turn. Each session first calls `warm` names once, so that no slice includes
 * the handshakes with the backends: the first `warm` names must cover all backends. Sessions use the `tokens` of the
 * users in turn.
 */
export async function toolCallPlan(
  { url, port }: { readonly url: string; readonly port: number },
  names: readonly string[],
  count: number,
  { warm = 3, tokens = [] }: { readonly warm?: number; readonly tokens?: readonly string[] } = {},
): Promise<Plan> {
  const owners = Array.from({ length: count }, (_, index) => tokens[index % tokens.length]);
  const sessions = await inParallel(owners, 16, async (token) => {
    const session = await openSession(url, token);
    for (const name of names.slice(0, warm)) await callTool(url, name, TEXT, session, token);
    return session;
  });
  return {
    port,
    sessions: sessions.filter((session) => session !== undefined),
    tokens,
    bodies: names.map(toBody),
    mustContain: '"result":',
  };
}
