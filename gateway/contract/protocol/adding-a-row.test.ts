import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copySources, type SourceCopy } from '../../../e2e/harness/source-copy.ts';

const FOLDER = 'gateway/contract/protocol';
const OLDER = "  { name: '2025-11-25', primesStreams: true },\n";
const REVISION = "  { name: '2026-01-01', primesStreams: true },\n";
const FIRST = 'const METHODS: readonly McpMethod[] = [\n';
const METHOD = `  {
    name: 'tools/rehearse',
    audit: 'mcp_tool_call',
    item: 'tool',
    itemMember: 'name',
    nameHeader: 'name',
    target: 'tool',
    callsTool: true,
  },
`;

let copy: SourceCopy;
let used: Readonly<Record<string, unknown>>;

/** Copies the sources and adds a revision and a method: a row each. */
beforeAll(async () => {
  copy = await copySources(['gateway']);
  await copy.edit(`${FOLDER}/revisions.ts`, OLDER, `${REVISION}${OLDER}`);
  await copy.edit(`${FOLDER}/methods.ts`, FIRST, `${FIRST}${METHOD}`);
  await copy.add(FOLDER, 'use-toy-rows.ts');
  const { code, stdout, stderr } = await copy.node(`${FOLDER}/use-toy-rows.ts`);
  expect(code, stderr).toBe(0);
  used = JSON.parse(stdout) as typeof used;
});
afterAll(() => copy.remove());

describe('a row of the protocol tables', () => {
  it('adds a revision that clients and backends negotiate, with its traits', () => {
    expect(used).toMatchObject({
      supported: ['2026-07-28', '2026-01-01', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      negotiated: '2026-01-01',
      backend: '2026-01-01',
      primes: true,
    });
  });

  it('adds a method to the audit log, to telemetry and to the checks of headers', () => {
    expect(used).toMatchObject({
      audit: 'mcp_tool_call',
      attributes: {
        'mcp.method.name': 'tools/rehearse',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'one',
        'mcp.protocol.version': '2026-01-01',
      },
      otherName: 'rejected',
      sameName: 'legacy',
    });
  });
});
