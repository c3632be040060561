import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../operations.ts';
import { startManagementServer, type Answer } from '../testdata/management-server.ts';
import { Secrets, type SecretsOptions } from './secrets.ts';
import { absentKeyring, fakeKeyring, fakeOnePassword, TOKEN } from './testdata/fakes.ts';
import { temporaryFolder } from './testdata/temporary-folder.ts';

const CANARY = 'canary-8c1f';
const KEYS = '/secrets/default/keys';

interface Api {
  readonly stateDir: string;
  /** Another view of the same state folder, for what the API does not return. */
  readonly secrets: Secrets;
  /** Everything that the API has sent and logged. */
  readonly output: string[];
  readonly send: (method: string, path: string, body?: unknown) => Promise<Answer>;
  readonly setUp: (type: string, password?: string) => Promise<Answer>;
}

/** Starts the API with an empty state folder. */
async function startApi({ stateDir = temporaryFolder(), ...options }: Partial<SecretsOptions> = {}): Promise<Api> {
  const output: string[] = [];
  const write = (message: string, fields?: object): void => {
    output.push(`${message} ${JSON.stringify(fields)}`);
  };
  const places = { env: {}, keyring: fakeKeyring(), connectOnePassword: fakeOnePassword({}), log2Cost: 4, ...options };
  const log = { error: write, warn: write, info: write, debug: write };
  const server = await startManagementServer({ stateDir, secrets: places, log });
  const send: Api['send'] = async (method, path, body) => {
    const answer = await server.send(method, `/api/v1beta${path}`, body);
    output.push(answer.text, JSON.stringify([...answer.headers]));
    checkDeclared(method, path, answer);
    return answer;
  };
  const setUp: Api['setUp'] = (provider_type, password) => send('POST', '/secrets', { provider_type, password });
  return { stateDir, secrets: new Secrets({ stateDir, ...places }), output, send, setUp };
}

/** Compares an answer with what its operation declares. */
function checkDeclared(method: string, path: string, { status, text, json }: Answer): void {
  const template = `/api/v1beta${path}`.replace(/keys\/.+$/u, 'keys/{key}');
  const { success, errors } = OPERATIONS.find((known) => known.method === method && known.path === template)!;
  if (status < 300) {
    expect(status).toBe(success.status);
    expect(success.body ? Value.Check(success.body, json) : text === '').toBe(true);
  } else expect([400, 500, ...Object.values(errors).map((error) => error.status)]).toContain(status);
}

/** Starts the API with an encrypted file that holds the secret `github`. */
async function withSecret(options: Partial<SecretsOptions> = {}): Promise<Api> {
  const api = await startApi(options);
  await api.setUp('encrypted');
  expect((await api.send('POST', KEYS, { key: 'github', value: CANARY })).status).toBe(201);
  return api;
}

