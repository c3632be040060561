import type { PermissionProfile } from '../../../contract/container.ts';
import { classifyHost } from '../../../outbound/address-class.ts';
import { isPackage } from '../run-config-of.ts';
import { WorkloadSettings } from '../settings.ts';
import { Type } from 'typebox';
import { OperationError } from '../../../http/endpoint/request-error.ts';

/** Settings of a registry entry that a request must repeat. */
export interface ToConfirm {
  /** Paths of the members that give more access. */
  readonly paths: readonly string[];
  /** Members to add to the request. */
  readonly settings: object;
}

const Confirmed = Type.Object(
  Type.Pick(WorkloadSettings, ['image', 'permission_profile', 'env_vars', 'oauth_config']).properties,
  { description: 'Settings of the entry that give more access. A request with these members confirms them.' },
);

/** Error of an operation that would take over more access from a registry entry than a workload has without it. */
export const CONFIRMATION_ERRORS = {
  confirmation_required: {
    status: 422,
    message: 'the registry entry gives the workload more access: repeat the request with the members of "confirm"',
    isStructured: true,
    members: { confirm: Confirmed },
  },
};

/** Returns the error that lists what a request must repeat. Nothing has changed. */
export function confirmationRequired({ paths, settings }: ToConfirm): OperationError {
  const message = `the registry entry gives the workload more access by ${paths.join(', ')}: to allow it, repeat the request with the members of "confirm"; to refuse it, with other values`;
  return new OperationError('confirmation_required', message, { confirm: settings });
}

/** Settings that a registry entry sets, and that give more access than a workload has without the entry. */
export interface Widening {
  /** Paths of their members, such as `permission_profile.write`. */
  readonly paths: readonly string[];
  /** The settings, as a request repeats them. */
  readonly settings: Pick<WorkloadSettings, 'image' | 'permission_profile' | 'env_vars' | 'oauth_config'>;
}

type Login = NonNullable<WorkloadSettings['oauth_config']>;
type Outbound = NonNullable<NonNullable<PermissionProfile['network']>['outbound']>;

/**
 * Variables by which a loader, a runtime, a shell or a tool runs other code, finds its configuration, or trusts and reaches
 * other servers. Compared in capitals, as some programs do.
 */
const OBEYED = new RegExp(
  [
    '^(?:LD|DYLD|_?RLD|GCONV|GLIBC|MALLOC)(?:_|$)', // loaders and the C library
    '^(?:NODE|NPM|YARN|PNPM|BUN|DENO|TS_NODE|COREPACK|ELECTRON)_(?!ENV$)',
    '^PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$|IOENCODING$|UTF8$)|^(?:PIP|UV|CONDA|POETRY)_|^VIRTUAL_ENV$',
    '^(?:RUBY|PERL|PHP|LUA)|^(?:GEM|BUNDLE|R|JULIA|ERL|ELIXIR|GO|CARGO|RUST|RUSTC)_|^GO(?:FLAGS|DEBUG|ROOT|PROXY|ENV)$',
    '^_?(?:JAVA|JDK|JVM|MAVEN|GRADLE)_|^CLASSPATH$|^(?:DOTNET|COR|CORECLR|COMPLUS|MONO)_',
    '^(?:PATH|PATHEXT|LIBPATH|SHLIB_PATH|HOME|TMPDIR|TMP|TEMP|SHELL|ENV|IFS|CDPATH|PS4|SHELLOPTS|ZDOTDIR|FPATH|NLSPATH|LOCPATH|TERMINFO|MAIL)$',
    '^(?:BASH|XDG|GIT|SSH|SVN|HG|DOCKER|PODMAN|CONTAINERS?|KUBE|KRB5|SASL|GTK|QT|VMCP)_|^(?:BASHOPTS|KUBECONFIG|NETRC)$',
    '^(?:EDITOR|VISUAL|BROWSER|(?:MAN|GIT_)?PAGER|LESS(?:OPEN|CLOSE)|PROMPT_COMMAND)$',
    '^(?:OPENSSL|SSL|TLS|CURL|REQUESTS|HTTPLIB2|GRPC)_|^SSLKEYLOGFILE$|^RES_OPTIONS$|^HOSTALIASES$|^LOCALDOMAIN$',
    '^(?:AWS|GOOGLE|GOOGLE_CLOUD|AZURE|CLOUDSDK)_(?:.*_)?(?:CONFIG|CONFIG_FILE|CONFIG_DIR|CREDENTIALS|CREDENTIALS_FILE|PROFILE)$',
    '_(?:PRELOAD|OPTIONS|OPTS|COMMAND|PROXY|CA_BUNDLE|CA_CERTS|ASKPASS|REJECT_UNAUTHORIZED|EXECUTABLE(?:_PATH)?|BINARY|PLUGINS?)$',
    '^(?:PSQL|WGET|INPUT|SCREEN)RC$|^(?:VIM|EX)INIT$|^(?:IPYTHON|MPLCONFIG)DIR$|^PG(?:SERVICEFILE|SYSCONFDIR|PASSFILE)$',
  ].join('|'),
  'u',
);

