import { rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { newSigningKey, type SigningKey } from '../../../e2e/harness/issuer-keys.ts';
import { startIssuer, type Claims, type Issuer } from '../../../e2e/harness/issuer.ts';
import { testScope } from '../../../e2e/harness/scope.ts';
import { createAuthority } from '../../outbound/testdata/authority.ts';
import { serve } from '../../outbound/testdata/servers.ts';
import { apiServerOf } from '../../kube/api-server.ts';
import { AUDIENCE, filesIn, validatorFor, verdictOn, type Setup } from '../testdata/validator-under-test.ts';

const ISSUER = 'https://oidc.cluster.example/id/1';
const POD = 'system:serviceaccount:tools:vmcp';

interface ApiServerOptions {
  /** Status of requests with the pod's token. */
  readonly status?: number;
  readonly issuer?: unknown;
  /** In place of `status`, of requests for the metadata. */
  readonly discoveryStatus?: number;
}

/** An API server as far as service account issuer discovery goes: TLS of the cluster's own authority, token required. */
async function startApiServer(
  key: SigningKey,
  { status = 200, issuer = ISSUER, discoveryStatus = status }: ApiServerOptions = {},
) {
  const authority = createAuthority('cluster');
  const tokens: (string | undefined)[] = [];
  const documents: Record<string, unknown> = {
    '/openid/v1/jwks': { keys: [key.publicJwk] },
    '/.well-known/openid-configuration': { issuer, jwks_uri: 'https://10.0.0.1/openid/v1/jwks' },
  };
  const { port, close } = await serve(
    (req, res) => {
      tokens.push(req.headers.authorization);
      const known = req.headers.authorization?.startsWith('Bearer ') === true;
      const wanted = req.url?.startsWith('/.well-known/') === true ? discoveryStatus : status;
      res.writeHead(known ? wanted : 401, { 'content-type': 'application/json' });
      res.end(JSON.stringify(documents[req.url ?? ''] ?? { kind: 'Status' }));
    },
    { tls: authority.sign('IP:127.0.0.1') },
  );
  return { url: `https://127.0.0.1:${String(port)}`, ca: authority.cert, tokens, close };
}

/** Own token of the pod, unsigned as nobody checks it. */
const ownToken = (claims: Claims): string =>
  [{ alg: 'RS256' }, claims, 'x'].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');

interface ClusterSetup extends Setup {
  readonly api?: ApiServerOptions;
  readonly own?: string;
}

async function cluster({ api, own = ownToken({ iss: ISSUER }), ...setup }: ClusterSetup = {}) {
  const key = newSigningKey('RS256', 'cluster-1');
  const server = await startApiServer(key, api);
  const { token: tokenFile, ca: caFile } = await filesIn(testScope(), { token: own, ca: server.ca });
  const tested = validatorFor(testScope(), undefined, {
    oidc: setup.oidc ?? {},
    incoming: { source: 'kubernetes', ...setup.incoming },
    ...(setup.namespace !== undefined && { namespace: setup.namespace }),
    deps: { apiServer: { url: server.url, tokenFile, caFile }, ...setup.deps },
  });
  const signer = await startIssuer(testScope(), { algorithms: ['ES256'], audience: AUDIENCE });
  const podToken = (claims: Claims = {}, header: Claims = {}) =>
    signer.token(
      {
        iss: ISSUER,
        sub: POD,
        client_id: undefined,
        'kubernetes.io': { namespace: 'tools', serviceaccount: { name: 'vmcp', uid: '1' } },
        ...claims,
      },
      { key, header },
    );
  return { ...tested, server, tokenFile, podToken };
}

describe('service account tokens', () => {
  it('are verified with keys that the gateway fetches from the API server with its own token and the cluster CA', async () => {
    const { validator, server, podToken } = await cluster();
    expect(validator.issuer()).toBe(ISSUER);
    const identity = await validator.validate(podToken());
    expect(identity).toMatchObject({ issuer: ISSUER, subject: POD });
    expect(server.tokens).toEqual([`Bearer ${ownToken({ iss: ISSUER })}`]);
  });

  it.each([
    ['kid', {}, { kid: undefined }],
    ['audience', { aud: 'https://kubernetes.default.svc' }, {}],
    ['issuer', { iss: 'https://kubernetes.default.svc' }, {}],
    ['expired', { exp: undefined }, {}],
    ['service_account', { sub: 'system:node:a' }, {}],
    ['service_account', { sub: 'system:serviceaccount:tools' }, {}],
    ['service_account', { sub: 'system:serviceaccount:tools:vmcp:x' }, {}],
    ['service_account', { 'kubernetes.io': { namespace: 'other', serviceaccount: { name: 'vmcp' } } }, {}],
    ['service_account', { 'kubernetes.io': { namespace: 'tools', serviceaccount: { name: 'other' } } }, {}],
    ['service_account', { 'kubernetes.io': 'tools' }, {}],
  ])('are rejected with reason %s for claims %j and header %j', async (verdict, claims, header) => {
    const { validator, podToken } = await cluster();
    expect(await verdictOn(validator, podToken(claims, header))).toBe(verdict);
  });

  it('are rejected when they are opaque', async () => {
    const { validator } = await cluster();
    expect(await verdictOn(validator, 'opaque')).toBe('opaque');
  });

  it.each([
    ['vmcp', undefined, `sub: ${POD}`, 'tools'],
    ['vmcp', undefined, 'service_account', 'other'],
    ['vmcp', undefined, 'service_account'],
    ['vmcp', 'tools', `sub: ${POD}`, 'other'],
    ['tools:vmcp', undefined, `sub: ${POD}`, 'other'],
    ['tools:vmcp', undefined, `sub: ${POD}`],
    [POD, 'tools', `sub: ${POD}`],
    ['other', undefined, 'service_account'],
    ['other:vmcp', undefined, 'service_account'],
    [undefined, 'tools', `sub: ${POD}`],
    [undefined, 'other', 'service_account'],
    ['vmcp', 'other', 'service_account'],
  ])(
    'are checked against service account %s and namespace %s: %s',
    async (serviceAccount, namespace, verdict, own?: string) => {
      const { validator, podToken } = await cluster({
        ...(own !== undefined && { namespace: own }),
        incoming: {
          ...(serviceAccount !== undefined && { service_account: serviceAccount }),
          ...(namespace !== undefined && { namespace }),
        },
      });
      expect(await verdictOn(validator, podToken())).toBe(verdict);
    },
  );
});

describe('the issuer of a cluster', () => {
  it('is the configured issuer', async () => {
    const { validator, podToken } = await cluster({ oidc: { issuer: 'https://said.example' } });
    expect(await verdictOn(validator, podToken({ iss: 'https://said.example' }))).toBe(`sub: ${POD}`);
    expect(await verdictOn(validator, podToken())).toBe('issuer');
  });

  it('comes from the API server when the token of the gateway names none', async () => {
    const { validator, podToken } = await cluster({ own: 'no-jwt', api: { issuer: 'https://api.example' } });
    expect(validator.issuer()).toBeUndefined();
    expect(await verdictOn(validator, podToken({ iss: 'https://api.example' }))).toBe(`sub: ${POD}`);
    expect(validator.issuer()).toBe('https://api.example');
  });

  it('is https://kubernetes.default.svc when the API server returns an invalid issuer', async () => {
    const { validator, podToken } = await cluster({ own: 'no-jwt', api: { issuer: 7 } });
    expect(await verdictOn(validator, podToken({ iss: 'https://kubernetes.default.svc' }))).toBe(`sub: ${POD}`);
  });

  it('is https://kubernetes.default.svc when the API server has no discovery document', async () => {
    const { validator, podToken } = await cluster({ own: 'no-jwt', api: { discoveryStatus: 404 } });
    expect(await verdictOn(validator, podToken({ iss: 'https://kubernetes.default.svc' }))).toBe(`sub: ${POD}`);
  });

  it.each([401, 403])(
    'is unavailable when the API server answers %i to discovery, and the error names the required role',
    async (status) => {
      const { validator, podToken } = await cluster({ own: 'no-jwt', api: { discoveryStatus: status } });
      const refused = await Promise.resolve(validator.validate(podToken())).catch((error: unknown) => error);
      expect(refused).toMatchObject({ dependency: 'discovery' });
      expect(String(refused)).toContain('system:service-account-issuer-discovery');
      expect(validator.issuer()).toBeUndefined();
    },
  );

  it('is unavailable when the token of the pod is not mounted', async () => {
    const { validator, tokenFile, podToken } = await cluster({ own: 'no-jwt' });
    await rm(tokenFile);
    expect(await verdictOn(validator, podToken())).toBe('down: discovery');
  });

  it('is unavailable while the API server is down', async () => {
    const { validator, server, podToken } = await cluster({ own: 'no-jwt' });
    await server.close();
    expect(await verdictOn(validator, podToken())).toBe('down: discovery');
  });
});

describe('the API server', () => {
  it('receives the new token after the token file has changed', async () => {
    const { validator, server, tokenFile, podToken, elapse } = await cluster({
      deps: {},
    });
    await verdictOn(validator, podToken());
    await writeFile(tokenFile, ownToken({ iss: ISSUER, jti: 'second' }));
    elapse(3_600_000);
    await new Promise((resolve) => setTimeout(resolve, 1_100)); // files are looked at once a second
    await verdictOn(validator, podToken({ exp: 9e9 }));
    expect(server.tokens).toEqual([
      `Bearer ${ownToken({ iss: ISSUER })}`,
      `Bearer ${ownToken({ iss: ISSUER, jti: 'second' })}`,
    ]);
  });

  it.each([401, 403])(
    'leaves the validator unready when it answers %i, and the status names the required role',
    async (status) => {
      const { validator, podToken } = await cluster({ api: { status } });
      expect(await verdictOn(validator, podToken())).toBe('down: keys');
      const { ready, message } = validator.status();
      expect(ready).toBe(false);
      expect(message).toContain('system:service-account-issuer-discovery');
    },
  );

  it('is not trusted with a certificate of another authority', async () => {
    const key = newSigningKey('RS256', 'cluster-1');
    const server = await startApiServer(key);
    const files = await filesIn(testScope(), { token: ownToken({ iss: ISSUER }), ca: createAuthority('evil').cert });
    const { validator } = validatorFor(testScope(), undefined, {
      incoming: { source: 'kubernetes' },
      deps: { apiServer: { url: server.url, tokenFile: files.token, caFile: files.ca } },
    });
    validator.warmUp();
    await expect.poll(() => validator.status().reason).toBe('KeysUnavailable');
    expect(server.tokens).toEqual([]);
  });

  it('is located by the environment variables of the pod', () => {
    expect(apiServerOf({})).toBeUndefined();
    const found = apiServerOf({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' });
    expect(found?.url).toBe('https://[fd00::1]:6443');
    expect(found?.tokenFile).toBe('/var/run/secrets/kubernetes.io/serviceaccount/token');
  });
});

describe('without cluster authentication', () => {
  const plain = async (setup: (issuer: Issuer) => Setup) => {
    const issuer = await startIssuer(testScope(), { algorithms: ['ES256'], audience: AUDIENCE });
    const { oidc, incoming } = setup(issuer);
    const { validator } = validatorFor(testScope(), issuer.url, {
      ...(oidc && { oidc }),
      incoming: { source: 'kubernetes', ...incoming },
    });
    return { validator, issuer };
  };

  it('the keys are found by public discovery', async () => {
    const { validator, issuer } = await plain(() => ({ incoming: { use_cluster_auth: false } }));
    expect(await verdictOn(validator, issuer.token({ sub: POD }))).toBe(`sub: ${POD}`);
    expect(issuer.seen.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
  });

  it('the keys are fetched from the configured URL', async () => {
    const { validator, issuer } = await plain(({ jwksUrl }) => ({ oidc: { jwksurl: jwksUrl } }));
    expect(await verdictOn(validator, issuer.token({ sub: POD }))).toBe(`sub: ${POD}`);
    expect(issuer.seen.map(({ endpoint }) => endpoint)).toEqual(['jwks']);
  });

  it('the configuration is rejected outside of a cluster without an issuer, or with use_cluster_auth and no jwksurl', () => {
    expect(() => validatorFor(testScope(), undefined, { incoming: { source: 'kubernetes' } })).toThrow(
      'oidc_config.issuer',
    );
    const useClusterAuth = { source: 'kubernetes', use_cluster_auth: true } as const;
    expect(() => validatorFor(testScope(), 'https://a.example', { incoming: useClusterAuth })).toThrow('jwksurl');
  });
});