describe('setup of the secrets provider', () => {
  it.each(['encrypted', '1password', 'environment'])('sets %s up, and reconfigures it', async (type) => {
    const { setUp } = await startApi({ env: { OP_SERVICE_ACCOUNT_TOKEN: TOKEN } });
    const first = await setUp(type);
    expect(first).toMatchObject({ status: 201, json: { provider_type: type } });
    expect(first.text).toContain('set up');
    expect(await setUp(type)).toMatchObject({ status: 201 });
    expect((await setUp(type)).text).toContain('reconfigured');
  });

  it.each([
    ['that is not JSON', 'x'],
    ['that is empty', ''],
    ['without a provider', {}],
    ['with an empty provider', { provider_type: '' }],
    ['with an unknown provider', { provider_type: 'vault' }],
    ['with a password that is a number', { provider_type: 'encrypted', password: 1 }],
  ])('answers 400 to a body %s', async (_what, body) => {
    const { send } = await startApi();
    expect(await send('POST', '/secrets', body)).toMatchObject({ status: 400 });
  });

  it('answers 400 for the encrypted provider without a keyring, and says what to do', async () => {
    const { setUp } = await startApi({ keyring: absentKeyring });
    const { status, text } = await setUp('encrypted', CANARY);
    expect(status).toBe(400);
    expect(text).toContain('set VMCP_SECRETS_PASSWORD_FILE');
  });

  it('answers 400 to a password that contradicts the environment', async () => {
    const { setUp } = await startApi({ env: { VMCP_SECRETS_PASSWORD: 'other' } });
    expect(await setUp('encrypted', CANARY)).toMatchObject({ status: 400 });
  });

  it('treats an empty password as absent', async () => {
    const { setUp } = await startApi({ env: { VMCP_SECRETS_PASSWORD: 'other' } });
    expect(await setUp('encrypted', '')).toMatchObject({ status: 201 });
  });

  it('answers 400 to a wrong password with the reason, and keeps the old provider', async () => {
    const { stateDir } = await withSecret({ env: { VMCP_SECRETS_PASSWORD: 'right' } });
    const api = await startApi({ stateDir, env: {} });
    const { status, text } = await api.setUp('encrypted', CANARY);
    expect([status, text]).toEqual([400, expect.stringContaining(`${join(stateDir, 'secrets_encrypted')} cannot be decrypted`)]); // oxfmt-ignore
    expect(await api.send('GET', '/secrets/default')).toMatchObject({ json: { provider_type: 'encrypted' } });
  });

  it('answers 400 without a token of 1Password, with the reason and without a stack in the log', async () => {
    const { setUp, send, output, stateDir } = await startApi();
    const reason = 'OP_SERVICE_ACCOUNT_TOKEN is not set: set it and start vmcp again';
    expect(await setUp('1password')).toMatchObject({ status: 400, text: `${reason}\n` });
    writeFileSync(join(stateDir, 'secrets-provider.json'), '{"provider_type": "1password"}');
    expect(await send('GET', KEYS)).toMatchObject({ status: 503, text: `${reason}\n` });
    expect(output.join('\n')).not.toMatch(/^\s+at /mu);
  });

  it('answers 503 when 1Password refuses the token', async () => {
    const connectOnePassword = (): Promise<never> => Promise.reject(new Error(TOKEN));
    const { setUp, output } = await startApi({ env: { OP_SERVICE_ACCOUNT_TOKEN: TOKEN }, connectOnePassword });
    const text = '1Password refuses the request: check OP_SERVICE_ACCOUNT_TOKEN and the network\n';
    expect(await setUp('1password')).toMatchObject({ status: 503, text });
    expect(output.join('\n')).not.toContain(TOKEN);
  });

  it.each(['secrets_encrypted', 'secrets-provider.json'])('answers 500 when %s cannot be written', async (file) => {
    const { setUp, stateDir } = await startApi();
    mkdirSync(join(stateDir, file));
    const { status, text } = await setUp('encrypted');
    expect([status, text]).toEqual([500, expect.stringContaining(`${join(stateDir, file)} cannot be read (EISDIR)`)]);
  });

  it('keeps the choice across a restart', async () => {
    const keyring = fakeKeyring();
    const { stateDir } = await withSecret({ keyring });
    const { send } = await startApi({ stateDir, keyring });
    expect(await send('GET', KEYS)).toMatchObject({ json: { keys: [{ key: 'github' }] } });
  });
});

describe('VMCP_SECRETS_PROVIDER', () => {
  it('selects the environment without a setup', async () => {
    const { send, secrets } = await startApi({
      env: { VMCP_SECRETS_PROVIDER: 'environment', VMCP_SECRET_github: CANARY },
    });
    expect(await send('GET', '/secrets/default')).toMatchObject({ json: { provider_type: 'environment' } });
    expect(await secrets.get('github')).toBe(CANARY);
  });

  it('selects no other provider without a setup', async () => {
    const { send } = await startApi({ env: { VMCP_SECRETS_PROVIDER: 'encrypted' } });
    expect(await send('GET', '/secrets/default')).toMatchObject({ status: 404 });
  });

  it('overrides the setup, whose answer says so', async () => {
    const { send, setUp } = await startApi({ env: { VMCP_SECRETS_PROVIDER: 'environment' } });
    expect((await setUp('encrypted')).text).toContain('but VMCP_SECRETS_PROVIDER selects environment');
    expect(await send('GET', '/secrets/default')).toMatchObject({ json: { provider_type: 'environment' } });
  });

  it('answers 500 for an unknown provider', async () => {
    const { send, setUp, output } = await startApi({ env: { VMCP_SECRETS_PROVIDER: 'vault' } });
    await setUp('environment');
    expect(await send('GET', '/secrets/default')).toMatchObject({ status: 500 });
    expect(output.join('\n')).toContain('correct VMCP_SECRETS_PROVIDER');
  });
});

describe('capabilities', () => {
  it.each([
    ['encrypted', [true, true, true, true, true]],
    ['1password', [true, false, false, true, false]],
    ['environment', [true, false, false, false, false]],
  ])('of %s are listed', async (type, [can_read, can_write, can_delete, can_list, can_cleanup]) => {
    const { send, setUp } = await startApi({ env: { OP_SERVICE_ACCOUNT_TOKEN: TOKEN } });
    await setUp(type);
    const capabilities = { can_read, can_write, can_delete, can_list, can_cleanup };
    expect((await send('GET', '/secrets/default')).json).toEqual({
      name: 'default',
      provider_type: type,
      capabilities,
    });
  });
});

