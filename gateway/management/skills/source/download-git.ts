import { mkdir, rm, writeFile } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { getCACertificates } from 'node:tls';
import { printable } from '../../../contract/text/printable.ts';
import { classifyHost } from '../../../outbound/address-class.ts';
import { guardedLookup } from '../../../outbound/connector.ts';
import { proxyFor, type Proxy } from '../../../outbound/proxy/proxies.ts';
import { SkillError } from '../errors.ts';
import { formatGitReference, gitRefName, type GitReference } from '../reference/git-reference.ts';
import { sourceError, statusError, type Download, type DownloadDeps, type DownloadRequest } from './download.ts';
import { GitError, runGit, type GitRun, type GitSettings } from './run-git.ts';
import { unpackSkill } from './unpack-skill.ts';

const TIMEOUT_MS = 120_000;
const MIB = 1024 * 1024;
const MAX_REPOSITORY_BYTES = 500 * MIB;
const ADVERTISEMENT = '/info/refs?service=git-upload-pack';
const ADVERTISEMENT_TYPE = 'application/x-git-upload-pack-advertisement';
const MAX_ADVERTISEMENT_BYTES = 32 * 1024 * 1024;

/** Downloads the folder of a skill from one commit of a git repository. @throws SkillError */
export async function downloadFromGit(
  reference: GitReference,
  request: DownloadRequest,
  deps: DownloadDeps,
): Promise<Download> {
  const what = formatGitReference(reference);
  const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), request.signal]);
  const { maxRepositoryBytes: maxBytes = MAX_REPOSITORY_BYTES } = deps;
  try {
    const authorization = gitAuthorization(reference.host, deps.env, request.isNamedByUser);
    const remote = await findRepository(reference, authorization, deps, signal);
    const proxy = proxyFor(remote);
    const route = proxy ? await throughProxy(proxy, request, deps) : await pinned(remote, deps);
    const settings = { ...SETTINGS, ...route, ...withHeader(authorization) };
    const { digest, leftOut } = await clone({
      ...{ remote, reference, request, settings, maxBytes, signal },
      searchPath: deps.env['PATH'],
    });
    return {
      reference: formatGitReference({ ...reference, ref: digest }),
      ...(reference.ref !== undefined && { tag: reference.ref }),
      digest,
      ...(leftOut.length > 0 && { leftOut }),
    };
  } catch (error) {
    if (error instanceof GitError) throw gitFailure(error, what, maxBytes);
    throw sourceError(error, what);
  }
}

/**
 * Returns the URL of the repository after redirects. Uses the guarded client, because git would follow a redirect to any
 * address.
 */
async function findRepository(
  reference: GitReference,
  authorization: string | undefined,
  { outbound }: DownloadDeps,
  signal: AbortSignal,
): Promise<URL> {
  const scheme = classifyHost(reference.host.replace(/:\d+$/u, '')) === 'loopback' ? 'http' : 'https';
  const reply = await outbound.requestBytes({
    url: `${scheme}://${reference.host}/${reference.repository}${ADVERTISEMENT}`,
    method: 'GET',
    headers: { 'git-protocol': 'version=2', ...(authorization !== undefined && { authorization }) },
    maxBytes: MAX_ADVERTISEMENT_BYTES,
    timeoutMs: TIMEOUT_MS,
    followRedirects: true,
    signal,
  });
  const what = formatGitReference(reference);
  if (reply.status !== 200) throw statusError(reply.status, what);
  if (reply.contentType !== ADVERTISEMENT_TYPE || !reply.url.endsWith(ADVERTISEMENT)) throw statusError(404, what);
  return new URL(reply.url.slice(0, -ADVERTISEMENT.length));
}

const SETTINGS: GitSettings = {
  'core.askPass': '',
  'core.bigFileThreshold': '16m', // larger files are streams, not held in memory
  'core.hooksPath': '/dev/null',
  'core.packedGitLimit': '128m',
  'core.packedGitWindowSize': '16m',
  'credential.helper': '',
  'fetch.recurseSubmodules': 'false',
  'fetch.unpackLimit': '1', // one file, whose size is limited, instead of one for each object
  'gc.auto': '0',
  'maintenance.auto': 'false',
  'pack.threads': '1',
  'http.followRedirects': 'false',
  'http.proxy': '',
  'protocol.version': '2',
  'transfer.fsckObjects': 'true',
};

/** Without it, `.gitattributes` in the folder of the skill can leave files out of the archive. @see git-archive(1) */
const ARCHIVE_ALL = '* -export-ignore\n';

const withHeader = (authorization: string | undefined): GitSettings =>
  authorization === undefined ? {} : { 'http.extraHeader': `Authorization: ${authorization}` };

/** Returns the setting that makes git connect to the checked addresses, even if the name resolves to others later. */
async function pinned({ hostname, protocol, port }: URL, { policy, lookup }: DownloadDeps): Promise<GitSettings> {
  if (isIP(hostname) !== 0 || hostname.startsWith('[')) return {};
  const addresses = await lookUp(hostname, guardedLookup(policy, lookup));
  const list = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',');
  return { 'http.curloptResolve': `${hostname}:${port || (protocol === 'http:' ? '80' : '443')}:${list}` };
}

