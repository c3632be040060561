import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { causeIn, stderrCause } from './stderr-cause.ts';

/** Output of servers from npm and PyPI that were started without a key, or with packages that do not fit. */
const FOLDER = new URL('../testdata/stderr/', import.meta.url);

const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');
const outputOf = (name: string) => linesOf(readFileSync(new URL(`${name}.txt`, FOLDER), 'utf8'));

const REAL: Readonly<Record<string, string>> = {
  'npm-airtable-mcp-server-1.14.0':
    'Error: airtable-mcp-server: No API key provided. Set it in the `AIRTABLE_API_KEY` environment variable',
  'npm-apify-actors-mcp-server-0.10.6':
    'ERROR APIFY_TOKEN is required but not set in the environment variables or in ~/.apify/auth.json',
  'npm-brave-brave-search-mcp-server-2.1.4':
    'Error: A Brave API key is required via --brave-api-key, BRAVE_API_KEY, --brave-api-key-file, or BRAVE_API_KEY_FILE. You can get one at https://brave.com/search/api/.',
  'npm-elastic-mcp-server-elasticsearch-0.3.1': 'Server error: url: Elasticsearch URL cannot be empty',
  'npm-kubernetes-mcp-server-0.0.67':
    'Error: unable to create kubernetes target provider: no current-context is set and no contexts are defined in kubeconfig.',
  'npm-linear-mcp-server-0.1.0': 'LINEAR_API_KEY environment variable is required',
  'npm-mcp-obsidian-1.0.0': 'Usage: mcp-obsidian <vault-directory>',
  'npm-modelcontextprotocol-server-brave-search-0.6.2': 'Error: BRAVE_API_KEY environment variable is required',
  'npm-modelcontextprotocol-server-gitlab-2025.4.25': 'GITLAB_PERSONAL_ACCESS_TOKEN environment variable is not set',
  'npm-modelcontextprotocol-server-google-maps-0.6.2': 'GOOGLE_MAPS_API_KEY environment variable is not set',
  'npm-modelcontextprotocol-server-postgres-0.6.2': 'Please provide a database URL as a command-line argument',
  'npm-modelcontextprotocol-server-slack-2025.4.25':
    'Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables',
  'npm-perplexity-ai-mcp-server-1.2.1': 'Error: PERPLEXITY_API_KEY environment variable is required',
  'npm-sentry-mcp-server-0.36.0': 'Error: No access token was provided.',
  'npm-slack-mcp-server-1.3.0':
    'Authentication required: Either SLACK_MCP_XOXP_TOKEN, SLACK_MCP_XOXB_TOKEN, or both SLACK_MCP_XOXC_TOKEN and SLACK_MCP_XOXD_TOKEN must be provided',
  'npm-stripe-mcp-0.3.3':
    'Stripe API key not provided. Please either pass it as an argument --api-key=$KEY or set the STRIPE_SECRET_KEY environment variable.',
  'npm-supabase-mcp-server-supabase-0.13.0':
    'Please provide a personal access token (PAT) with the --access-token flag or set the SUPABASE_ACCESS_TOKEN environment variable',
  'npm-sveltejs-mcp-0.1.26': 'Error: getaddrinfo ENOTFOUND svelte.dev',
  'pypi-elevenlabs-mcp-0.12.2': 'ValueError: ELEVENLABS_API_KEY environment variable is required',
  'pypi-mcp-neo4j-cypher-0.6.0':
    "ImportError: cannot import name 'AnyFunction' from 'mcp.types' (/home/user/.venv/lib/python3.11/site-packages/mcp/types/__init__.py)",
  'pypi-mcp-obsidian-0.2.3':
    'ValueError: OBSIDIAN_API_KEY environment variable required. Working directory: /home/user/project',
  'pypi-mcp-server-docker-0.3.0':
    "docker.errors.DockerException: Error while fetching server API version: ('Connection aborted.', FileNotFoundError(2, 'No such file or directory'))",
  'pypi-mcp-server-sentry-2025.1.14':
    "ImportError: cannot import name 'McpError' from 'mcp.shared.exceptions' (/home/user/.venv/lib/python3.11/site-packages/mcp/shared/exceptions.py)",
  'pypi-minimax-mcp-0.0.19': 'ValueError: MINIMAX_API_KEY environment variable is required',
};