describe('operations on secrets', () => {
  it('create, list, update and delete a secret', async () => {
    const { send, secrets } = await withSecret();
    expect((await send('POST', KEYS, { key: 'a/b c', value: 'v' })).json).toMatchObject({ key: 'a/b c' });
    expect((await send('GET', KEYS)).json).toEqual({ keys: [{ key: 'a/b c' }, { key: 'github' }] });
    expect(await send('PUT', `${KEYS}/a%2Fb%20c`, { value: 'w' })).toMatchObject({
      status: 200,
      json: { key: 'a/b c' },
    });
    expect(await secrets.get('a/b c')).toBe('w');
    expect(await send('DELETE', `${KEYS}/a%2Fb%20c`)).toMatchObject({ status: 204 });
    expect(await send('DELETE', `${KEYS}/a%2Fb%20c`)).toMatchObject({ status: 404 });
    expect((await send('GET', KEYS)).json).toEqual({ keys: [{ key: 'github' }] });
  });

  it.each([
    ['that is not JSON', 'x'],
    ['without a key', { value: CANARY }],
    ['with an empty key', { key: '', value: CANARY }],
    ['without a value', { key: 'new' }],
    ['with an empty value', { key: 'new', value: '' }],
    ['with a value that is a number', { key: 'new', value: 1 }],
    ['with a reserved key', { key: '__sys_registry_token', value: CANARY }],
  ])('answer 400 to a creation %s, even before the setup', async (_what, body) => {
    expect(await (await startApi()).send('POST', KEYS, body)).toMatchObject({ status: 400 });
    expect(await (await withSecret()).send('POST', KEYS, body)).toMatchObject({ status: 400 });
  });

  it.each([
    ['that is not JSON', 'x'],
    ['without a value', {}],
    ['with an empty value', { value: '' }],
  ])('answer 400 to an update %s, even before the setup', async (_what, body) => {
    expect(await (await startApi()).send('PUT', `${KEYS}/github`, body)).toMatchObject({ status: 400 });
    expect(await (await withSecret()).send('PUT', `${KEYS}/github`, body)).toMatchObject({ status: 400 });
  });

  it('answer 404 before the setup, and name the operation to use', async () => {
    const { send } = await startApi({ env: { VMCP_SECRET_github: CANARY } });
    const requests = [
      send('GET', '/secrets/default'),
      send('GET', KEYS),
      send('POST', KEYS, { key: 'github', value: CANARY }),
      send('PUT', `${KEYS}/github`, { value: CANARY }),
      send('DELETE', `${KEYS}/github`),
    ];
    for (const { status, text } of await Promise.all(requests)) {
      expect({ status, text }).toMatchObject({
        status: 404,
        text: expect.stringContaining('POST /api/v1beta/secrets'),
      });
    }
  });

  it.each(['1password', 'environment'])(
    'answer 405 to changes with %s, whether the secret exists or not',
    async (type) => {
      const { send, setUp } = await startApi({ env: { OP_SERVICE_ACCOUNT_TOKEN: TOKEN, VMCP_SECRET_github: CANARY } });
      await setUp(type);
      for (const key of ['github', 'unknown']) {
        expect(await send('POST', KEYS, { key, value: CANARY })).toMatchObject({ status: 405 });
        expect(await send('PUT', `${KEYS}/${key}`, { value: CANARY })).toMatchObject({ status: 405 });
        expect(await send('DELETE', `${KEYS}/${key}`)).toMatchObject({ status: 405 });
      }
    },
  );

  it('answer 405 to a list of the environment, and list 1Password with descriptions', async () => {
    const reference = 'op://vault/item/field';
    const { send, setUp } = await startApi({
      env: { OP_SERVICE_ACCOUNT_TOKEN: TOKEN },
      connectOnePassword: fakeOnePassword({ [reference]: CANARY }),
    });
    await setUp('1password');
    expect((await send('GET', KEYS)).json).toEqual({ keys: [{ key: reference, description: `field ${reference}` }] });
    await setUp('environment');
    expect(await send('GET', KEYS)).toMatchObject({ status: 405 });
  });

  it('answer 409 to a key that exists in the file or in the environment', async () => {
    const { send } = await withSecret({ env: { VMCP_SECRETS_PASSWORD: 'p', VMCP_SECRET_slack: 'value' } });
    expect(await send('POST', KEYS, { key: 'github', value: CANARY })).toMatchObject({ status: 409 });
    expect(await send('POST', KEYS, { key: 'slack', value: CANARY })).toMatchObject({ status: 409 });
    expect(await send('POST', KEYS, { key: 'SLACK', value: CANARY })).toMatchObject({ status: 201 });
  });

  it('create a secret for one of several concurrent requests', async () => {
    const { send } = await withSecret();
    const requests = Array.from({ length: 6 }, () => send('POST', KEYS, { key: 'new', value: CANARY }));
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
  });

  it('update a secret of the environment into the file, and delete it there only', async () => {
    const { send, secrets } = await withSecret({ env: { VMCP_SECRETS_PASSWORD: 'p', VMCP_SECRET_slack: 'of env' } });
    expect(await send('DELETE', `${KEYS}/slack`)).toMatchObject({ status: 404 });
    expect(await send('PUT', `${KEYS}/slack`, { value: 'of file' })).toMatchObject({ status: 200 });
    expect(await secrets.get('slack')).toBe('of file');
    expect(await send('DELETE', `${KEYS}/slack`)).toMatchObject({ status: 204 });
    expect(await secrets.get('slack')).toBe('of env');
  });

  it('answer 404 to changes of an unknown key', async () => {
    const { send } = await withSecret();
    expect(await send('PUT', `${KEYS}/unknown`, { value: CANARY })).toMatchObject({ status: 404 });
    expect(await send('DELETE', `${KEYS}/unknown`)).toMatchObject({ status: 404 });
  });

  it('answer 500 when the file is damaged, and leave it as it is', async () => {
    const { send, stateDir } = await withSecret();
    const path = join(stateDir, 'secrets_encrypted');
    writeFileSync(path, 'damaged');
    for (const request of [
      send('GET', KEYS),
      send('POST', KEYS, { key: 'new', value: CANARY }),
      send('PUT', `${KEYS}/github`, { value: CANARY }),
      send('DELETE', `${KEYS}/github`),
    ]) {
      expect(await request).toMatchObject({ status: 500, text: `${path} is damaged: restore it from a backup\n` });
    }
    expect(readFileSync(path, 'utf8')).toBe('damaged');
  });
});

