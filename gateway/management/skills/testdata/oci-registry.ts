import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Scope } from '../../../../e2e/harness/scope.ts';
import { tarOf } from './tar.ts';

type Files = Readonly<Record<string, string>>;

export interface OciRegistry {
  /** HOST:PORT on loopback. */
  readonly host: string;
  /** Paths of the requests so far. */
  readonly requests: string[];
  /** Stores a skill and returns the digest of its manifest. */
  push(repository: string, tag: string, files: Files | Buffer, change?: PushOptions): string;
  /** Answers all further requests for manifests with this status. */
  fail(status: number): void;
  /** Requires a token, which is issued without a password or only for this one (`user:password`). */
  protect(password?: string): void;
  /** Serves blobs from another origin. */
  moveBlobs(): void;
  /** Replaces the content of every blob. */
  tamper(): void;
}

export interface PushOptions {
  /** Name in the config; else the last part of the repository. */
  readonly name?: string;
  readonly asIndex?: boolean;
  readonly layers?: number;
}

const TOKEN = 'token-of-the-registry';
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

interface State {
  readonly blobs: Map<string, Buffer>;
  readonly tags: Map<string, string>;
  failure?: number;
  /** `user:password`; empty when anybody gets a token. */
  password?: string;
  isMoved?: boolean;
}

/** Starts a registry that ends with the scope. */
export async function startOciRegistry(scope: Scope): Promise<OciRegistry> {
  const state: State = { blobs: new Map(), tags: new Map() };
  const requests: string[] = [];
  const server = createServer((req, res) => {
    requests.push(req.url ?? '');
    const { status, headers = {}, body = '' } = answer(state, req);
    res.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    host: `127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    requests,
    push: (repository, tag, files, options) => push(state, `${repository}:${tag}`, files, options),
    fail: (status) => (state.failure = status),
    protect: (password = '') => (state.password = password),
    moveBlobs: () => (state.isMoved = true),
    tamper: () => {
      for (const digest of state.blobs.keys()) state.blobs.set(digest, Buffer.from('{}'));
    },
  };
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

function answer(state: State, req: IncomingMessage): Answer {
  const url = new URL(req.url ?? '/', `http://${req.headers.host ?? ''}`);
  if (url.pathname === '/token') return issueToken(state, req, url);
  const [, repository = '', kind = '', id = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/u.exec(url.pathname) ?? [];
  if (url.pathname.startsWith('/elsewhere/')) {
    const isAnonymous = req.headers.authorization === undefined;
    return found(isAnonymous ? state.blobs.get(url.pathname.slice('/elsewhere/'.length)) : undefined);
  }
  if (state.failure !== undefined) return { status: state.failure };
  if (state.password !== undefined && req.headers.authorization !== `Bearer ${TOKEN}`) {
    const challenge = `Bearer realm="${url.origin}/token",service="registry",scope="repository:${repository}:pull"`;
    return { status: 401, headers: { 'www-authenticate': challenge } };
  }
  if (kind === 'blobs' && state.isMoved === true) {
    return { status: 307, headers: { location: `http://localhost:${url.port}/elsewhere/${id}` } };
  }
  return found(state.blobs.get(state.tags.get(`${repository}:${id}`) ?? id));
}

const found = (body: Buffer | undefined): Answer => (body ? { status: 200, body } : { status: 404 });

function issueToken({ password }: State, req: IncomingMessage, { searchParams }: URL): Answer {
  const expected = `Basic ${Buffer.from(password ?? '').toString('base64')}`;
  const isAllowed = password === '' || req.headers.authorization === expected;
  const isPull = searchParams.get('service') === 'registry' && searchParams.get('scope')?.endsWith(':pull') === true;
  return isAllowed && isPull ? { status: 200, body: JSON.stringify({ token: TOKEN }) } : { status: 401 };
}

function push(
  state: State,
  reference: string,
  files: Files | Buffer,
  { name, asIndex = false, layers = 1 }: PushOptions = {},
): string {
  const store = (content: Buffer): { digest: string; size: number } => {
    const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
    state.blobs.set(digest, content);
    return { digest, size: content.length };
  };
  const storeJson = (value: unknown): { digest: string; size: number } => store(Buffer.from(JSON.stringify(value)));
  const own = name ?? reference.slice(reference.lastIndexOf('/') + 1, reference.lastIndexOf(':'));
  const layer = store(gzipSync(Buffer.isBuffer(files) ? files : tarOf(files)));
  const manifest = storeJson({
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: storeJson({ config: { Labels: { 'dev.vmcp.skills.name': own } } }),
    layers: Array.from({ length: layers }, () => layer),
  });
  const top = asIndex ? storeJson({ schemaVersion: 2, manifests: [{ mediaType: MANIFEST, ...manifest }] }) : manifest;
  state.tags.set(reference, top.digest);
  return top.digest;
}
