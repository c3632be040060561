import { describeScopes, type ConsentQuestion } from '../consent-page.ts';

const BASE = {
  server: 'auth.tools.example',
  scopes: describeScopes(['openid', 'profile', 'offline_access', 'tools:call'], new Map([['tools:call', 'call the tools behind this server in your name']])), // oxfmt-ignore
  resource: { name: 'Engineering tools', uri: 'https://tools.example/mcp' },
  providers: [
    { name: 'Example Login', host: 'login.example.com' },
    { name: 'GitHub', host: 'github.com' },
  ],
  form: { action: '/oauth/consent', attempt: 'q3Jx0bS1v9oX2m8h', csrf: 'n5Yb2QkGm1c4uX7d' },
} as const satisfies Partial<ConsentQuestion>;

/** Consent pages for each kind of client, as the documentation shows them. */
export const QUESTIONS: Readonly<Record<'document' | 'loopback' | 'app' | 'long' | 'odd', ConsentQuestion>> = {
  document: {
    ...BASE,
    client: { id: 'https://claude.ai/oauth/client.json', name: 'Claude', source: 'document' },
    redirectUri: 'https://claude.ai/api/mcp/auth_callback',
    rememberedDays: 30,
  },
  loopback: {
    ...BASE,
    client: { id: 'vcl_1', name: 'Claude Code', source: 'registered' },
    redirectUri: 'http://localhost:33418/callback',
  },
  app: {
    ...BASE,
    client: { id: 'vcl_2', name: 'Cursor', source: 'registered' },
    redirectUri: 'cursor://anysphere.cursor-retrieval/oauth/user-tools/callback',
    providers: [{ name: 'Example Login', host: 'login.example.com' }],
  },
  long: {
    ...BASE,
    server: 'authorization.engineering-platform.example.com',
    client: { id: 'vcl_4', name: 'Visual Studio Code - Insiders, on the laptop of Maximiliane K.', source: 'registered' },
    redirectUri: 'http://127.0.0.1:33418/oauth/callback/visual-studio-code-insiders?window=4',
    resource: { name: 'Engineering tools of the platform team', uri: 'https://tools.engineering-platform.example.com/mcp' },
    rememberedDays: 30,
  },
  odd: {
    ...BASE,
    client: { id: 'vcl_3', name: `<b>Official</b> ${'W'.repeat(120)} "Login" & Co`, source: 'registered' },
    redirectUri: `https://${'a-very-long-host-name.'.repeat(6)}example/cb?next='x'&tenant=1&${'longer-'.repeat(60)}`,
    resource: { uri: 'https://tools.example/mcp' },
  },
};
