import { displayText, markup, type Html } from '../../http/page/markup.ts';
import { redirectTarget, type RedirectTarget } from '../clients/metadata/redirect-uri.ts';
import { renderPage, type Page } from '../../http/page/page.ts';

/** Content of the consent page. Texts of clients are cleaned and escaped here. */
export interface ConsentQuestion {
  /** Host of the issuer. */
  readonly server: string;
  readonly client: ConsentClient;
  /** Redirect URI of this request, with its port. */
  readonly redirectUri: string;
  readonly scopes: readonly ConsentScope[];
  readonly resource: { readonly name?: string | undefined; readonly uri: string };
  /** Providers in the order of their legs. */
  readonly providers: readonly ConsentProvider[];
  /** Days for which this browser remembers the approval. Absent if the user is asked every time. */
  readonly rememberedDays?: number | undefined;
  readonly form: ConsentForm;
}

interface ConsentClient {
  readonly id: string;
  readonly name?: string | undefined;
  /** The `source` of the client. */
  readonly source: 'registered' | 'document';
}

interface ConsentScope {
  readonly name: string;
  readonly text?: string | undefined;
}

interface ConsentProvider {
  readonly name: string;
  /** Host of its login page. */
  readonly host?: string | undefined;
}

interface ConsentForm {
  /** Path that receives the form. */
  readonly action: string;
  readonly attempt: string;
  /** Bound to the login attempt and to the cookie of this browser. */
  readonly csrf: string;
}

/** Field names of the consent form. `transaction` keeps its name, so that pages opened before an upgrade still work. */
export const CONSENT_FIELDS = { attempt: 'transaction', csrf: 'csrf', decision: 'decision' } as const;
export const DECISIONS = { approve: 'approve', deny: 'deny' } as const;

const MAX_NAME = 64;

/** Style of this page: two columns on a wide screen, so that the whole question and its buttons are in view. */
const STYLE = `
@media (min-width:60rem){
header,main,footer{max-width:60rem}
.columns{display:grid;grid-template-columns:1fr 1fr;gap:0 2.5rem}
.columns>div{min-width:0}
.columns>div>h2:first-child{margin-top:.5rem}
}
@media (max-width:38rem) and (min-height:30.01rem){
main{padding-top:1rem}
h1{font-size:1.25rem}
h2{margin-top:.875rem}
p,li,.warning{line-height:1.375}
form{margin-top:.875rem}
}
`;

/** Page that asks the user to approve a client. @see docs/authorization-server.md, Consent */
export function consentPage(question: ConsentQuestion): Page {
  const { server, client, redirectUri, resource, form } = question;
  const name = shortened(displayText(client.name ?? ''));
  const target = redirectTarget(redirectUri);
  const shownName = name === '' ? 'an application without a name' : markup`“<bdi>${name}</bdi>”`;
  const main = markup`<h1>Allow ${shownName} to act for you?</h1>
<div class="columns">
<div>
${clientNote(client, name)}
<h2>Access will be handed to</h2>
${targetBox(target, redirectUri)}
${warningOf(target)}
</div>
<div>
<h2>It wants to use</h2>
${resourceText(resource)}
${scopeList(question.scopes)}
${providerList(question.providers)}
</div>
</div>
${answerForm(form)}`;
  const title = `Allow ${name === '' ? 'an application' : name}?`;
  return renderPage({ status: 200, title, server, main, footer: footerOf(question), form: true, style: STYLE });
}

/** Shortens a long name, which would push the trustworthy parts off the screen. */
function shortened(name: string): string {
  const characters = Array.from(name);
  return characters.length <= MAX_NAME ? name : `${characters.slice(0, MAX_NAME).join('')}…`;
}

function clientNote({ id, source }: ConsentClient, name: string): Html {
  const unverified =
    name === '' ? undefined : markup` It chose that name itself: <strong>the name is unverified.</strong>`;
  switch (source) {
    case 'document':
      return markup`<p>This application is published at <bdi>${new URL(id).host}</bdi>.${unverified}</p>`;
    case 'registered':
      return markup`<p>This application is self-registered: nobody has checked who is behind it.${unverified}</p>`;
  }
}

