import { shellWord } from '../contract/text/printable.ts';
import { displayText, markup, type Html } from '../http/page/markup.ts';
import { renderPage, type Page } from '../http/page/page.ts';
import { type McpClient, type ClientEndpoint, addCommand, installLink } from '../management/clients/client.ts';
import { CLIENTS } from '../management/clients/clients.ts';
import { shownFileOf } from '../management/clients/config-file.ts';
import { snippet } from '../management/clients/register.ts';

/** MCP URL of the page when the gateway does not know its own. `HOST` stands for the address that the browser shows. */
export const UNKNOWN_URL = 'http://HOST/mcp';

/**
 * Script of the page at `/`. Writes the address of the browser in place of `HOST`, and shows the copy buttons. Without a secure
 * context there is no clipboard object: the browser then copies the selection.
 */
export const LANDING_SCRIPT = `
const note = document.getElementById('host');
if (note) {
  const { href } = Object.assign(document.createElement('a'), { href: 'mcp' });
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll('${UNKNOWN_URL}', href);
  note.remove();
}
const said = document.getElementById('copied');
for (const button of document.querySelectorAll('button[data-copies]')) {
  const source = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
    } catch {
      getSelection().selectAllChildren(source);
      document.execCommand('copy');
    }
    button.textContent = 'Copied';
    said.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
      said.textContent = '';
    }, 2000);
  });
}
`;

/** Style of the page at `/`, behind the style of all pages. */
export const LANDING_STYLE = `
[hidden]{display:none}
.copyable{display:flex;gap:.75rem;align-items:flex-start}
.copyable code,.copyable pre{flex:1 1 auto;min-width:0;color:var(--text)}
.copyable button{flex:0 0 auto;min-height:2.75rem;padding:.25rem 1rem;font-size:.875rem}
.target.copyable{align-items:center}
.target code{font:600 1rem/1.4 ui-monospace,monospace;color:var(--text)}
details{border-top:1px solid var(--line)}
details:last-of-type{border-bottom:1px solid var(--line)}
summary{padding:.625rem 0;min-height:2.75rem;cursor:pointer;font-weight:600}
details>p{margin-top:0}
main>.copyable,details>.copyable{margin-bottom:1rem}
pre{margin:0;padding:.75rem;background:var(--well);border-radius:.5rem}
pre{font:.8125rem/1.5 ui-monospace,monospace;white-space:pre-wrap}
pre span{display:inline-block;max-width:100%}
.button{display:inline-block;padding:.5625rem 1.25rem .625rem;border-radius:.5rem;font-weight:600}
.button{background:var(--accent);color:var(--onAccent);text-decoration:none}
.links{display:flex;flex-wrap:wrap;gap:.75rem;margin-bottom:1rem}
.unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%)}
@media (max-width:38rem){.copyable:has(pre){flex-direction:column;align-items:stretch}.target code{font-size:.875rem}}
`;

/** Content of the page at `/`. */
export interface LandingFacts {
  /** Name of the virtual server. */
  readonly name: string;
  /** MCP URL for clients; undefined when only clients know it. */
  readonly url: string | undefined;
  /** Accepted issuer; undefined for anonymous virtual servers. */
  readonly issuer: string | undefined;
  /** Command that starts vmcp on the machine of the user; `vmcp` when absent. */
  readonly program?: string | undefined;
  /** Absent when the user may not know it. */
  readonly inside?: Inside | undefined;
}

/** Facts for users who may use the virtual server. */
export interface Inside {
  /** Version of vmcp. */
  readonly version: string;
  readonly backends: readonly ListedBackend[];
}

interface ListedBackend {
  readonly name: string;
  readonly state: string;
  /** Tools that the user sees; undefined when they are unknown or differ per user. */
  readonly tools?: number | undefined;
}

/** The most used clients, which come first. */
const FIRST = ['claude-code', 'cursor', 'vscode'];

/** Endpoint with the commands that the page shows. */
interface Target {
  readonly endpoint: ClientEndpoint;
  readonly program: string;
  readonly isUrlKnown: boolean;
}

/** Page that explains to a user how to connect a client. @see docs/local-mode.md, Connect your client */
export function landingPage({ name, url, issuer, program = 'vmcp', inside }: LandingFacts): Page {
  const shownName = displayText(name);
  const endpoint = { name: name === '' ? 'vmcp' : name, url: url ?? UNKNOWN_URL };
  const target = { endpoint, program, isUrlKnown: url !== undefined };
  const main = markup`<h1><bdi>${shownName}</bdi></h1>
<p>This is an MCP server. Give its URL to your MCP client.</p>
<h2>MCP URL</h2>
<div class="target copyable"><code id="url" dir="ltr">${endpoint.url}</code>${copyButton('url', 'MCP URL')}</div>
${url === undefined ? markup`<p id="host">Replace <code>HOST</code> with the address of this page.</p>` : undefined}
${loginNote(issuer)}
${inside && backendList(inside.backends)}
<h2>Connect your client</h2>
${linkRow(target)}
${sortedClients().map((client) => clientEntry(client, target))}
<p id="copied" class="unseen" role="status"></p>`;
  const served = inside ? `Served by vmcp ${displayText(inside.version)}` : 'Served by vmcp';
  return renderPage({
    status: 200,
    title: `${shownName}: MCP server`,
    server: 'vmcp',
    main,
    footer: markup`<p>${served}: one endpoint over many MCP servers.</p>`,
    form: false,
    style: LANDING_STYLE,
    script: LANDING_SCRIPT,
  });
}

