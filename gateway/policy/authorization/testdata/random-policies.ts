/** Returns numbers from 0 to 1 that depend on `seed` only (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Vocabulary {
  readonly tools: readonly string[];
  readonly groups: readonly string[];
  readonly backends: readonly string[];
}

/** Returns policies of random scopes and conditions, some of which cannot be evaluated for some users and items. */
export function randomPolicies(random: () => number, { tools, groups, backends }: Vocabulary): string[] {
  const pick = <T>(...values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const conditions = [
    'true',
    'principal.claim_level > 2',
    'principal has claim_level && principal.claim_level > 2',
    'context has claim_email && context.claim_email like "*@example.com"',
    'context has claimset_scope && context.claimset_scope.contains("write")',
    'resource has readOnlyHint && resource.readOnlyHint',
    '!resource.destructiveHint',
    'resource.name like "*a*"',
    '!(context has arg_amount)',
    'context.arg_amount < 5',
    'resource.feature == "tool"',
    '[context].contains(context)',
  ];
  const policy = (): string => {
    const principal = pick('principal', 'principal', 'principal == Client::"alice"', `principal in Group::"${pick(...groups)}"`);
    const action = pick('action', 'action', 'action == Action::"call_tool"', 'action == Action::"get_prompt"');
    const resource = pick(
      'resource',
      'resource in MCP::"front"',
      `resource == Tool::"${pick(...tools)}"`,
      `resource in Backend::"${pick(...backends)}"`,
    );
    const condition = random() < 0.6 ? ` ${pick('when', 'when', 'unless')} { ${pick(...conditions)} }` : '';
    return `${random() < 0.75 ? 'permit' : 'forbid'}(${principal}, ${action}, ${resource})${condition};`;
  };
  return Array.from({ length: 1 + Math.floor(random() * 4) }, policy);
}

/** Returns random claims of a user. */
export const randomClaims = (random: () => number, { groups }: Vocabulary): Record<string, unknown> => ({
  ...(random() < 0.7 && { groups: groups.filter(() => random() < 0.5) }),
  ...(random() < 0.5 && { level: Math.floor(random() * 5) }),
  ...(random() < 0.5 && { email: random() < 0.5 ? 'a@example.com' : 'a@example.org' }),
  ...(random() < 0.5 && { scope: random() < 0.5 ? 'read write' : 'read' }),
});