/**
 * Returns the settings that make git connect through a proxy. With CAs of `NODE_EXTRA_CA_CERTS`, which git does not read, it gets those
 * of this process: a proxy that reads TLS has certificates of its own.
 */
async function throughProxy(proxy: Proxy, { folder }: DownloadRequest, { env }: DownloadDeps): Promise<GitSettings> {
  const settings = { 'http.proxy': proxy.href, 'http.proxyAuthMethod': 'basic' };
  if (!env['NODE_EXTRA_CA_CERTS']) return settings;
  const bundle = join(gitFolder(folder), 'ca.pem');
  await mkdir(gitFolder(folder));
  await writeFile(bundle, getCACertificates('default').join('\n'));
  return { ...settings, 'http.sslCAInfo': bundle, 'http.proxySSLCAInfo': bundle };
}

const lookUp = (hostname: string, lookup: LookupFunction): Promise<string[]> =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, found) => {
      if (error) reject(error);
      else resolve(typeof found === 'string' ? [found] : found.map(({ address }) => address));
    });
  });

interface Clone {
  readonly remote: URL;
  readonly reference: GitReference;
  readonly request: DownloadRequest;
  readonly settings: GitSettings;
  /** Limit of the repository on disk. */
  readonly maxBytes: number;
  readonly searchPath: string | undefined;
  readonly signal: AbortSignal;
}

/** Returns the folder of git beside that of the skill; it exists during a download. */
const gitFolder = (folder: string): string => `${folder}.git`;

/** Fetches one commit without a work tree, and unpacks the folder of the skill. */
async function clone({ remote, reference, request, settings, maxBytes, searchPath, signal }: Clone) {
  const repository = gitFolder(request.folder);
  const protocol = remote.protocol === 'http:' ? 'http' : 'https';
  const git = <Result>(args: readonly string[], read: (output: AsyncIterable<Uint8Array>) => Promise<Result>) => {
    const limits = { maxFileBytes: maxBytes, signal };
    const run: GitRun = { args: ['--git-dir', repository, ...args], settings, searchPath, protocol, ...limits };
    return runGit(run, read);
  };
  try {
    await git(['init', '--quiet', '--bare', '--template='], text);
    await mkdir(join(repository, 'info'));
    await writeFile(join(repository, 'info', 'attributes'), ARCHIVE_ALL);
    const ref = gitRefName(reference.ref);
    await git(['fetch', '--quiet', '--depth', '1', '--no-tags', '--', remote.href, ref], text);
    const ids = await git(['rev-parse', 'FETCH_HEAD^{commit}', `FETCH_HEAD:${reference.folder ?? ''}`], text);
    const [commit = '', tree = ''] = ids.split('\n');
    const leftOut = await git(['archive', '--format=tar', tree], (output) => unpackSkill(output, request.folder));
    return { digest: commit, leftOut };
  } finally {
    await rm(repository, { recursive: true, force: true });
  }
}

const TOO_LARGE = /file too large|out of memory|cannot allocate memory/iu;

function gitFailure({ message, output }: GitError, what: string, maxBytes: number): SkillError {
  if (/couldn't find remote ref|not our ref|does not exist in/iu.test(message)) {
    return statusError(404, what);
  }
  if (TOO_LARGE.test(output)) {
    const limit = `${String(maxBytes / MIB)} MiB`;
    return new SkillError('unusable_skill', `${what} is too large: its repository has more than ${limit}`);
  }
  const [, fault] = /^error: object [0-9a-f]+: (.*)$/mu.exec(output) ?? []; // of git-fsck(1)
  if (fault !== undefined) {
    const detail = `${what} cannot be used: its repository holds what git refuses (${printable(fault)})`;
    return new SkillError('unusable_skill', detail);
  }
  return new SkillError('source_failed', `${what} cannot be downloaded: git failed (${message})`);
}

/** Tokens that are sent to one host only. */
const TOKENS_OF_HOSTS: ReadonlyMap<string, string> = new Map([
  ['github.com', 'GITHUB_TOKEN'],
  ['gitlab.com', 'GITLAB_TOKEN'],
]);
/** Variable with the token for any host that the user names. */
const TOKEN_OF_ANY_HOST = 'GIT_TOKEN';
const USER = 'x-access-token';

/** Returns the `authorization` header for a git host; undefined without a token for it. */
function gitAuthorization(
  host: string,
  env: Readonly<Record<string, string | undefined>>,
  isNamedByUser: boolean,
): string | undefined {
  const own = TOKENS_OF_HOSTS.get(host.toLowerCase());
  const token = (own !== undefined && env[own]) || (isNamedByUser && env[TOKEN_OF_ANY_HOST]);
  return token ? `Basic ${Buffer.from(`${USER}:${token}`).toString('base64')}` : undefined;
}
