import { markup } from '../../http/page/markup.ts';
import { renderPage, type Page } from '../../http/page/page.ts';
import { explainDocument, type UnusableDocument } from './document-error.ts';

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

export interface ErrorPageFacts {
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
