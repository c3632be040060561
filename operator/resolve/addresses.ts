import { classifyHost } from '../../gateway/outbound/address-class.ts';
import type { Report, Platform } from './scope.ts';
import { isEncrypted } from '../../gateway/contract/rule.ts';
import type { UrlFlags } from '../../gateway/contract/variant.ts';

/** Rules for one URL: where the gateway runs, and which flags the user set. */
export interface UrlRules {
  readonly mode: 'local' | 'cluster';
  readonly allowPrivate: boolean;
  readonly allowHttp: boolean;
  /** Fields that allow the two, named in the message. */
  readonly privateFlag: string;
  readonly httpFlag: string;
}

/** Parses and checks a URL from a resource. Returns undefined after reporting a problem. */
export function checkUrl(text: string, path: string, rules: UrlRules, report: Report): URL | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol)) {
    report.problem('InvalidUrl', path, 'not an http or https URL: write https://HOST/PATH');
    return undefined;
  }
  if (url.username !== '' || url.password !== '') {
    report.problem(
      'CredentialsInUrl',
      path,
      'the URL contains a user name or password: put the credential into a Secret',
    );
    return undefined;
  }
  if (url.hash !== '') {
    report.problem(
      'InvalidUrl',
      path,
      'the URL has a fragment, which is never sent: remove the # and the text after it',
    );
    return undefined;
  }
  const refusal = refuseAddress(url, rules);
  if (refusal) report.problem(refusal.reason, path, refusal.message);
  return refusal ? undefined : url;
}

function refuseAddress(url: URL, rules: UrlRules): { reason: string; message: string } | undefined {
  const host = url.hostname;
  const hostClass = classifyHost(host);
  if (hostClass === 'loopback') {
    return rules.mode === 'local'
      ? undefined
      : { reason: 'LoopbackAddress', message: `"${host}" is the pod itself: use a host that the pod can reach` };
  }
  if (hostClass === 'forbidden') {
    return {
      reason: 'ForbiddenAddress',
      message: `"${host}" is a link-local, metadata, multicast or API server address, which the gateway never calls: use another host`,
    };
  }
  if (hostClass === 'private' && !rules.allowPrivate) {
    return {
      reason: 'PrivateAddress',
      message: `"${host}" is a private address: set ${rules.privateFlag}: true to allow it`,
    };
  }
  if (url.protocol === 'http:' && !rules.allowHttp) {
    return { reason: 'InsecureUrl', message: `http is not encrypted: use https, or set ${rules.httpFlag}: true` };
  }
  return undefined;
}

/** Location of a URL. `block` is the path of the object that contains its flags. */
export interface UrlPlace {
  readonly path: string;
  readonly block: string;
  readonly flags: UrlFlags;
  readonly mode: Platform['mode'];
}

/** Checks the URL of a token or key endpoint, whose flags are `allowPrivateIPs` and `insecureAllowHTTP`. */
export function checkUserUrl(url: string, { path, block, flags, mode }: UrlPlace, report: Report): void {
  const rules = {
    mode,
    allowPrivate: flags.allowPrivateIPs === true,
    allowHttp: flags.insecureAllowHTTP === true,
    privateFlag: `${block}.allowPrivateIPs`,
    httpFlag: `${block}.insecureAllowHTTP`,
  };
  if (!checkUrl(url, path, rules, report) || isEncrypted(url)) return;
  const message =
    'tokens and keys are sent here unencrypted, so anyone on the network path can read or change them: use https';
  report.warning('UnencryptedUrl', path, message);
}