/** Renders the links of the most used clients. */
function linkRow(target: Target): Html | undefined {
  const links = CLIENTS.filter(({ type }) => FIRST.includes(type))
    .toSorted((one, other) => FIRST.indexOf(one.type) - FIRST.indexOf(other.type))
    .flatMap((client) => linkOf(client, target) ?? []);
  return links.length === 0
    ? undefined
    : markup`<p>Where the client is installed, one click adds this server:</p>
<p class="links">${spaced(links)}</p>`;
}

function linkOf(client: McpClient, { endpoint, isUrlKnown }: Target): Html | undefined {
  const link = isUrlKnown ? installLink(client, endpoint) : undefined;
  return link === undefined ? undefined : markup`<a class="button" href="${link}">Add to ${client.name}</a>`;
}

/** Returns the clients in alphabetical order after the most used clients. */
function sortedClients(): readonly McpClient[] {
  const rank = ({ type }: McpClient): number => (FIRST.includes(type) ? FIRST.indexOf(type) : FIRST.length);
  return CLIENTS.toSorted(
    (one, other) => rank(one) - rank(other) || (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1),
  );
}

const loginNote = (issuer: string | undefined): Html =>
  issuer === undefined
    ? markup`<p>No login is needed.</p>`
    : markup`<p>A login is needed: your client opens a browser window for it when it connects. You log in at
<code dir="ltr">${displayText(issuer)}</code>.</p>`;

function backendList(backends: readonly ListedBackend[]): Html {
  const items = backends.map(({ name, state, tools }) => {
    const count = tools === undefined ? undefined : markup`, ${counted(tools, 'tool')}`;
    return markup`<li><bdi>${displayText(name)}</bdi> <span class="quiet">${displayText(state)}${count}</span></li>\n`;
  });
  return markup`<h2 id="servers">Servers behind it</h2>
${items.length === 0 ? markup`<p>None.</p>` : markup`<ul aria-labelledby="servers">\n${items}</ul>\n${totalOf(backends)}`}`;
}

/** Returns the sum of the tools that the list shows, when it shows more than one number. */
function totalOf(backends: readonly ListedBackend[]): Html | undefined {
  const counts = backends.flatMap(({ tools }) => tools ?? []);
  if (counts.length < 2) return undefined;
  const sum = counts.reduce((one, other) => one + other, 0);
  const of = counts.length === backends.length ? 'in all' : `of ${String(counts.length)} servers`;
  return markup`<p>${counted(sum, 'tool')} ${of}.</p>`;
}

const counted = (count: number, what: string): string => `${String(count)} ${what}${count === 1 ? '' : 's'}`;

function clientEntry(client: McpClient, target: Target): Html {
  const { type, name } = client;
  const { endpoint, program } = target;
  const own = addCommand(client, endpoint);
  const link = FIRST.includes(type) ? undefined : linkOf(client, target);
  const connect = [program, 'connect', type, ...['--url', endpoint.url, '--name', endpoint.name].map(shellWord)];
  const project =
    client.projectFile === undefined
      ? undefined
      : markup`, or <code dir="ltr">${client.projectFile}</code> in a project`;
  return markup`<details name="client"${type === FIRST[0] ? markup` open` : undefined}>
<summary>${name}</summary>
${link && markup`<p>${link}</p>`}
${own && commandBox(`own-${type}`, `${name} command`, 'Run this command:', own.map(shellWord))}
${commandBox(`command-${type}`, `vmcp command for ${name}`, 'On a machine with vmcp, this command adds it:', connect)}
<p>Or add this to <code dir="ltr">${shownFileOf(client)}</code>${project}:</p>
<div class="copyable"><pre id="entry-${type}" dir="ltr">${snippet(client, endpoint)}</pre>${copyButton(`entry-${type}`, name)}</div>
</details>
`;
}

/** Renders a command with its button. A line break never divides a word, and an option from its value only if both are too long. */
function commandBox(id: string, what: string, label: string, words: readonly string[]): Html {
  const parts: string[][] = [];
  for (const word of words) {
    if (word.startsWith('--') || parts.length === 0) parts.push([]);
    parts.at(-1)?.push(word);
  }
  const spans = parts.map((part) => markup`<span>${spaced(part.map((word) => markup`<span>${word}</span>`))}</span>`);
  return markup`<p>${label}</p>
<div class="copyable"><pre id="${id}" dir="ltr">${spaced(spans)}</pre>${copyButton(id, what)}</div>
`;
}

const spaced = (fragments: readonly Html[]): Html[] =>
  fragments.map((fragment, index) => (index === 0 ? fragment : markup` ${fragment}`));

/** Button that copies an element. It is hidden until the script runs. */
const copyButton = (id: string, what: string): Html =>
  markup`<button type="button" hidden data-copies="${id}" aria-label="Copy: ${what}">Copy</button>`;
