import { isEncrypted } from '../../gateway/contract/rule.ts';
import type { UrlFlags } from '../../gateway/contract/variant.ts';
import { checkUrl } from './addresses.ts';
import type { Platform, Report } from './scope.ts';

/** Where a URL stands. `block` is the path of the object that holds the flags for it. */
export interface UrlPlace {
  readonly path: string;
  readonly block: string;
  readonly flags: UrlFlags;
  readonly mode: Platform['mode'];
}

/** `checkUrl` for addresses of tokens and keys, in blocks whose flags are `allowPrivateIPs` and `insecureAllowHTTP`. */
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
