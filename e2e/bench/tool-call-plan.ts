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
 * Calls of `names` in turn, over so many sessions. Each session reaches `warm` names once before, so that no slice pays
 * for the handshakes of its backends: the first `warm` names must stand for all backends. `tokens` are the users, whose
 * sessions come in turn.
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