describe('secrets that vmcp keeps for itself', () => {
  it('are neither shown nor changed by the API, and no other part can read them by their name', async () => {
    const { send, secrets } = await withSecret();
    const system = secrets.system('registry');
    await system.set('token', 'one');
    await system.set('token', 'two');
    const path = `${KEYS}/__sys_registry_token`;
    expect((await send('GET', KEYS)).json).toEqual({ keys: [{ key: 'github' }] });
    expect(await send('PUT', path, { value: 'three' })).toMatchObject({ status: 404 });
    expect(await send('DELETE', path)).toMatchObject({ status: 404 });
    expect(await secrets.get('__sys_registry_token')).toBeUndefined();
    expect(await system.get('token')).toBe('two');
    expect(await secrets.system('workloads').get('token')).toBeUndefined();
    expect(await system.delete('token')).toBe(true);
    expect(await system.delete('token')).toBe(false);
  });

  it('do not come from the environment while another provider is in use', async () => {
    const { secrets } = await withSecret({
      env: { VMCP_SECRETS_PASSWORD: 'p', VMCP_SECRET___sys_registry_token: 'x' },
    });
    expect(await secrets.system('registry').get('token')).toBeUndefined();
  });
});

it('no value and no password reaches an answer, the log or the state folder', async () => {
  const env = { VMCP_SECRETS_PASSWORD: `${CANARY}-password`, OP_SERVICE_ACCOUNT_TOKEN: `${CANARY}-token` };
  const { send, setUp, stateDir, output } = await withSecret({ env });
  await send('PUT', `${KEYS}/github`, { value: `${CANARY}-2` });
  await send('POST', KEYS, { key: 'github', value: CANARY });
  await send('POST', KEYS, `{"key": "x", "value": "${CANARY}`);
  await send('POST', KEYS, { key: '', value: CANARY });
  await send('POST', KEYS, { key: { nested: CANARY }, value: [CANARY] });
  await send('PUT', `${KEYS}/unknown`, { value: CANARY });
  await send('POST', '/secrets', { provider_type: CANARY });
  await setUp('encrypted', `${CANARY}-wrong`);
  await setUp('1password');
  await send('GET', KEYS);
  const files = readdirSync(stateDir, { recursive: true, encoding: 'utf8' });
  expect(files.toSorted()).toEqual(['secrets-provider.json', 'secrets_encrypted']);
  expect(files.filter((file) => readFileSync(join(stateDir, file)).includes(CANARY))).toEqual([]);
  writeFileSync(join(stateDir, 'secrets_encrypted'), 'damaged');
  await send('PUT', `${KEYS}/github`, { value: CANARY });
  expect(output.length).toBeGreaterThan(20);
  expect(output.filter((text) => text.includes(CANARY))).toEqual([]);
});
