import { classifyAddress, classifyHost, isApiServerName, type HostClass } from './address-class.ts';

/**
 * Allowed destinations of one configuration block. Link-local, metadata, multicast and reserved addresses are never allowed.
 * @see docs/security.md, Outbound requests
 */
export interface OutboundPolicy {
  /** RFC 1918, CGN, unique local and the other private ranges. */
  readonly allowPrivate: boolean;
  /** 127/8 and ::1. Set where the configured URL itself names a loopback host; a document never widens it. */
  readonly allowLoopback: boolean;
  /** http to hosts that are not loopback. */
  readonly allowHttp: boolean;
  /** Names of the cluster's API server count as private ones. Set where they stand in no user's configuration. */
  readonly allowApiServer?: boolean;
  /** Also the addresses that are otherwise never allowed: for requests whose senders check the URLs themselves. */
  readonly allowForbidden?: boolean;
}

/** Flags of a configuration block about its URLs. */
export interface OutboundFlags {
  readonly allowPrivateIPs?: boolean | undefined;
  readonly insecureAllowHTTP?: boolean | undefined;
}

/** Reason why a URL is rejected. `message` is for the log: it names hosts and addresses, never a path or a query. */
export interface OutboundRefused {
  readonly reason:
    | 'InvalidUrl'
    | 'CredentialsInUrl'
    | 'InsecureUrl'
    | 'PrivateAddress'
    | 'LoopbackAddress'
    | 'ForbiddenAddress';
  readonly message: string;
}

/** Returns the policy of a block that names `url`: loopback is allowed when the URL itself names a loopback host. */
export function policyFor(url: string | URL, flags: OutboundFlags): OutboundPolicy {
  const host = URL.parse(String(url))?.hostname;
  return {
    allowPrivate: flags.allowPrivateIPs === true,
    allowLoopback: host !== undefined && classifyHost(host) === 'loopback',
    allowHttp: flags.insecureAllowHTTP === true,
  };
}

/** Checks a URL without a DNS lookup. Returns undefined when it is allowed. */
export function checkOutboundUrl(url: string | URL, policy: OutboundPolicy): OutboundRefused | undefined {
  const parsed = URL.parse(String(url));
  if (parsed === null) return { reason: 'InvalidUrl', message: 'not a URL: write https://HOST/PATH' };
  if (parsed.username !== '' || parsed.password !== '') {
    const message = `the URL of "${parsed.hostname}" holds a user name or password: put the credential into a secret`;
    return { reason: 'CredentialsInUrl', message };
  }
  return checkHost(parsed, policy);
}

/** Checks the protocol, and the host name or literal address. */
export function checkHost(
  { protocol, hostname }: { readonly protocol: string; readonly hostname: string },
  policy: OutboundPolicy,
): OutboundRefused | undefined {
  if (protocol !== 'https:' && protocol !== 'http:') {
    return { reason: 'InvalidUrl', message: `"${protocol}" is not supported: write https://HOST/PATH` };
  }
  const hostClass = classOfHost(hostname, policy);
  const refused = checkClass(hostClass, `"${hostname}" is`, policy);
  if (refused) return refused;
  if (protocol === 'http:' && hostClass !== 'loopback' && !policy.allowHttp) {
    const message = `http to "${hostname}" is not encrypted: use https, or set insecureAllowHTTP`;
    return { reason: 'InsecureUrl', message };
  }
  return undefined;
}

/** Checks an address that `hostname` resolved to. Rejects a loopback name that resolves elsewhere, because http to it is allowed. */
export function checkAddress(address: string, hostname: string, policy: OutboundPolicy): OutboundRefused | undefined {
  const found = classifyAddress(address);
  if (found !== 'loopback' && classOfHost(hostname, policy) === 'loopback') {
    const message = `"${hostname}" resolves to ${address}, which is no loopback address`;
    return { reason: 'ForbiddenAddress', message };
  }
  return checkClass(found, `"${hostname}" resolves to ${address},`, policy);
}

const classOfHost = (hostname: string, policy: OutboundPolicy): HostClass =>
  policy.allowApiServer === true && isApiServerName(hostname) ? 'private' : classifyHost(hostname);

function checkClass(hostClass: HostClass, subject: string, policy: OutboundPolicy): OutboundRefused | undefined {
  switch (hostClass) {
    case 'public':
      return undefined;
    case 'private':
      if (policy.allowPrivate) return undefined;
      return { reason: 'PrivateAddress', message: `${subject} a private address: set allowPrivateIPs to allow it` };
    case 'loopback':
      if (policy.allowLoopback) return undefined;
      return {
        reason: 'LoopbackAddress',
        message: `${subject} a loopback address, which the configuration does not name`,
      };
    case 'forbidden':
      if (policy.allowForbidden === true) return undefined;
      return {
        reason: 'ForbiddenAddress',
        message: `${subject} a link-local, metadata, multicast, reserved or API server address, which is never called`,
      };
  }
}
