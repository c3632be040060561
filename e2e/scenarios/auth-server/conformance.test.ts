import { beforeAll, expect, it } from 'vitest';
import { runAuthorizationConformance, scenariosOf } from '../../conformance/runner.ts';
import { raw } from '../../harness/clients/raw.ts';
import { freePort } from '../../harness/free-port.ts';
import { ScriptedBrowser } from '../../harness/browser/scripted-browser.ts';
import { blockScope, testScope } from '../../harness/scope.ts';
import { OAuthClient } from './oauth-client.ts';
import { startAuthServer, type Gateway } from './gateway.ts';

const scope = blockScope();
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startAuthServer(scope);
});

it.each(['2025-11-25', '2026-07-28'])('both scenarios of the conformance suite pass for %s', async (revision) => {
  const port = await freePort();
  const callback = `http://127.0.0.1:${String(port)}/callback`;
  const { client } = await OAuthClient.register(gateway.issuer, { redirect_uris: [callback] });
  const run = await runAuthorizationConformance(testScope(), {
    issuer: gateway.issuer,
    clientId: client.client_id,
    port,
    revision,
    resource: gateway.url,
    browse: async (url) => raw((await new ScriptedBrowser({ clients: [callback] }).login(url)).href),
  });
  const others = run.checks.filter(({ status }) => status !== 'SUCCESS');
  expect(others, run.output).toEqual([]);
  expect(run.exitCode, run.output).toBe(0);
  expect(scenariosOf(run)).toEqual(['authorization-code-grant', 'authorization-server-metadata-endpoint']);
  expect(run.checks.map(({ id }) => id)).toEqual([
    'authorization-code-grant',
    'authorization-server-metadata',
    'authorization-server-metadata-cimd',
  ]);
});