/** Returns true for a variable by which its value can decide which code runs or which servers are trusted. Pure. */
export const isObeyed = (name: string): boolean => OBEYED.test(name.toUpperCase());

/** Returns the settings in `taken`, those of the entry that the request leaves out, which the request must repeat. Pure. */
export function wideningOf(request: WorkloadSettings, taken: WorkloadSettings): Widening | undefined {
  const { image = '', permission_profile: profile, oauth_config: login } = taken;
  const isProcess = request.image !== undefined && request.image !== image && isPackage(image);
  const members = profile === undefined ? [] : widenedMembers(profile);
  const variables = Object.entries(taken.env_vars ?? {}).filter(([name]) => isObeyed(name));
  const audiences = login === undefined ? [] : foreignAudiences(login, taken.url);
  const paths = [
    ...(isProcess ? ['image'] : []),
    ...members.map((member) => `permission_profile.${member}`),
    ...variables.map(([name]) => `env_vars.${name}`),
    ...audiences.map((member) => `oauth_config.${member}`),
  ];
  if (paths.length === 0) return undefined;
  const settings = {
    ...(isProcess && { image }),
    ...(members.length > 0 && profile && { permission_profile: profile }),
    ...(variables.length > 0 && { env_vars: { ...request.env_vars, ...Object.fromEntries(variables) } }),
    ...(audiences.length > 0 && login && { oauth_config: login }),
  };
  return { paths, settings };
}

/** Lists the members of a login that ask for tokens of another server than the one at `url`. */
function foreignAudiences({ resource, oauth_params: more = {} }: Login, url: string | undefined): string[] {
  const asked = [
    ['resource', resource],
    ['oauth_params.resource', more['resource']],
    ['oauth_params.audience', more['audience']],
  ] as const;
  return asked.flatMap(([member, value]) => (value !== undefined && originOf(value) !== originOf(url) ? [member] : []));
}

const originOf = (url = ''): string => URL.parse(url)?.origin ?? '';

/**
 * Lists the members of a profile that give more than `given` does. Without `given` the container may connect to every host,
 * but mounts nothing; an entry that asks for all hosts is named nevertheless, since its publisher could limit it. Pure.
 */
export function widenedMembers(asked: PermissionProfile, given?: PermissionProfile): string[] {
  const { network = {}, read = [], write = [] } = asked;
  const had = { write: given?.write ?? [], read: [...(given?.read ?? []), ...(given?.write ?? [])] };
  const hosts = given?.network?.inbound?.allow_host ?? [];
  const inbound = (network.inbound?.allow_host ?? []).filter((host) => classifyHost(host) !== 'loopback');
  return [
    ...(read.some((mount) => !had.read.includes(mount)) ? ['read'] : []),
    ...(write.some((mount) => !had.write.includes(mount)) ? ['write'] : []),
    ...(asked.privileged === true && given?.privileged !== true ? ['privileged'] : []),
    ...(isOtherNetwork(network.mode, given?.network?.mode) ? ['network.mode'] : []),
    ...(inbound.some((host) => !covers(hosts, host)) ? ['network.inbound.allow_host'] : []),
    ...widenedOutbound(network.outbound ?? {}, given && (given.network?.outbound ?? {})).map(
      (member) => `network.outbound.${member}`,
    ),
  ];
}

const DEFAULT_NETWORKS = ['', 'default', 'bridge'];

/** Returns true for a network with more access: all have more than `none`, and others have another one than the default. */
function isOtherNetwork(asked = '', given = ''): boolean {
  if (asked === '' || asked === 'none' || asked === given) return false;
  return given === 'none' || !DEFAULT_NETWORKS.includes(asked);
}

/** `given` is undefined without a profile. Hosts alone allow every port of them, and ports alone every host. */
function widenedOutbound(asked: Outbound, given: Outbound | undefined): string[] {
  if (given?.insecure_allow_all === true) return [];
  if (asked.insecure_allow_all === true) return ['insecure_allow_all'];
  if (given === undefined) return [];
  const { allow_host: hosts = [], allow_port: ports = [] } = asked;
  const { allow_host: knownHosts = [], allow_port: knownPorts = [] } = given;
  const hadNothing = knownHosts.length + knownPorts.length === 0;
  const hasNewHost = hosts.some((host) => !covers(knownHosts, host)) || (hosts.length === 0 && ports.length > 0);
  const hasNewPort = ports.some((port) => !knownPorts.includes(port)) || (ports.length === 0 && hosts.length > 0);
  return [
    ...(hasNewHost && (hadNothing || knownHosts.length > 0) ? ['allow_host'] : []),
    ...(hasNewPort && (hadNothing || knownPorts.length > 0) ? ['allow_port'] : []),
  ];
}

/** Returns true for a host that one of `hosts` allows. A leading dot allows the name and its subdomains. */
const covers = (hosts: readonly string[], host: string): boolean => {
  const wanted = host.toLowerCase();
  return hosts
    .map((one) => one.toLowerCase())
    .some((one) => one === wanted || (one.startsWith('.') && (wanted === one.slice(1) || wanted.endsWith(one))));
};
