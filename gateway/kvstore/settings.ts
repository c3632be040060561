export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** TLS is on where this is given, at least version 1.2. */
export interface KeyValueTls {
  /** PEM bundle trusted beside the system's roots; followed when it changes. */
  readonly caFile?: string | undefined;
  /** Development only. */
  readonly insecureSkipVerify?: boolean | undefined;
}

export type KeyValueServers =
  | { readonly kind: 'single'; readonly address: HostPort }
  /** Some members; the rest is learned from them. */
  | { readonly kind: 'cluster'; readonly addresses: readonly HostPort[] }
  | {
      readonly kind: 'sentinel';
      readonly masterName: string;
      readonly addresses: readonly HostPort[];
      /** Of the sentinels; they may have other certificates than the store. No password is ever sent to them. */
      readonly tls?: KeyValueTls | undefined;
    };

export interface KeyValueCredentials {
  /** User of the ACL; `default` when absent. */
  readonly username?: string | undefined;
  readonly password: string;
}

export interface KeyValueSettings {
  readonly servers: KeyValueServers;
  /** Number of the database; a cluster has 0 only. */
  readonly db: number;
  /** Put before every key; see `keyPrefixProblem`. */
  readonly keyPrefix: string;
  /** Asked before every connection, so that a changed file counts. Throws when it cannot be read. */
  readonly credentials?: (() => KeyValueCredentials) | undefined;
  readonly tls?: KeyValueTls | undefined;
  readonly connectTimeoutMs: number;
  /** From a command to its answer, also when the answer never comes. */
  readonly replyTimeoutMs: number;
}

/** `host:port`, IPv6 hosts in brackets; the port may be left out. Undefined: it is none. */
export function parseHostPort(text: string, defaultPort: number): HostPort | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:@/[\]]+))(?::(\d{1,5}))?$/u.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? defaultPort : Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/**
 * What is wrong with a key prefix. Its one `{...}` is a hash tag: all keys of one server are then in one slot of a
 * cluster, which scripts over several keys need.
 */
export function keyPrefixProblem(prefix: string): string | undefined {
  if (!prefix.endsWith(':')) return 'must end with ":"';
  if (!/^[^{}]*\{[^{}]+\}[^{}]*$/u.test(prefix)) return 'must hold exactly one hash tag, such as "vmcp:auth:{name}:"';
  return undefined;
}
