/**
 * A condition that the schema of a field cannot express: `rule` (CEL) for clusters, `check` for local mode.
 * Both get the value at `path` with defaults, only if it matches its schema. Both reject with `message`.
 */
export interface Rule<in Self = never> {
  /** Path in the object, such as `spec.incomingAuth`; `[]` for each item of a list, `{}` for each value of a map; '' for the object. */
  readonly path: string;
  /** Member of that value at which a violation is reported, such as `oidcConfig`. */
  readonly field?: string;
  readonly rule: string;
  readonly message: string;
  readonly check: (self: Self) => boolean;
  /** `cluster` for a value that local mode accepts; both modes apply the rule when absent. */
  readonly only?: 'cluster';
}

/** Defines a rule with a typed `self`. */
export const rule = <Self>(path: string, spec: Omit<Rule<Self>, 'path'>): Rule<Self> => ({ path, ...spec });

const join = (prefix: string, path: string): string =>
  prefix === '' || path === '' || /^[[{]/.test(path) ? prefix + path : `${prefix}.${path}`;

/** Returns the rules for a value at `prefix`. */
export const at = (prefix: string, rules: readonly Rule[]): Rule[] =>
  rules.map((each) => ({ ...each, path: join(prefix, each.path) }));

type Members = Readonly<Record<string, unknown>>;

const isSet = (self: Members, name: string): boolean => self[name] !== undefined;

/** Requires the member that `discriminator` names and rejects the others. */
export const union = (
  path: string,
  discriminator: string,
  members: readonly { readonly type: string; readonly member: string; readonly optional?: boolean }[],
): Rule[] =>
  members.map(({ type, member, optional }) =>
    rule<Members>(path, {
      field: member,
      rule: optional
        ? `self.${discriminator} == '${type}' || !has(self.${member})`
        : `(self.${discriminator} == '${type}') == has(self.${member})`,
      message: optional
        ? `set ${member} only if ${discriminator} is ${type}`
        : `set ${member} if and only if ${discriminator} is ${type}`,
      check: (self) =>
        (self[discriminator] === type) === isSet(self, member) || (optional === true && !isSet(self, member)),
    }),
  );

export const atMostOne = (path: string, first: string, second: string): Rule =>
  rule<Members>(path, {
    field: second,
    rule: `!(has(self.${first}) && has(self.${second}))`,
    message: `set ${first} or ${second}, not both`,
    check: (self) => !(isSet(self, first) && isSet(self, second)),
  });

export const exactlyOne = (path: string, first: string, second: string): Rule =>
  rule<Members>(path, {
    rule: `has(self.${first}) != has(self.${second})`,
    message: `set exactly one of ${first} and ${second}`,
    check: (self) => isSet(self, first) !== isSet(self, second),
  });

/** Rejects `member` without `other`. */
export const needs = (path: string, member: string, other: string): Rule =>
  rule<Members>(path, {
    field: member,
    rule: `!has(self.${member}) || has(self.${other})`,
    message: `${member} needs ${other}`,
    check: (self) => !isSet(self, member) || isSet(self, other),
  });

/** Allows http on loopback hosts, or with `flag`. */
export const safeUrl = (path: string, member: string, flag = 'insecureAllowHTTP'): Rule =>
  rule<Members>(path, {
    field: member,
    rule:
      `!has(self.${member}) || self.${member}.startsWith('https://') || (has(self.${flag}) && self.${flag})` +
      ` || self.${member}.matches('${LOOPBACK_HTTP.replaceAll('\\', '\\\\')}')`,
    message: `${member} must be https; http needs a loopback host or ${flag}`,
    check: (self) => {
      const url = self[member];
      return typeof url !== 'string' || self[flag] === true || isEncrypted(url);
    },
  });

const LOOPBACK_HTTP = '^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|\\[::1\\])(:[0-9]+)?([/?#]|$)';

/** Returns true when nobody can read requests on their way: https, or a loopback host. */
export const isEncrypted = (url: string): boolean => url.startsWith('https://') || new RegExp(LOOPBACK_HTTP).test(url);

/** Header names of the connection, of MCP and of the client's credentials. */
const RESTRICTED_HEADERS = [
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'dpop',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/** Headers that a Secret may set: the client's credentials never reach a backend, and an outgoing strategy takes precedence. */
export const OWN_CREDENTIAL: readonly string[] = ['authorization'];

export const HEADER_NAME_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

/** Returns true for a header that must not be set or forwarded. `allowed` lifts the restriction of names. */
export const isRestricted = (name: string, allowed: readonly string[] = []): boolean => {
  const lower = name.toLowerCase();
  return lower.startsWith('mcp-') || (RESTRICTED_HEADERS.includes(lower) && !allowed.includes(lower));
};

export const RESTRICTED_MESSAGE =
  'headers of the connection, of MCP and of the caller’s credentials cannot be set here';

const restricted = (name: string, allowed: readonly string[]): string => {
  const list = RESTRICTED_HEADERS.filter((header) => !allowed.includes(header)).map((header) => `'${header}'`);
  return `!${name}.lowerAscii().startsWith('mcp-') && !(${name}.lowerAscii() in [${list.join(', ')}])`;
};

/** Checks a member that names one header. `allowed` lifts the restriction of names. */
export const safeHeader = (path: string, member: string, allowed: readonly string[] = []): Rule =>
  rule<Members>(path, {
    field: member,
    rule: restricted(`self.${member}`, allowed),
    message: RESTRICTED_MESSAGE,
    check: (self) => !isRestricted(String(self[member]), allowed),
  });

/** `safeHeader` for a member that may be absent. */
export const safeOptionalHeader = (path: string, member: string, allowed: readonly string[] = []): Rule =>
  rule<Members>(path, {
    field: member,
    rule: `!has(self.${member}) || (${restricted(`self.${member}`, allowed)})`,
    message: RESTRICTED_MESSAGE,
    check: (self) => !isSet(self, member) || !isRestricted(String(self[member]), allowed),
  });

/**
 * Checks header names in a list of strings, in a map, or in member `key` of each item.
 * `allowed` lifts the restriction of names.
 */
export const safeHeaders = (path: string, key?: string, allowed: readonly string[] = []): Rule =>
  rule<readonly unknown[] | Members>(path, {
    rule: `self.all(h, ${restricted(key === undefined ? 'h' : `h.${key}`, allowed)})`,
    message: RESTRICTED_MESSAGE,
    check: (self) => {
      const items: readonly unknown[] = Array.isArray(self) ? self : Object.keys(self);
      const names = items.map((h) => (key === undefined ? h : (h as Members)[key]));
      return !names.some((h) => typeof h === 'string' && isRestricted(h, allowed));
    },
  });
