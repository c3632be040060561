export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** TLS settings, version 1.2 or newer; without them connections are not encrypted. */
export interface KeyValueTls {
  /** PEM bundle trusted beside the system roots; reloaded when it changes. */
  readonly caFile?: string | undefined;
  /** Development only. */
  readonly insecureSkipVerify?: boolean | undefined;
}

export type KeyValueServers =
  | { readonly kind: 'single'; readonly address: HostPort }
  /** Some members; the client discovers the others. */
  | { readonly kind: 'cluster'; readonly addresses: readonly HostPort[] }
  | {
      readonly kind: 'sentinel';
      readonly masterName: string;
      readonly addresses: readonly HostPort[];
      /** TLS settings for sentinels, which may have other certificates than the store. They never receive a password. */
      readonly tls?: KeyValueTls | undefined;
    };

export interface KeyValueCredentials {
  /** ACL user; `default` when absent. */
  readonly username?: string | undefined;
  readonly password: string;
}

/** `fault` is the reply of the store. It contains no key, value or password. */
export type OnDenied = (fault: string) => void;

export interface KeyValueSettings {
  readonly servers: KeyValueServers;
  /** Database number; a cluster has only 0. */
  readonly db: number;
  /** Prefix of every key; see `keyPrefixProblem`. */
  readonly keyPrefix: string;
  /** Returns the credentials for the next connection, so that a changed file takes effect. Throws when it is unreadable. */
  readonly credentials?: (() => KeyValueCredentials) | undefined;
  readonly tls?: KeyValueTls | undefined;
  readonly connectTimeoutMs: number;
  /** Longest wait for the answer to a command. */
  readonly replyTimeoutMs: number;
  /** Called once, when the user of the store lacks the rights for a command or a channel. */
  readonly onDenied?: OnDenied | undefined;
}

/** Parses `host:port`: IPv6 hosts in brackets, port optional. Returns undefined for any other text. */
export function parseHostPort(text: string, defaultPort: number): HostPort | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:@/[\]]+))(?::(\d{1,5}))?$/u.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? defaultPort : Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/**
 * Returns the reason why a key prefix is unusable. Its single `{...}` is a hash tag: it puts all keys of one virtual
 * server into one slot of a cluster, which scripts over several keys require.
 */
export function keyPrefixProblem(prefix: string): string | undefined {
  if (!prefix.endsWith(':')) return 'must end with ":"';
  if (!/^[^{}]*\{[^{}]+\}[^{}]*$/u.test(prefix))
    return 'must contain exactly one hash tag, such as "vmcp:auth:{name}:"';
  return undefined;
}