const targetBox = ({ kind, shown }: RedirectTarget, uri: string): Html => markup`<p class="target">
<strong dir="ltr">${shown}</strong>
<span>${TARGETS[kind]}</span> <code dir="ltr">${uri}</code>
</p>`;

const TARGETS = {
  https: 'a website:',
  loopback: 'this very computer:',
  'private-use': 'an app on this device:',
} as const satisfies Record<RedirectTarget['kind'], string>;

function warningOf({ kind, shown }: RedirectTarget): Html | undefined {
  switch (kind) {
    case 'https':
      return undefined;
    case 'loopback':
      return markup`<p class="warning" role="note"><strong>A program on this computer asks.</strong> It could be any
program that runs here. Approve only if you have just started this sign-in yourself.</p>`;
    case 'private-use':
      return markup`<p class="warning" role="note"><strong>An app on this device asks.</strong> Whichever app opens
“${shown}” links will get your approval. Approve only if you have just started this sign-in yourself.</p>`;
  }
}

function resourceText({ name, uri }: ConsentQuestion['resource']): Html {
  const shownName = name === undefined ? undefined : markup`<bdi>${displayText(name)}</bdi> `;
  return markup`<p>${shownName}<code dir="ltr">${displayText(uri)}</code></p>`;
}

function scopeList(scopes: readonly ConsentScope[]): Html | undefined {
  if (scopes.length === 0) return undefined;
  const items = scopes.map(({ name, text }) => {
    const code = markup`<code dir="ltr">${displayText(name)}</code>`;
    return markup`<li>${text === undefined ? code : markup`${displayText(text)} ${code}`}</li>\n`;
  });
  return markup`<h2 id="scopes">It may</h2>
<ul aria-labelledby="scopes">
${items}</ul>`;
}

function providerList(providers: readonly ConsentProvider[]): Html | undefined {
  if (providers.length === 0) return undefined;
  const items = providers.map(({ name, host }) => {
    const at = host === undefined ? undefined : markup` at <span dir="ltr">${displayText(host)}</span>`;
    return markup`<li><bdi>${displayText(name)}</bdi>${at}</li>\n`;
  });
  const heading = providers.length === 1 ? 'You will sign in with' : 'You will sign in with, one after the other';
  return markup`<h2 id="providers">${heading}</h2>
<ol aria-labelledby="providers">
${items}</ol>`;
}

const answerForm = ({ action, attempt, csrf }: ConsentForm): Html =>
  markup`<form method="post" action="${action}" autocomplete="off">
<input type="hidden" name="${CONSENT_FIELDS.attempt}" value="${attempt}">
<input type="hidden" name="${CONSENT_FIELDS.csrf}" value="${csrf}">
<div class="answers">
<button class="primary" type="submit" name="${CONSENT_FIELDS.decision}" value="${DECISIONS.approve}">Approve</button>
<button type="submit" name="${CONSENT_FIELDS.decision}" value="${DECISIONS.deny}">Deny</button>
</div>
</form>`;

function footerOf({ rememberedDays }: ConsentQuestion): Html {
  const kept =
    rememberedDays === undefined
      ? undefined
      : markup`<p>This browser remembers an approval for ${String(rememberedDays)} days.</p>`;
  return markup`<p>You did not start this? Then deny, or close this page.</p>${kept}`;
}

/** Descriptions of standard scopes. @see OpenID Connect Core 1.0 §5.4, §11 */
const STANDARD: ReadonlyMap<string, string> = new Map([
  ['openid', 'know that it is you when you come back'],
  ['profile', 'see your name'],
  ['email', 'see your e-mail address'],
  ['offline_access', 'go on while you are away, until you or the operator end it'],
]);

/** Describes scopes as continuations of “It may …”. Descriptions of the operator take precedence; some scopes have no description. */
export const describeScopes = (
  scopes: readonly string[],
  ofOperator: ReadonlyMap<string, string> = new Map(),
): readonly ConsentScope[] => scopes.map((name) => ({ name, text: ofOperator.get(name) ?? STANDARD.get(name) }));
