import { displayText } from '../http/page/display-text.ts';
import { markup, type Html } from '../http/page/markup.ts';
import { renderPage, type Page } from '../http/page/page.ts';
import type { Client, Endpoint } from '../management/clients/client.ts';
import { CLIENTS } from '../management/clients/clients.ts';
import { shownFileOf } from '../management/clients/config-file.ts';
import { snippet } from '../management/clients/register.ts';
import { LANDING_STYLE } from './landing-style.ts';

/** Content of the page at `/`. */
export interface LandingFacts {
  /** Name of the virtual server. */
  readonly name: string;
  /** MCP URL for clients; undefined when only clients know it. */
  readonly url: string | undefined;
  /** Accepted issuer; undefined for anonymous virtual servers. */
  readonly issuer: string | undefined;
  /** Absent when the user may not know them. */
  readonly backends?: readonly ListedBackend[] | undefined;
}

export interface ListedBackend {
  readonly name: string;
  readonly state: string;
}

/** URL in the entries when the real one is unknown. `HOST` stands for the address that the browser shows. */
const UNKNOWN_URL = 'http://HOST/mcp';

/** Page that explains to a user how to connect a client. @see docs/local-mode.md, Connect your client */
export function landingPage({ name, url, issuer, backends }: LandingFacts): Page {
  const shownName = displayText(name);
  const endpoint = { name: name === '' ? 'vmcp' : name, url: url ?? UNKNOWN_URL };
  const clients = CLIENTS.toSorted((one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1));
  const command = `vmcp connect CLIENT --url ${endpoint.url} --name ${endpoint.name}`;
  const main = markup`<h1><bdi>${shownName}</bdi></h1>
<p>This is an MCP server. Give its URL to your MCP client.</p>
<h2>MCP URL</h2>
<div class="target copyable"><code id="url" dir="ltr">${endpoint.url}</code>${copyButton('url', 'MCP URL')}</div>
${url === undefined ? markup`<p>Replace <code>HOST</code> with the address of this page.</p>` : undefined}
${loginNote(issuer)}
${backends && backendList(backends)}
<h2>Connect your client</h2>
<p>Add the entry to the file of your client. On a machine with vmcp, this command does it:</p>
<div class="copyable"><pre id="command" dir="ltr">${command}</pre>${copyButton('command', 'command')}</div>
${clients.map((client) => clientEntry(client, endpoint))}`;
  const footer = markup`<p>Served by vmcp: one endpoint over many MCP servers.</p>`;
  const title = `${shownName}: MCP server`;
  return renderPage({
    status: 200,
    title,
    server: 'vmcp',
    main,
    footer,
    form: false,
    style: LANDING_STYLE,
    script: SCRIPT,
  });
}

const loginNote = (issuer: string | undefined): Html =>
  issuer === undefined
    ? markup`<p>No login is needed.</p>`
    : markup`<p>A login is needed: your client opens a browser window for it when it connects. You log in at
<code dir="ltr">${displayText(issuer)}</code>.</p>`;

function backendList(backends: readonly ListedBackend[]): Html {
  const items = backends.map(
    ({ name, state }) =>
      markup`<li><bdi>${displayText(name)}</bdi> <span class="quiet">${displayText(state)}</span></li>\n`,
  );
  return markup`<h2 id="servers">Servers behind it</h2>
${items.length === 0 ? markup`<p>None.</p>` : markup`<ul aria-labelledby="servers">\n${items}</ul>`}`;
}

function clientEntry(client: Client, endpoint: Endpoint): Html {
  const id = `entry-${client.type}`;
  const project =
    client.projectFile === undefined
      ? undefined
      : markup`, or <code dir="ltr">${client.projectFile}</code> in a project`;
  return markup`<details name="client">
<summary>${client.name}</summary>
<p>In <code dir="ltr">${shownFileOf(client)}</code>${project}:</p>
<div class="copyable"><pre id="${id}" dir="ltr">${snippet(client, endpoint)}</pre>${copyButton(id, client.name)}</div>
</details>
`;
}

/** Button that copies an element. It is hidden until the script runs. */
const copyButton = (id: string, what: string): Html =>
  markup`<button type="button" hidden data-copies="${id}" aria-label="Copy: ${what}">Copy</button>`;

/** Shows the copy buttons. Without a secure context there is no clipboard object: the browser then copies the selection. */
const SCRIPT = `
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
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
}
`;
