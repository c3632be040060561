import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../harness/poll.ts';
import { ScriptedBrowser, type Shown } from '../../harness/browser/scripted-browser.ts';
import { blockScope } from '../../harness/scope.ts';
import { writeFiles } from '../../harness/vmcp.ts';
import { startAuthServer, type Gateway } from '../auth-server/gateway.ts';
import { manifestsOf, newKeys, type Keys, type Variant } from '../auth-server/manifests.ts';
import { OAuthClient } from '../auth-server/oauth-client.ts';
import { openBearerSession } from '../bearer-session.ts';
import { answerJson, startLyingProvider, type LyingProvider } from './lying-provider.ts';
import { GENEROUS } from './rates.ts';

const [FIRST, NEXT] = [newKeys(), newKeys()];
const APPROVE = ['decision', 'approve'] as const;

const scope = blockScope();
let provider: LyingProvider;
let gateway: Gateway;
let client: OAuthClient;

const variantOf = (keys: readonly Keys[] = [FIRST], authServer: Readonly<Record<string, unknown>> = {}): Variant => ({
  keys,
  authServer: {
    upstreamProviders: [provider.entry('corp'), provider.entry('chat')],
    consent: { mode: 'always' },
    rateLimits: GENEROUS,
    ...authServer,
  },
});

/** Writes the files and waits until the gateway uses them. */
async function swap(...changes: Parameters<typeof variantOf>): Promise<void> {
  const applied = () => gateway.vmcp.stdout().split('applied: ').length;
  const before = applied();
  const text = manifestsOf(gateway.issuer, gateway.around, variantOf(...changes));
  await writeFiles(gateway.vmcp.folder, { 'gateway.yaml': text });
  await eventually('the files are used', () => applied() > before, { timeoutMs: 10_000 });
}

beforeAll(async () => {
  provider = await startLyingProvider(scope);
  provider.token = answerJson({ access_token: 'token-of-the-provider', token_type: 'bearer' });
  provider.user = answerJson({ id: 'ann' });
  gateway = await startAuthServer(scope, variantOf(), { args: ['--watch'] });
  client = await OAuthClient.register(gateway.issuer);
});

const kids = async (): Promise<string[]> => {
  const reply = await fetch(`${gateway.issuer}/.well-known/jwks.json`);
  return ((await reply.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
};

const session = async (token: string): Promise<string> =>
  openBearerSession(gateway.url, token).then(
    () => 'open',
    (error: unknown) => /HTTP \d+/u.exec(String(error))?.[0] ?? String(error),
  );

async function consentPage(browser: ScriptedBrowser): Promise<Shown> {
  const end = await browser.open((await client.begin()).url);
  if (!('page' in end)) throw new Error('there was no consent page');
  return end.page;
}

describe('a change of the configuration, with everything in memory', () => {
  it('row 72: a key rotation in three steps ends no login and no login attempt', async () => {
    const { access_token: before, refresh_token: token = '' } = await client.login(new ScriptedBrowser());
    const browser = new ScriptedBrowser();
    const page = await consentPage(browser);
    const [old = ''] = await kids();
    await swap([FIRST, NEXT]);
    expect(await kids()).toHaveLength(2);
    await swap([NEXT, FIRST]);
    await sleep(1_100); // files are read once per second, and the next code must be signed with the new secret
    expect((await kids())[1]).toBe(old);
    expect(await session(before)).toBe('open');
    const after = await client.refresh(token);
    expect(await session(after.access_token)).toBe('open');
    expect('client' in (await browser.press(page, APPROVE))).toBe(true);
    await swap([NEXT]);
    expect(await kids()).not.toContain(old);
    expect(await session(before)).toBe('HTTP 401');
    expect(await session(after.access_token)).toBe('open');
    expect((await client.refresh(after.refresh_token ?? '')).access_token).toBeTypeOf('string');
    await swap();
  });

  it('row 71: rejects a consent page whose secret was removed, and a new login works', async () => {
    const browser = new ScriptedBrowser();
    const page = await consentPage(browser);
    await swap([{ ...FIRST, name: 'other-hmac', hmac: NEXT.hmac }]);
    const end = await browser.press(page, APPROVE);
    expect('page' in end && end.page.status).toBe(403);
    expect((await client.login(new ScriptedBrowser())).access_token).toBeTypeOf('string');
    await swap();
  });

  it('a login attempt fails with an error for the client when its provider is replaced', async () => {
    const browser = new ScriptedBrowser({ clients: ['http://127.0.0.1:33418/', `${gateway.issuer}/oauth/callback`] });
    const callback = await browser.login((await client.begin()).url);
    const { oauth2Config } = provider.entry('corp') as { oauth2Config: object };
    const elsewhere = { ...oauth2Config, clientId: 'another', tokenEndpoint: 'http://127.0.0.1:9/token' };
    await swap([FIRST], {
      upstreamProviders: [{ ...provider.entry('corp'), oauth2Config: elsewhere }, provider.entry('chat')],
    });
    provider.asked.length = 0;
    const finishing = new ScriptedBrowser();
    finishing.cookies.keep(
      callback,
      browser.cookies.of(callback.hostname).map(({ name, value }) => `${name}=${value}; Path=/`),
    );
    const end = await finishing.open(callback);
    expect('client' in end && end.client.searchParams.get('error')).toMatch(
      /^(?:server_error|temporarily_unavailable)$/u,
    );
    expect(provider.asked).toEqual([]);
    await swap();
  });

  it('files with a mistake change nothing', async () => {
    const { access_token: token } = await client.login(new ScriptedBrowser());
    const before = gateway.vmcp.output().length;
    const broken = { ...FIRST, signing: 'no key' };
    const text = manifestsOf(gateway.issuer, gateway.around, variantOf([broken]));
    await writeFiles(gateway.vmcp.folder, { 'gateway.yaml': text });
    await eventually('the mistake is logged', () => gateway.vmcp.output().length > before);
    expect(await session(token)).toBe('open');
    expect((await client.login(new ScriptedBrowser())).access_token).toBeTypeOf('string');
    expect(gateway.vmcp.output()).not.toContain('no key\n');
  });
});
