import { markup, type Html, displayText } from '../../http/page/markup.ts';
import { renderPage, type Page } from '../../http/page/page.ts';
import type { DocumentFault } from '../clients/documents/client-hosts.ts';

interface Explanation {
  readonly status: number;
  /** OAuth error code, for the developer of the application. */
  readonly code: string;
  readonly title: string;
  readonly what: string;
  /** Advice for the user. */
  readonly advice: string;
}

const START_AGAIN = 'Go back to your application and start the sign-in there again.';

/** Pages for requests that cannot safely redirect to the client. Of the request they repeat at most the host of a client document. */
export const ERROR_PAGES = {
  unknown_client: {
    status: 400,
    code: 'invalid_client',
    title: 'This application is not known here',
    what: 'It may have been removed, or its registration has expired because it was not used.',
    advice: 'Remove the server in your application and add it again: it will then register again.',
  },
  client_document: {
    status: 400,
    code: 'invalid_client',
    title: 'The application could not be checked',
    what: 'It points to a description of itself that cannot be read or is not acceptable here.',
    advice: 'Try again in a minute. If the problem persists, tell the operator of this server.',
  },
  client_document_unreachable: {
    status: 400,
    code: 'invalid_client',
    title: 'The application could not be checked',
    what: 'This server has no connection to the site that describes the application.',
    advice: 'Try again in a minute. If the problem persists, tell the operator of this server.',
  },
  redirect_uri: {
    status: 400,
    code: 'invalid_request',
    title: 'The application uses a wrong return address',
    what: 'The address for your return is not one that the application has registered. You were not sent there.',
    advice:
      'If you followed a link to get here, do not trust it. Otherwise remove the server in your application and add it again. If the problem persists, tell the maker of the application.',
  },
  bad_request: {
    status: 400,
    code: 'invalid_request',
    title: 'The application sent a request that cannot be answered',
    what: 'Something in it is missing, repeated or malformed.',
    advice: `${START_AGAIN} If the problem persists, tell the maker of the application.`,
  },
  sign_in_over: {
    status: 400,
    code: 'invalid_request',
    title: 'This sign-in has ended',
    what: 'It took too long, was finished already, or was started again elsewhere.',
    advice: START_AGAIN,
  },
  other_browser: {
    status: 400,
    code: 'invalid_request',
    title: 'This sign-in did not begin in this browser',
    what: 'A sign-in must end in the browser in which it was started, and that browser must accept cookies.',
    advice: `${START_AGAIN} If somebody sent you a link to this page, do not trust it.`,
  },
  provider_mismatch: {
    status: 400,
    code: 'invalid_request',
    title: 'The answer came from an unexpected place',
    what: 'The answer is from another identity provider than the one you signed in at. It was not used.',
    advice: START_AGAIN,
  },
  consent_out_of_date: {
    status: 403,
    code: 'access_denied',
    title: 'Your answer could not be accepted',
    what: 'The page you answered on is out of date, or it was not shown in this browser.',
    advice: START_AGAIN,
  },
  too_many_requests: {
    status: 429,
    code: 'temporarily_unavailable',
    title: 'Too many sign-ins at once',
    what: 'This server has received too many requests in a short time.',
    advice: 'Wait a minute, then start the sign-in in your application again.',
  },
  unavailable: {
    status: 503,
    code: 'temporarily_unavailable',
    title: 'Signing in is not possible at the moment',
    what: 'A service that this server needs does not respond. Your access is unchanged.',
    advice: 'Wait a minute, then start the sign-in in your application again.',
  },
  server_error: {
    status: 500,
    code: 'server_error',
    title: 'Something went wrong here',
    what: 'The fault is on this side, not with you or your application.',
    advice: `${START_AGAIN} If the problem persists, tell the operator of this server.`,
  },
} as const satisfies Record<string, Explanation>;

export type ErrorPageName = keyof typeof ERROR_PAGES;

interface ErrorPageFacts {
  /** Host of the issuer. */
  readonly server: string;
  /** Identifies the log line of the refusal. */
  readonly requestId: string;
  readonly retryAfterSeconds?: number | undefined;
  /** Page of the virtual server, where a user can start again; undefined when only clients know its URL. */
  readonly pageUrl?: string | undefined;
  /** Replaces the explanation of a document by the cause. */
  readonly document?: UnusableDocument | undefined;
  /** Replaces the OAuth error of the page, for the developer of the application. */
  readonly cause?: { readonly error: string; readonly description: string } | undefined;
}

export function errorPage(name: ErrorPageName, facts: ErrorPageFacts): Page {
  const { server, requestId, retryAfterSeconds, cause, pageUrl, document } = facts;
  const { status, code, title, ...texts } = ERROR_PAGES[name];
  const { what, advice, operator } = document ? explainDocument(document) : { ...texts, operator: undefined };
  const main = markup`<h1>${title}</h1>
<p>${what}</p>
${cause && markup`<p>${cause.description}.</p>`}
<h2>What you can do</h2>
<p><strong>${advice}</strong></p>
${operator && markup`<p>${operator}</p>`}
${pageUrl === undefined ? undefined : markup`<p><a href="${pageUrl}">How to connect an application to this server</a></p>`}`;
  const footer = markup`<p>Error <code>${cause?.error ?? code}</code>, number <code>${requestId}</code>.
The operator of this server finds the reason in the log by this number.</p>`;
  const page = renderPage({ status, title, server, main, footer, form: false });
  if (retryAfterSeconds === undefined) return page;
  return { ...page, headers: { ...page.headers, 'Retry-After': String(retryAfterSeconds) } };
}

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
function explainDocument({ host, fault, detail, advertised }: UnusableDocument): DocumentExplanation {
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
