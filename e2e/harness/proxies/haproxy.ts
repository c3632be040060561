import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scope } from '../scope.ts';
import { runCommand, temporaryFolder } from '../vmcp.ts';

/** False on a machine without the Debian package haproxy. */
export const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;

/** Starts HAProxy with these frontends and backends. */
export async function startHaproxy(scope: Scope, sections: readonly string[]): Promise<void> {
  const file = join(await temporaryFolder(scope), 'haproxy.cfg');
  const lines = [
    'defaults',
    '  mode http',
    '  option http-no-delay', // else the events of a stream wait up to 200 ms
    '  timeout connect 1s',
    '  timeout check 5s',
    '  timeout client 120s',
    '  timeout server 120s',
    '  retries 3',
    '  option redispatch 1',
    '  retry-on conn-failure',
    ...sections,
    '',
  ];
  await writeFile(file, lines.join('\n'));
  await runCommand(scope, ['haproxy', '-db', '-f', file], {});
}
