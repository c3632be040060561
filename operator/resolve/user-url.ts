import { isEncrypted } from '../../gateway/contract/rule.ts';
import type { UrlFlags } from '../../gateway/contract/variant.ts';
import { checkUrl } from './addresses.ts';
import type { Platform, Report } from './scope.ts';

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
