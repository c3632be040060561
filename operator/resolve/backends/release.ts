import { classifyHost } from '../../../gateway/outbound/address-class.ts';
import { STRATEGIES } from '../../../gateway/outgoing/index.ts';
import { childPath } from '../fields/field-path.ts';
import type { Scope } from '../scope.ts';
import { backendEntry } from './outgoing-entries.ts';
import { serviceUrl } from './server-backend.ts';
import type { MCPExternalAuthConfig, MCPServer, MCPServerEntry, VirtualMCPServer } from '../snapshot.ts';

/** Reason of a credential that is not sent to a member. The member is excluded and never called without it. */
export const CREDENTIAL_WITHHELD = 'CredentialWithheld';

/** Annotation of a Secret: hosts to which `headerForward` of an MCPServerEntry may send its values. */
export const ALLOWED_HOSTS_ANNOTATION = 'vmcp.dev/allowed-hosts';

/** Parses the annotation of a Secret, which separates hosts by commas or spaces. */
export function annotatedHosts(annotations: unknown): readonly string[] {
  if (typeof annotations !== 'object' || annotations === null) return [];
  const text = (annotations as Readonly<Record<string, unknown>>)[ALLOWED_HOSTS_ANNOTATION];
  return typeof text === 'string' ? text.split(/[\s,]+/u).filter((host) => host !== '') : [];
}

/** Field that names an MCPExternalAuthConfig. */
interface Place {
  readonly owner: { readonly kind: string; readonly metadata: { readonly name: string } };
  readonly path: string;
}

/** Reports a config whose credential must not be sent to a member. */
export function checkRelease(
  place: Place,
  config: MCPExternalAuthConfig,
  member: MCPServer | MCPServerEntry,
  scope: Scope,
): void {
  if (config.spec.type === 'unauthenticated') return;
  const { name } = config.metadata;
  const what = `MCPExternalAuthConfig "${name}"`;
  const url = addressOf(member, scope);
  if (url === null) return; // reported as an invalid URL
  const { allowedHosts } = config.spec;
  const refused = allowedHosts && refusedHost(member, url, allowedHosts);
  if (refused) {
    const message = `${what} is withheld from ${describe(member, url)}: its spec.allowedHosts lists ${allowedHosts.join(', ') || 'no host'}. Add ${refused.host} there, or remove the reference`;
    scope.on(place.owner).problem(CREDENTIAL_WITHHELD, place.path, message);
    return;
  }
  if (member.kind === 'MCPServer' || isAccepted(member, scope.vmcp)) return;
  const isPerUser = STRATEGIES.some(({ type, perUser }) => type === config.spec.type && perUser);
  if (allowedHosts && !isPerUser) return;
  const advice = acceptance(member, scope, place.owner === scope.vmcp ? name : undefined);
  const orElse = isPerUser ? '' : `, or add ${url.host} to spec.allowedHosts of the config`;
  withhold(what, { member, url, advice, orElse, place }, scope);
}

/** Reports Secrets of `headerForward` that must not be sent to the entry's host. */
export function checkHeaderSecrets(entry: MCPServerEntry, scope: Scope): void {
  const url = addressOf(entry, scope);
  if (url === null || isAccepted(entry, scope.vmcp)) return;
  entry.spec.headerForward?.addHeadersFromSecret?.forEach(({ valueSecretRef: { name } }, index) => {
    const secret = scope.snapshot.secrets.get(name);
    if (!secret || !refusedHost(entry, url, secret.allowedHosts ?? [])) return; // a missing Secret is reported with its reference
    const place = { owner: entry, path: `spec.headerForward.addHeadersFromSecret[${String(index)}].valueSecretRef` };
    const orElse = `, or annotate the Secret with ${ALLOWED_HOSTS_ANNOTATION}: ${url.host}`;
    withhold(`Secret "${name}"`, { member: entry, url, advice: acceptance(entry, scope), orElse, place }, scope);
  });
}

interface Refusal {
  readonly member: MCPServerEntry;
  readonly url: URL;
  /** Advice for the user, as an imperative. */
  readonly advice: string;
  /** Alternative that allows only this address. */
  readonly orElse: string;
  readonly place: Place;
}

/** Reports a withheld credential; only warns for a local server on loopback, where one user owns everything. */
function withhold(what: string, { member, url, advice, orElse, place: { owner, path } }: Refusal, scope: Scope): void {
  const { name } = scope.vmcp.metadata;
  if (scope.platform.mode === 'local' && classifyHost(url.hostname) === 'loopback') {
    const message = `VirtualMCPServer "${name}" does not name this member; ${what} would be withheld from it at another address. Before you move it, ${advice}`;
    scope.on(owner).warning('MemberNotNamed', path, message);
    return;
  }
  const message = `${what} is withheld from ${describe(member, url)}, which VirtualMCPServer "${name}" does not name. To allow it, ${advice}${orElse}`;
  scope.on(owner).problem(CREDENTIAL_WITHHELD, path, message);
}

const describe = ({ kind, metadata: { name } }: MCPServer | MCPServerEntry, { host }: URL): string =>
  `${kind} "${name}" at ${host}`;

/** Returns true when the VirtualMCPServer names the member. */
const isAccepted = ({ metadata: { name } }: MCPServerEntry, vmcp: VirtualMCPServer): boolean =>
  backendEntry(name, vmcp) !== undefined;

/** Returns the advice to accept a member in `outgoingAuth`, with the config that the entry must name. */
function acceptance({ metadata: { name } }: MCPServerEntry, { vmcp }: Scope, config?: string): string {
  const { source, backendList } = vmcp.spec.outgoingAuth ?? {};
  const members =
    source === 'inline' && config !== undefined
      ? `type: externalAuthConfigRef, externalAuthConfigRef: {name: ${config}}`
      : 'type: discovered';
  const where = `in VirtualMCPServer "${vmcp.metadata.name}"`;
  if (backendList) return `add {name: ${name}, ${members}} to spec.outgoingAuth.backendList ${where}`;
  return `set ${childPath('spec.outgoingAuth.backends', name)}: {${members}} ${where}`;
}

/** Returns the address of a member. An MCPServer has its Service's, in local mode too: files mean the same everywhere. */
function addressOf(member: MCPServer | MCPServerEntry, { snapshot }: Scope): URL | null {
  return URL.parse(member.kind === 'MCPServer' ? serviceUrl(member, snapshot.namespace) : member.spec.remoteUrl);
}

/**
 * Returns the host that the list does not allow: that of the address, or the one that `hostHeader` of a remote server names. A proxy at the
 * address may forward by that name.
 */
function refusedHost(member: MCPServer | MCPServerEntry, url: URL, allowed: readonly string[]): URL | undefined {
  const { hostHeader: header } = member.spec;
  const named = member.kind === 'MCPServer' || header === undefined ? null : URL.parse(`${url.protocol}//${header}`);
  const hosts = named && classifyHost(named.hostname) !== 'loopback' ? [url, named] : [url];
  return hosts.find((host) => !isAllowed(host, allowed));
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Matches `HOST`, `HOST:PORT`, `*.DOMAIN` and `*.DOMAIN:PORT`. A pattern without a port matches every port. */
function isAllowed({ protocol, hostname, port }: URL, allowed: readonly string[]): boolean {
  return allowed.some((pattern) => {
    const [, host = '', only] = /^(.*?)(?::([0-9]+))?$/u.exec(pattern.toLowerCase()) ?? [];
    if (only !== undefined && only !== (port || DEFAULT_PORTS[protocol])) return false;
    return host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host;
  });
}
