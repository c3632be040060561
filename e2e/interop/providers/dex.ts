import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../harness/poll.ts';
import { runCommand, temporaryFolder, writeFiles } from '../../harness/vmcp.ts';
import { installed, runInstaller } from '../lab.ts';
import type { Provider } from './provider.ts';

/** A commit of 2026-08-06: Go refuses the tags v2.x of a module whose path does not end in /v2. */
const VERSION = 'v0.0.0-20260806151424-ab64ed778070';
const SERVER = join(import.meta.dirname, 'dex', 'server');

/** Dex, built from the packages of its Go module. */
export const dex: Provider = {
  name: 'dex',
  title: 'Dex',
  version: '2026-08-06 (ab64ed778070)',
  issuer: 'http://127.0.0.1:5556/dex',
  user: { name: 'alice@example.com', password: 'password' },
  login: { clientId: 'mcp-client', scope: 'openid profile email offline_access audience:server:client_id:vmcp' },
  otherLogin: { clientId: 'mcp-client', scope: 'openid' },
  lacksRefresh: true,
  lacks: {},
  exchangedAudience: 'vmcp',
  exchangedSubject: 'other',
  exchangeMistake: {
    correct: 'connector_id: self',
    wrong: 'connector_id: nothing',
    says: 'Requested connector does not exist.',
  },
  async alikeIdToken({ at }, accessToken) {
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      connector_id: 'self',
      subject_token: accessToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      scope: 'openid',
    });
    const authorization = `Basic ${Buffer.from('vmcp:secret-of-vmcp').toString('base64')}`;
    const reply = await fetch(`${at(dex.issuer)}/token`, { method: 'POST', headers: { authorization }, body });
    const { access_token: token } = (await reply.json()) as { access_token?: string }; // also for an ID token: RFC 8693 §2.2.1
    if (token === undefined) throw new Error(`Dex gives no ID token: HTTP ${String(reply.status)}`);
    return token;
  },
  async start(lab, { file, at }) {
    const main = await readFile(join(SERVER, 'main.go'), 'utf8');
    const folder = await installed(lab, 'dex', `${VERSION}\n${main}`, async (place) => {
      await cp(SERVER, place, { recursive: true });
      await runInstaller(place, ['go', 'mod', 'init', 'interop']);
      await runInstaller(place, ['go', 'get', `github.com/dexidp/dex@${VERSION}`]);
      await runInstaller(place, ['go', 'mod', 'tidy']);
      await runInstaller(place, ['go', 'build', '-o', 'dex', '.'], { CGO_ENABLED: '0' });
    });
    const place = await temporaryFolder(lab.scope);
    await writeFiles(place, { 'dex.yaml': await file('dex.yaml') });
    const run = await runCommand(lab.scope, [join(folder, 'dex'), 'dex.yaml'], { cwd: place });
    const url = `${at(dex.issuer)}/.well-known/openid-configuration`;
    const answers = async () => (run.running() ? (await fetch(url)).ok : Promise.reject(new Error(run.output())));
    await eventually('Dex answers', answers, { timeoutMs: 30_000, intervalMs: 200 });
  },
};
