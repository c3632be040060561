import type { DocumentFault } from '../clients/documents/client-hosts.ts';
import { displayText } from '../../http/page/display-text.ts';
import { markup, type Html } from '../../http/page/markup.ts';

/** Client document that cannot be used. */
export interface UnusableDocument {
  /** Host of the document. */
  readonly host: string;
  readonly fault: DocumentFault;
  /** Reason, which quotes nothing of a reply. */
  readonly detail: string;
  /** True while clients are asked to use documents. */
  readonly advertised: boolean;
}

/** Explanation and advice for the user, and advice for the operator. */
interface DocumentExplanation {
  readonly what: Html;
  readonly advice: Html;
  readonly operator?: Html;
}

const MAX_HOST = 100;
const AGAIN = markup`Try again in a minute.`;
/** Advice while documents are not advertised. */
const REGISTER = markup`Start the sign-in in your application again: it can now register here instead. If it does not, log out of
this server in it, or remove the server and add it again.`;
const ANOTHER = markup`Use another application, or ask the operator of this server to accept this application.`;
const LIST = markup`list the application in <code>cimd.documents</code>`;

/** Explains what prevents the use of a document, with its host and the setting. */
export function explainDocument({ host, fault, detail, advertised }: UnusableDocument): DocumentExplanation {
  const site = markup`<code dir="ltr">${displayText(host).slice(0, MAX_HOST)}</code>`;
  const described = markup`The application is described at ${site}`;
  const reason = displayText(detail);
  const operator = (advice: Html): Html => markup`The operator of this server can ${advice}.`;
  const again = advertised ? AGAIN : REGISTER;
  switch (fault) {
    case 'client_id':
      return {
        what: markup`The application names itself with a URL that this server does not accept: ${reason}.`,
        advice: markup`The application must use another URL: tell the people who publish it.`,
      };
    case 'denied_host':
      return {
        what: markup`${described}, a site that the setting <code>cimd.deniedHosts</code> of this server excludes.`,
        advice: ANOTHER,
        operator: operator(markup`remove ${site} from <code>cimd.deniedHosts</code>`),
      };
    case 'other_host':
      return {
        what: markup`${described}, a site that is not in the setting <code>cimd.allowedHosts</code> of this server.`,
        advice: ANOTHER,
        operator: operator(markup`add ${site} to <code>cimd.allowedHosts</code>`),
      };
    case 'loopback_address':
      return {
        what: markup`${described}, a loopback address. This server fetches no descriptions from there.`,
        advice: ANOTHER,
        operator: operator(markup`${LIST}, or for development set <code>cimd.allowLoopbackHTTP</code>`),
      };
    case 'private_address':
    case 'forbidden_address': {
      const kind = fault === 'private_address' ? 'a private' : 'an internal';
      return {
        what: markup`${described}, which has ${kind} address. This server fetches descriptions from public addresses only.`,
        advice: ANOTHER,
        operator: operator(markup`${LIST}: this server then fetches nothing`),
      };
    }
    case 'proxy':
      return {
        what: markup`${described}. The proxy of this server (<code>HTTPS_PROXY</code>) gives no connection to that site.`,
        advice: again,
        operator: operator(markup`allow ${site} in the proxy, list it in <code>NO_PROXY</code>, or ${LIST}`),
      };
    case 'unreachable':
      return {
        what: markup`${described}. This server has no connection to that site.`,
        advice: again,
        operator: operator(markup`allow connections to ${site}, set <code>HTTPS_PROXY</code>, or ${LIST}`),
      };
    case 'document':
      return {
        what: markup`${described}, but this server cannot use the description: ${reason}.`,
        advice: markup`${AGAIN} If the problem persists, tell the people who publish the description at ${site}.`,
      };
  }
}
