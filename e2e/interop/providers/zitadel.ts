import { join } from 'node:path';
import { CLIENT_URL } from '../../harness/browser/scripted-browser.ts';
import { eventually } from '../../harness/poll.ts';
import { runCommand } from '../../harness/vmcp.ts';
import { installed, runInstaller } from '../lab.ts';
import type { Provider } from './provider.ts';

const VERSION = 'v3.52.0';

/** The example server of zitadel/oidc, the library of Zitadel. Its clients and users are part of it. */
export const zitadel: Provider = {
  name: 'zitadel',
  title: 'zitadel/oidc (example server)',
  version: VERSION,
  issuer: 'http://localhost:9998/',
  user: { name: 'test-user@localhost', password: 'verysecure' },
  login: { clientId: 'web', clientSecret: 'secret', scope: 'openid profile email offline_access' },
  lacks: { delegation: 'its access tokens are opaque; the gateway exchanges JWTs of a trusted issuer only' },
  exchangeMistake: { correct: 'clientId: api', wrong: 'clientId: nothing', says: 'invalid_client' },
  async start(lab, { at, port }) {
    const folder = await installed(lab, 'zitadel', VERSION, async (place) => {
      const env = { GOBIN: place, CGO_ENABLED: '0' };
      await runInstaller(place, ['go', 'install', `github.com/zitadel/oidc/v3/example/server@${VERSION}`], env);
    });
    const env = { PORT: String(port), REDIRECT_URI: `${CLIENT_URL},${at('http://127.0.0.1:4483/oauth/callback')}` };
    const run = await runCommand(lab.scope, [join(folder, 'server')], { env });
    const url = `${at(zitadel.issuer)}.well-known/openid-configuration`;
    const answers = async () => (run.running() ? (await fetch(url)).ok : Promise.reject(new Error(run.output())));
    await eventually('the server answers', answers, { timeoutMs: 30_000, intervalMs: 200 });
  },
};
