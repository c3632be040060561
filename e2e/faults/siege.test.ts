import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { usage } from '../bench/usage.ts';
import { ScriptedBrowser } from '../harness/browser/scripted-browser.ts';
import { openSession, raw } from '../harness/clients/raw.ts';
import { freePort } from '../harness/free-port.ts';
import { entry, group, resource, secret, virtualServer, yaml } from '../harness/manifests.ts';
import { testScope, type Scope } from '../harness/scope.ts';
import { startVmcp } from '../harness/vmcp.ts';
import { OAuthClient } from '../scenarios/auth-server/oauth-client.ts';
import { answerJson, startLyingProvider } from '../scenarios/threats/lying-provider.ts';
import { startAttacker } from './attacker.ts';
import { measureBeside } from './healthy-load.ts';
import { startMcpServer } from './mcp-server.ts';
import { LIMIT_MB, limitMemory } from './memory-limit.ts';

/**
 * `SIEGE_SECONDS=120` runs the long version with 50 attackers, which also checks the latency of healthy calls. Other tests run beside
 * the short one.
 */
const SECONDS = Number(process.env['SIEGE_SECONDS'] ?? 5);
const IS_LONG = SECONDS >= 60;
const SHARE = IS_LONG ? 1 : 0.4;
const HEALTHY_CLIENTS = 10;
const PROBE_EVERY_MS = 1_000;
/** A probe of Kubernetes that has no answer after 5 s has failed; three in a row restart the pod. */
const PROBE_TIMEOUT_MS = IS_LONG ? 5_000 : 20_000;

/** Starts a gateway with logins, a policy that reads an argument, a good and a hostile backend. */
async function startBesieged(scope: Scope, backends: { readonly good: string; readonly bad: string }) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${String(port)}`;
  const provider = await startLyingProvider(scope);
  provider.token = answerJson({ access_token: 'token-of-the-provider', token_type: 'bearer' });
  const policies = [
    'permit(principal, action, resource);',
    'forbid(principal, action, resource) when { context has arg_text && context.arg_text == "forbidden" };',
  ];
  const authzConfig = { type: 'inline', inline: { policies } };
  const files = {
    'gateway.yaml': yaml(
      group(),
      resource('MCPOIDCConfig', 'own', { type: 'inline', inline: { issuer } }),
      virtualServer(
        {},
        {
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'own' }, audience: `${issuer}/mcp`, authzConfig },
          authServerConfig: { issuer, upstreamProviders: [provider.entry('corp')] },
        },
      ),
      entry('good', backends.good),
      entry('bad', backends.bad),
      secret('chat', { secret: 'secret-of-the-gateway' }),
    ),
  };
  const vmcp = await startVmcp(scope, { files, port });
  const client = await OAuthClient.register(issuer);
  const logIn = async (user: string): Promise<string> => {
    provider.user = answerJson({ id: user });
    return (await client.login(new ScriptedBrowser({ user }))).access_token;
  };
  return { vmcp, issuer, logIn };
}

/** Probes as a kubelet does until the end; returns the number of probes, and why others than these got no good answer. */
function probe(url: string): () => { readonly probes: number; readonly failed: readonly string[] } {
  let probes = 0;
  const failed: string[] = [];
  const timer = setInterval(() => {
    probes += 1;
    raw(url, { timeoutMs: PROBE_TIMEOUT_MS }).then(
      ({ status }) => {
        if (status !== 200) failed.push(String(status));
      },
      (error: unknown) => failed.push(String(error)),
    );
  }, PROBE_EVERY_MS);
  return () => {
    clearInterval(timer);
    return { probes, failed };
  };
}

it(
  'serves ten clients and every probe while others attack its processor time, memory and connections',
  async () => {
    const scope = testScope();
    const [attacker, good] = [
      await startAttacker(scope, new URL('siege-attacker.ts', import.meta.url), IS_LONG),
      await startMcpServer(scope, 'good'),
    ];
    const { vmcp, issuer, logIn } = await startBesieged(scope, { good: good.url, bad: attacker.url });
    limitMemory(scope, vmcp);
    const [honest, hostile] = [await logIn('ann'), await logIn('eve')];
    const authorization = { authorization: `Bearer ${honest}` };
    const sessions = await Promise.all(
      Array.from({ length: HEALTHY_CLIENTS }, () => openSession(vmcp.url, undefined, authorization)),
    );
    await measureBeside(vmcp.pid, sessions, ['good_tool'], () => sleep(1_000));
    const alone = await measureBeside(vmcp.pid, sessions, ['good_tool'], () => sleep(SECONDS * 200));
    const startMb = usage(vmcp.pid)?.rssMb ?? 0;
    const [endPublic, endManagement] = [probe(`${issuer}/health`), probe(`${vmcp.management}/metrics`)];
    const beside = await measureBeside(vmcp.pid, sessions, ['good_tool'], async (): Promise<unknown> =>
      JSON.parse(await attacker.order(`${issuer} ${hostile} ${String(SECONDS)} ${String(SHARE)}`)),
    );
    const probes = { health: endPublic(), metrics: endManagement() };
    const figures = { seconds: SECONDS, startMb, peakMb: startMb + beside.grownMb, probes, calls: beside.calls };
    const latency = { aloneP99: alone.p99Ms, besideP99: beside.p99Ms };
    process.stdout.write(`${JSON.stringify({ ...figures, ...latency, attacks: beside.value })}\n`);
    expect(vmcp.running()).toBe(true);
    expect(beside.wrong).toEqual([]);
    expect(figures.peakMb).toBeLessThan(LIMIT_MB);
    expect([...probes.health.failed, ...probes.metrics.failed]).toEqual([]);
    if (IS_LONG) expect(beside.p99Ms).toBeLessThan(3 * alone.p99Ms);
  },
  120_000 + SECONDS * 2_000,
);
