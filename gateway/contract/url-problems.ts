import type { Problem } from './problem.ts';
import { isEncrypted } from './rule.ts';

/** Lists problems of a configured URL that need no look-up. */
export function urlProblems(text: string, path: string, insecure: boolean): Problem[] {
  const problem = (reason: string, message: string): Problem[] => [{ reason, path, message }];
  const url = URL.parse(text);
  if (!url || !/^https?:$/u.test(url.protocol)) {
    return problem('InvalidUrl', 'not an http or https URL: write https://HOST/PATH');
  }
  if (url.username !== '' || url.password !== '') {
    return problem(
      'CredentialsInUrl',
      'the URL contains a user name or password: use client_id and client_secret_file',
    );
  }
  if (url.hash !== '') {
    return problem('InvalidUrl', 'the URL has a fragment, which is never sent: remove the # and the text after it');
  }
  if (insecure || isEncrypted(url.href)) return [];
  return problem('InsecureUrl', 'http is not encrypted: use https, or set insecure_allow_http: true');
}
