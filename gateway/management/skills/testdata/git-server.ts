import { execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Scope } from '../../../../e2e/harness/scope.ts';

export interface GitServer {
  /** HOST:PORT on loopback. */
  readonly host: string;
  /** `authorization` headers of the requests so far. */
  readonly authorizations: (string | undefined)[];
  /** Commits these files, by their paths, to a repository and returns the id of the commit. A value `-> x` is a link to x. */
  commit(repository: string, files: Readonly<Record<string, string>>, tag?: string): string;
  /** Commits a file in a folder of any name, also of one that git adds to no commit. */
  commitRaw(repository: string, folder: string, file: string): void;
  /** Answers all further requests with this status. */
  fail(status: number): void;
  /** Answers requests for a repository with a redirect to another one. */
  redirect(from: string, to: string): void;
}

/** Starts a git host on a loopback address that ends with the scope. */
export async function startGitServer(scope: Scope, address = '127.0.0.1'): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), 'vmcp-git-'));
  scope.defer(() => rmSync(root, { recursive: true, force: true }));
  const authorizations: (string | undefined)[] = [];
  const redirects = new Map<string, string>();
  let failure: number | undefined;
  const server = createServer((req, res) => {
    authorizations.push(req.headers.authorization);
    const [, from = '', rest = ''] = /^\/([^/]+\/[^/]+)(\/.*)$/u.exec(req.url ?? '') ?? [];
    const to = redirects.get(from);
    if (failure !== undefined) res.writeHead(failure).end();
    else if (to !== undefined) res.writeHead(301, { location: to.includes(':') ? to + rest : `/${to}${rest}` }).end();
    else answer(root, req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  scope.defer(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    host: `${address}:${String((server.address() as AddressInfo).port)}`,
    authorizations,
    commit: (repository, files, tag) => commit(join(root, repository), files, tag),
    commitRaw: (repository, folder, file) => commitRaw(join(root, repository), folder, file),
    fail: (status) => (failure = status),
    redirect: (from, to) => void redirects.set(from, to),
  };
}

/** Environment in which git reads no settings of this machine. */
const CLEAN = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ann',
  GIT_AUTHOR_EMAIL: 'ann@example.com',
  GIT_COMMITTER_NAME: 'Ann',
  GIT_COMMITTER_EMAIL: 'ann@example.com',
};

/** Runs git in a repository and returns what it prints. */
const gitIn =
  (folder: string, input = '') =>
  (...args: string[]): string =>
    execFileSync('git', ['-C', folder, ...args], { env: CLEAN, encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'ignore'] });

/** Adds a folder with an empty file to the tree of the last commit. */
function commitRaw(repository: string, folder: string, file: string): void {
  const git = gitIn(repository);
  const [blob, top] = [git('hash-object', '-w', '--stdin').trim(), git('ls-tree', 'HEAD')];
  const inner = gitIn(repository, `100644 blob ${blob}\t${file}\n`)('mktree').trim();
  const tree = gitIn(repository, `${top}040000 tree ${inner}\t${folder}\n`)('mktree').trim();
  git('reset', '--soft', git('commit-tree', '-m', 'change', '-p', 'HEAD', tree).trim());
}

function commit(folder: string, files: Readonly<Record<string, string>>, tag?: string): string {
  const git = gitIn(folder);
  mkdirSync(folder, { recursive: true });
  git('init', '--quiet', '--initial-branch=main');
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    if (content.startsWith('-> ')) symlinkSync(content.slice(3), file);
    else writeFileSync(file, content);
  }
  git('add', '--all');
  git('commit', '--quiet', '--allow-empty', '--message', 'change');
  if (tag !== undefined) git('tag', tag);
  return git('rev-parse', 'HEAD').trim();
}

/** Runs `git http-backend` as a CGI program. RFC 3875 */
function answer(root: string, req: IncomingMessage, res: ServerResponse): void {
  const url = new URL(req.url ?? '/', 'http://git');
  const child = spawn('git', ['http-backend'], {
    env: {
      ...CLEAN,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: req.headers['git-protocol'] as string | undefined,
      REQUEST_METHOD: req.method,
      PATH_INFO: url.pathname.replace(/^(\/[^/]+\/[^/]+)/u, '$1/.git'),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: req.headers['content-type'],
      HTTP_CONTENT_ENCODING: req.headers['content-encoding'],
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  req.pipe(child.stdin);
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  child.on('close', () => {
    const reply = Buffer.concat(pieces);
    const end = reply.indexOf('\r\n\r\n');
    const headers = reply.toString('latin1', 0, Math.max(end, 0)).split('\r\n').map((line) => line.split(': '));
    const { Status: status = '200', ...rest } = Object.fromEntries(headers) as Record<string, string>;
    res.writeHead(end === -1 ? 500 : Number.parseInt(status, 10), end === -1 ? {} : rest).end(reply.subarray(end + 4));
  });
}
