import { headerNameProblems } from '../../../gateway/contract/reserved-names.ts';
import { isEncrypted, OWN_CREDENTIAL } from '../../../gateway/contract/rule.ts';
import { quoted } from './texts.ts';
import { hasSecret, STAYS_READABLE } from './secret-text.ts';
import { type Reading, type RemoteTransport, type Setting, settingWarnings } from './server-spec.ts';
import { referencesIn, withFallbacks } from './placeholders.ts';

/** Returns a server that runs elsewhere. Without a transport, a path that ends in `/sse` means HTTP+SSE. */
export function remoteServer(
  written: string,
  transport: RemoteTransport | undefined,
  headers: readonly Setting[],
): Reading {
  const text = withFallbacks(written);
  const references = referencesIn(text);
  if (references.length > 0) return { leftOut: `its URL contains ${references.join(' and ')}: write the URL out` };
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol)) return { leftOut: 'its URL is not an http or https URL' };
  if (url.username !== '' || url.password !== '')
    return { leftOut: 'its URL contains a user name or password: send them in a header' };
  if (url.hash !== '')
    return { leftOut: 'its URL has a fragment, which is never sent: remove the # and the text after it' };
  const isAllowed = ({ name }: Setting): boolean => headerNameProblems(name, '', OWN_CREDENTIAL).length === 0;
  const refused = headers.filter((header) => !isAllowed(header)).map(({ name }) => name);
  return {
    server: {
      runs: 'elsewhere',
      url: text,
      transport: transport ?? (/\/sse\/?$/u.test(url.pathname) ? 'sse' : 'streamable-http'),
      headers: headers.filter(isAllowed),
    },
    warnings: [
      ...(text === written ? [] : [`its URL has the default of ${referencesIn(written).join(' and ')}`]),
      ...settingWarnings(headers.filter(isAllowed)),
      ...(refused.length > 0 ? [`${refused.map(quoted).join(', ')} cannot be set as a header and is left out`] : []),
      ...(hasSecret(url)
        ? [`its URL looks like it contains a secret, which ${STAYS_READABLE}: use a header if the server accepts one`]
        : []),
      ...(isEncrypted(text) ? [] : ['its URL is http: anyone on the network path can read the requests']),
    ],
  };
}
