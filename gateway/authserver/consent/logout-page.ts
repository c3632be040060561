import { markup } from '../../http/page/markup.ts';
import { renderPage, type Page } from '../../http/page/page.ts';

/** Field name of the CSRF token. */
export const LOGOUT_FIELD = 'csrf';

export interface LogoutQuestion {
  /** Host of the issuer. */
  readonly server: string;
  /** Path that receives the form. */
  readonly action: string;
  /** Bound to a cookie of this browser. */
  readonly csrf: string;
}

/** Page that offers to delete the approvals in this browser, for a logout that names no login. */
export function logoutPage({ server, action, csrf }: LogoutQuestion): Page {
  const title = 'Forget the approvals in this browser?';
  const main = markup`<h1>${title}</h1>
<p>This browser remembers which applications you have approved, so that they need not ask each time.</p>
<p>After this every application asks again at its next sign-in.</p>
<form method="post" action="${action}" autocomplete="off">
<input type="hidden" name="${LOGOUT_FIELD}" value="${csrf}">
<div class="answers">
<button class="primary" type="submit">Forget approvals</button>
</div>
</form>`;
  const footer = markup`<p>Applications that are signed in stay so: sign out in the application to end that.</p>`;
  return renderPage({ status: 200, title, server, main, footer, form: true });
}

const DONE = {
  login: { title: 'You are signed out', text: 'The application has no access any more.' },
  approvals: { title: 'The approvals are forgotten', text: 'Every application asks again at its next sign-in.' },
} as const;

/** Page that confirms the logout or the deletion of approvals. */
export function loggedOutPage(server: string, what: keyof typeof DONE): Page {
  const { title, text } = DONE[what];
  const main = markup`<h1>${title}</h1>
<p>${text}</p>`;
  const footer = markup`<p>You can close this page.</p>`;
  return renderPage({ status: 200, title, server, main, footer, form: false });
}