describe('the cause in the output of a real server', () => {
  it('is expected for each of them', () => {
    expect(readdirSync(FOLDER).map((file) => file.replace(/\.txt$/u, ''))).toEqual(Object.keys(REAL));
  });

  it.each(Object.entries(REAL))('%s is the line that names it', (name, expected) => {
    const cause = stderrCause([]);
    for (const line of outputOf(name)) cause.line(line);
    expect([causeIn(outputOf(name)), cause.cause()]).toEqual([expected, expected]);
  });
});

it.each([
  [
    'an error that Node.js did not catch, with the version last',
    `/srv/app/index.js:3\nconst key = read('KEY');\n            ^\n\nError: no config\n    at read (/srv/app/index.js:1:20)\n    at node:internal/main/run_main_module:33:47 {\n  code: 'E_CONFIG'\n}\n\nNode.js v24.21.0`,
    'Error: no config',
  ],
  [
    'the issues of a validator',
    `ZodError: [\n  {\n    "code": "invalid_type",\n    "expected": "string",\n    "received": "undefined",\n    "path": [\n      "env",\n      "API_KEY"\n    ],\n    "message": "Required"\n  }\n]\n    at get error (file:///srv/node_modules/zod/lib/index.mjs:587:31)\n}\n\nNode.js v22.1.0`,
    'ZodError: env.API_KEY: Required',
  ],
  [
    'the faults of pydantic',
    `Traceback (most recent call last):\n  File "/srv/main.py", line 3, in <module>\n    settings = Settings()\n               ^^^^^^^^^^\npydantic_core._pydantic_core.ValidationError: 1 validation error for Settings\napi_key\n  Field required [type=missing, input_value={}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.11/v/missing`,
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings: api_key: Field required',
  ],
  [
    'a log in JSON',
    `{"level":30,"msg":"starting"}\n{"level":60,"time":1,"err":{"type":"Error","message":"GRAFANA_URL is not set"}}\n{"level":30,"msg":"bye"}`,
    'GRAFANA_URL is not set',
  ],
  [
    'a module that is missing',
    `node:internal/modules/cjs/loader:1143\n  throw err;\n  ^\n\nError: Cannot find module '/srv/dist/index.js'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1140:15) {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.9.0`,
    "Error: Cannot find module '/srv/dist/index.js'",
  ],
  [
    'warnings before it and a summary after it',
    `(node:7) ExperimentalWarning: CommonJS module loads an ES module\n(Use \`node --trace-warnings ...\` to show where the warning was created)\nnpm warn deprecated x@1.0.0\n[2026-01-02 03:04:05] ERROR main: password for user admin is missing\nserver stopped`,
    '[2026-01-02 03:04:05] ERROR main: password for user admin is missing',
  ],
  [
    'a banner around it',
    `╭──────────────╮\n│ FastMCP 3.4  │\n╰──────────────╯\nFatal: cannot bind to port 80`,
    'Fatal: cannot bind to port 80',
  ],
  [
    'a panic',
    `panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:9 +0x1d\nexit status 2`,
    'panic: runtime error: index out of range',
  ],
  [
    'the causes below an error of Node.js, of which the last is the first in time',
    `Failed to start: TypeError: fetch failed\n    at node:internal/deps/undici/undici:14976:13 {\n  [cause]: Error: cannot load settings\n      at load (/srv/app.js:1:75)\n      ... 4 lines matching cause stack trace ...\n      at node:internal/main/run_main_module:28:49 {\n    [cause]: Error: connect ECONNREFUSED 127.0.0.1:3999\n        at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16) {\n      errno: -111,\n      code: 'ECONNREFUSED'\n    }\n  }\n}\n\nNode.js v20.20.2`,
    'Error: connect ECONNREFUSED 127.0.0.1:3999',
  ],
  [
    'the causes below an exception of Java',
    `Exception in thread "main" java.lang.IllegalStateException: cannot start\n\tat demo.Main.main(Main.java:9)\nCaused by: java.net.UnknownHostException: db.example\n\tat java.base/sun.nio.ch.NioSocketImpl.connect(NioSocketImpl.java:567)\n\t... 3 more`,
    'java.net.UnknownHostException: db.example',
  ],
  [
    'the causes below an error of Rust',
    `Error: failed to start the server\n\nCaused by:\n    0: error sending request for url (https://api.example/)\n    1: failed to lookup address information: Name or service not known`,
    'failed to lookup address information: Name or service not known',
  ],
  [
    'exceptions of Python, of which the last explains the others',
    `Traceback (most recent call last):\n  File "/srv/a.py", line 1, in <module>\n    connect()\nConnectionRefusedError: [Errno 111] Connection refused\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File "/srv/a.py", line 3, in <module>\n    start()\nredis.exceptions.ConnectionError: Error 111 connecting to localhost:6379. Connection refused.`,
    'redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379. Connection refused.',
  ],
  [
    'an exception of Python that says more than the last one',
    `Traceback (most recent call last):\n  File "/srv/a.py", line 1, in <module>\nKeyError: 'API_KEY is required'\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File "/srv/a.py", line 3, in <module>\nRuntimeError: cannot start`,
    "KeyError: 'API_KEY is required'",
  ],
  [
    'an error whose causes name less than it does',
    `Error: API_KEY is not set\n    at read (/srv/app.js:1:75) {\n  [cause]: undefined\n}\nCaused by: java.lang.Exception`,
    'Error: API_KEY is not set',
  ],
  [
    'an error that Node.js prints in brackets',
    `[AxiosError: Request failed with status code 401] {\n  code: 'ERR_BAD_REQUEST'\n}`,
    'AxiosError: Request failed with status code 401',
  ],
  [
    'the end of the usage of argparse',
    'usage: server [-h] --token TOKEN\nserver: error: the following arguments are required: --token',
    'server: error: the following arguments are required: --token',
  ],
  [
    'the end of the usage of click',
    `Usage: server [OPTIONS]\nTry 'server --help' for help.\n\nError: Missing option '--token'.`,
    `Error: Missing option '--token'.`,
  ],
  [
    'the box of typer',
    `Usage: server [OPTIONS]\nTry 'server --help' for help.\n╭─ Error ──────────╮\n│ Missing option '--token'.  │\n╰──────────╯`,
    `Missing option '--token'.`,
  ],
  [
    'the end of the help of yargs',
    'server.js\n\nOptions:\n  --help   Show help  [boolean]\n  --token  the token  [string] [required]\n\nMissing required argument: token',
    'Missing required argument: token',
  ],
  [
    'the error of clap, with the lines that belong to it',
    `error: the following required arguments were not provided:\n  --token <TOKEN>\n\nUsage: server --token <TOKEN>\n\nFor more information, try '--help'.`,
    'error: the following required arguments were not provided: --token <TOKEN>',
  ],
  [
    'a list of variables',
    'Missing required environment variables:\n  - JIRA_URL\n  - JIRA_TOKEN\nbye',
    'Missing required environment variables: JIRA_URL, JIRA_TOKEN',
  ],
  [
    'the inner exception of .NET',
    'Unhandled exception. System.InvalidOperationException: cannot start\n ---> System.Net.Sockets.SocketException (111): Connection refused 127.0.0.1:5432\n   at System.Net.Sockets.Socket.Connect()\n   --- End of inner exception stack trace ---',
    'System.Net.Sockets.SocketException (111): Connection refused 127.0.0.1:5432',
  ],
  [
    'a panic of Rust',
    `thread 'main' panicked at src/main.rs:12:9:\nbad port\nnote: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace`,
    `thread 'main' panicked at src/main.rs:12:9: bad port`,
  ],
  [
    'an error after information about what is not set',
    '2026-01-01 INFO No API_KEY set, anonymous mode\n2026-01-01 [info] listening\nError: listen EADDRINUSE: address already in use 127.0.0.1:3000',
    'Error: listen EADDRINUSE: address already in use 127.0.0.1:3000',
  ],
  [
    'an error after information in JSON',
    `{"level":30,"msg":"no api key configured, read-only"}\n{"level":"info","message":"no token"}\n{"level":50,"err":{"message":"listen EADDRINUSE: address already in use :::3000"},"msg":"server failed"}`,
    'server failed: listen EADDRINUSE: address already in use :::3000',
  ],
  [
    'an error before information',
    '2026-11-28T21:00:00.000Z error: Unable to authenticate: 401 Unauthorized\n2026-11-28T21:00:00.000Z info: closing, no token',
    '2026-11-28T21:00:00.000Z error: Unable to authenticate: 401 Unauthorized',
  ],
  [
    'the issues of a validator as Node.js prints them',
    `Invalid environment variables: [\n  {\n    code: 'invalid_type',\n    received: 'undefined',\n    path: [ 'API_URL' ],\n    message: 'Required'\n  }\n]\nbye`,
    'Invalid environment variables: API_URL: Required',
  ],
  ['information, where nothing else names it', 'INFO: API_KEY is not set\ngoodbye', 'INFO: API_KEY is not set'],
  [
    'the lines after an advertisement of dotenv',
    '[dotenv@17.2.3] injecting env (0) from .env -- tip: set OPTIONS_KEY to override existing env vars\nError: SLACK_TOKEN is required',
    'Error: SLACK_TOKEN is required',
  ],
  ['words that say nothing', 'starting\nbad licence', 'bad licence'],
  ['no words', '}\n]\n---\n', undefined],
])('finds the cause in %s', (_name, output, expected) => {
  expect(causeIn(linesOf(output))).toBe(expected);
});

