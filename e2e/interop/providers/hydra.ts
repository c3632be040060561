import { join } from 'node:path';
import { eventually } from '../../harness/poll.ts';
import { runCommand, temporaryFolder, writeFiles } from '../../harness/vmcp.ts';
import { installed, runInstaller } from '../lab.ts';
import { serveHydraPages } from './hydra-login.ts';
import type { Provider } from './provider.ts';

const VERSION = 'v2.3.0';
/** Replacement in the module file of Hydra, which `go get` ignores. */
const POP = 'github.com/gobuffalo/pop/v6=github.com/ory/pop/v6@v6.2.1-0.20241121111754-e5dfc0f3344b';

/** Ory Hydra, built from its Go module, with login pages of this repository. */
export const hydra: Provider = {
  name: 'hydra',
  title: 'Ory Hydra',
  version: VERSION,
  issuer: 'http://127.0.0.1:4444',
  user: { name: 'alice', password: 'password' },
  login: { clientId: 'mcp-client', scope: 'openid offline_access mcp' },
  lacks: {
    exchange: 'Hydra has no token exchange (RFC 8693)',
    delegation: 'its access tokens are opaque; the gateway exchanges JWTs of a trusted issuer only',
  },
  async start(lab, { file, port, at }) {
    const folder = await installed(lab, 'hydra', VERSION, async (place) => {
      await runInstaller(place, ['go', 'mod', 'init', 'interop']);
      await runInstaller(place, ['go', 'mod', 'edit', `-replace=${POP}`]);
      await runInstaller(place, ['go', 'get', '-tool', `github.com/ory/hydra/v2@${VERSION}`]);
      const build = ['go', 'build', '-mod=mod', '-tags', 'sqlite', '-o', 'hydra', 'github.com/ory/hydra/v2'];
      await runInstaller(place, build, { CGO_ENABLED: '1' });
    });
    const place = await temporaryFolder(lab.scope);
    await writeFiles(place, { 'hydra.yaml': await file('hydra.yaml'), 'setup.sh': await file('setup.sh') });
    const env = { SERVE_PUBLIC_PORT: String(port), SERVE_ADMIN_PORT: String(port + 1) };
    const command = [join(folder, 'hydra'), 'serve', 'all', '--dev', '--sqa-opt-out', '--config', 'hydra.yaml'];
    const run = await runCommand(lab.scope, command, { cwd: place, env });
    const url = `${at(hydra.issuer)}/.well-known/openid-configuration`;
    const answers = async () => (run.running() ? (await fetch(url)).ok : Promise.reject(new Error(run.output())));
    await eventually('Hydra answers', answers, { timeoutMs: 60_000, intervalMs: 500 });
    await serveHydraPages(lab.scope, port + 2, at('http://127.0.0.1:4445/admin/oauth2/auth/requests'));
    await runInstaller(place, ['bash', '-eu', 'setup.sh']);
  },
};
