const VERBS = ['search', 'list', 'get', 'create', 'update', 'delete', 'archive', 'assign', 'export', 'watch'];
const NOUNS = ['issues', 'documents', 'messages', 'deployments', 'invoices'];

/** Returns tool `index` of a backend (0 to 49 are distinct): about 750 bytes of JSON, like tools of public servers. */
export function tool(index: number) {
  const verb = VERBS[index % VERBS.length] ?? '';
  const noun = NOUNS[Math.floor(index / VERBS.length) % NOUNS.length] ?? '';
  const round = Math.floor(index / (VERBS.length * NOUNS.length));
  return {
    name: `${verb}_${noun}${round === 0 ? '' : `_${String(round)}`}`,
    title: `${verb[0]?.toUpperCase() ?? ''}${verb.slice(1)} ${noun}`,
    description:
      `Use this tool to ${verb} ${noun} of the workspace. It matches title, body and labels, honours the caller's ` +
      `permissions, and returns at most the given number of entries together with a cursor for the following page.`,
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', description: `Words that the ${noun} must contain, or the text to store.` },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Most entries in one page.' },
        cursor: { type: 'string', description: 'Where the previous page ended, as returned by it.' },
      },
      required: ['text'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: index % 3 !== 0, destructiveHint: false, openWorldHint: false },
  };
}