it('is silent about a process that did not fail, unless a line names a failure', () => {
  const cause = stderrCause([]);
  cause.line('server listens, pid 77');
  expect([cause.cause(true), cause.cause(false)]).toEqual(['server listens, pid 77', undefined]);
  cause.line('FATAL: out of memory');
  expect(cause.cause(false)).toBe('FATAL: out of memory');
});

it('hides the values of secrets and cuts a long line', () => {
  const cause = stderrCause(['canary-1f2e', 'ab']);
  cause.line(`Error: the token canary-1f2e is invalid, Authorization: Bearer abcdefghijk ${'x'.repeat(600)}`);
  expect(cause.cause()).toMatch(/^Error: the token \*\*\* is invalid/u);
  expect(cause.cause()).not.toMatch(/canary|abcdefghijk/u);
  expect(cause.cause()?.length).toBeLessThanOrEqual(301);
});

it.each([
  ['invalid option --api-key sk-canary1234567890abcd', 'invalid option --api-key [redacted]'],
  ['invalid password: "canary-77" for user x', /^invalid password: (?!.*canary)/u],
  ['cannot connect to postgres://me:canary@db:5432/x', 'cannot connect to postgres://[redacted]@db:5432/x'],
  ['pass --token TOKEN_VALUE or --key $KEY', 'pass --token TOKEN_VALUE or --key $KEY'],
])('shows "%s" without a secret', (line, expected) => {
  const cause = stderrCause([]);
  cause.line(line);
  expect(cause.cause()).toMatch(expected);
});

it('keeps the message of a long log entry in JSON', () => {
  const cause = stderrCause([]);
  cause.line(JSON.stringify({ level: 'fatal', stack: 'x'.repeat(1_500), msg: 'API_KEY is not set' }));
  expect(cause.cause()).toBe('API_KEY is not set');
});

it('keeps the start and the end of a long output', () => {
  const cause = stderrCause([]);
  cause.line('Error: API_KEY is required');
  for (let line = 0; line < 1_000; line += 1) cause.line(`retry ${String(line)}`);
  expect(cause.cause()).toBe('Error: API_KEY is required');
  cause.line('Error: DB_URL is required');
  for (let line = 0; line < 50; line += 1) cause.line('closing');
  expect(cause.cause()).toBe('Error: API_KEY is required');
});
