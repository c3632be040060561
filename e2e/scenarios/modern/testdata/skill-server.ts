import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { loadSkills } from '@modelcontextprotocol/server/ext/skills/node';
import { answerWith } from '../../../harness/backends/fetch.ts';
import { hostBackend, type HttpBackend } from '../../../harness/backends/host.ts';
import type { Scope } from '../../../harness/scope.ts';
import { temporaryFolder } from '../../../harness/vmcp.ts';

/** Starts a server of SDK 2.x with skills in a folder of their own. */
export async function startSkillServer(
  scope: Scope,
  names: readonly string[],
  options: { readonly prefix?: string; readonly ttlMs?: number } = {},
): Promise<HttpBackend> {
  const folder = await temporaryFolder(scope);
  for (const name of names) {
    const files = {
      'SKILL.md': `---\nname: ${name}\ndescription: Does ${name}\n---\n\nRead skill://${name}/references/MORE.md\n`,
      'references/MORE.md': `More of ${name}.\n`,
    };
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name, path)), { recursive: true });
      await writeFile(join(folder, name, path), text);
    }
  }
  const skills = await loadSkills(folder, options);
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'skills', version: '1.0.0' });
      skills.attach(server);
      return server;
    },
    { legacy: 'reject' },
  );
  return hostBackend(scope, '/mcp', (req, res, body) => answerWith(handler.fetch, req, res, body));
}
