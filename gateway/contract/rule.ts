/**
 * A condition that a field's own schema cannot say, for two judges: `rule` (CEL) in a cluster, `check` in local mode.
 * Both see the value at `path`, with defaults in place, and only when its schema holds; both refuse with `message`.
 */
export interface Rule<in Self = never> {
  /** From the object: `spec.incomingAuth`; `[]` for each item of a list, `{}` for each value of a map; '' for all. */
  readonly path: string;
  /** Member of that value that a breach is reported at, such as `oidcConfig`. */
  readonly field?: string;
  readonly rule: string;
  readonly message: string;
  readonly check: (self: Self) => boolean;
}

/** Types `self` for a rule whose `check` looks into it. */
export const rule = <Self>(path: string, spec: Omit<Rule<Self>, 'path'>): Rule<Self> => ({ path, ...spec });

const join = (prefix: string, path: string): string =>
  prefix === '' || path === '' || /^[[{]/.test(path) ? prefix + path : `${prefix}.${path}`;

/** The same rules for a value that stands at `prefix`. */
export const at = (prefix: string, rules: readonly Rule[]): Rule[] =>
  rules.map((each) => ({ ...each, path: join(prefix, each.path) }));

type Members = Readonly<Record<string, unknown>>;

const isSet = (self: Members, name: string): boolean => self[name] !== undefined;

/** The member that `discriminator` names is set, and none of the others. */
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

/** `member` has a meaning only beside `other`. */
export const needs = (path: string, member: string, other: string): Rule =>
  rule<Members>(path, {
    field: member,
    rule: `!has(self.${member}) || has(self.${other})`,
    message: `${member} needs ${other}`,
    check: (self) => !isSet(self, member) || isSet(self, other),
  });

/** http only on loopback hosts, or where the block says `insecureAllowHTTP`. */
export const safeUrl = (path: string, member: string): Rule =>
  rule<Members>(path, {
    field: member,
    rule:
      `!has(self.${member}) || self.${member}.startsWith('https://') || (has(self.insecureAllowHTTP) && self.insecureAllowHTTP)` +
      ` || self.${member}.matches('${LOOPBACK_HTTP.replaceAll('\\', '\\\\')}')`,
    message: `${member} must be https; http needs a loopback host or insecureAllowHTTP`,
    check: (self) => {
      const url = self[member];
      return typeof url !== 'string' || self['insecureAllowHTTP'] === true || isEncrypted(url);
    },
  });

const LOOPBACK_HTTP = '^http://(localhost|127[.][0-9]+[.][0-9]+[.][0-9]+|\\[::1\\])(:[0-9]+)?([/?#]|$)';

/** Whether what is sent to a URL stays unread on its way: https, or a loopback host. */
export const isEncrypted = (url: string): boolean => url.startsWith('https://') || new RegExp(LOOPBACK_HTTP).test(url);

/** Header names that belong to the connection, to MCP or to the caller's own credentials. */
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

/** What a Secret may hold for a backend: no caller's credential gets there, and one of an outgoing strategy goes first. */
export const OWN_CREDENTIAL: readonly string[] = ['authorization'];

export const HEADER_NAME_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

/** Whether a header may neither be set nor passed on. `allowed` takes names off the list. */
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

/** A member that names one header. `allowed` takes names off the restricted list. */
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
 * Header names that may be set or passed on: those of a list of strings or of a map, or member `key` of each item.
 * `allowed` takes names off the restricted list.
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
