import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../harness/poll.ts';
import { runCommand, writeFiles } from '../../harness/vmcp.ts';
import { installed, runInstaller } from '../lab.ts';
import type { Provider } from './provider.ts';

const VERSION = '26.7.3';
const START_MS = 240_000;
const ADMIN = { KC_BOOTSTRAP_ADMIN_USERNAME: 'admin', KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin' };

/** Keycloak from its distribution on Maven, started in development mode and set up by `setup.sh`. */
export const keycloak: Provider = {
  name: 'keycloak',
  title: 'Keycloak',
  version: VERSION,
  issuer: 'http://127.0.0.1:8180/realms/mcp',
  user: { name: 'alice', password: 'password-of-alice' },
  login: { clientId: 'mcp-client', scope: 'openid mcp' },
  otherLogin: { clientId: 'mcp-client', scope: 'openid' },
  lacks: {},
  exchangedAudience: 'orders',
  exchangeMistake: { correct: 'audience: orders', wrong: 'audience: nothing', says: 'Audience not found' },
  async start(lab, { file, port }) {
    const folder = await installed(lab, 'keycloak', VERSION, async (place) => {
      const artifact = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`;
      const copy = ['dependency:copy', `-Dartifact=${artifact}`, '-DoutputDirectory=.'];
      await runInstaller(place, ['mvn', '--quiet', '--batch-mode', ...copy]);
      await runInstaller(place, ['python3', '-m', 'zipfile', '-e', `keycloak-quarkus-dist-${VERSION}.zip`, '.']);
    });
    const home = join(folder, `keycloak-${VERSION}`);
    await rm(join(home, 'data', 'h2'), { recursive: true, force: true });
    const listen = ['--http-host=127.0.0.1', `--http-port=${String(port)}`];
    const env = { ...ADMIN, JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx640m' };
    const run = await runCommand(lab.scope, ['bash', 'bin/kc.sh', 'start-dev', ...listen], { cwd: home, env });
    const url = `http://127.0.0.1:${String(port)}/realms/master`;
    const answers = async () => (run.running() ? (await fetch(url)).ok : Promise.reject(new Error(run.output())));
    await eventually('Keycloak answers', answers, { timeoutMs: START_MS, intervalMs: 1_000 });
    lab.step('setting up the realm');
    await writeFiles(home, { 'setup.sh': await file('setup.sh') });
    await runInstaller(home, ['bash', '-eu', 'setup.sh'], { HOME: home });
  },
};
