/**
 * A stand-in for AWS on this machine: `npx node examples/backends/aws.ts --port 4413 --issuer http://127.0.0.1:4400`.
 * `/sts` exchanges a token of the issuer (with `--audience`, only one for that audience) for credentials of a role, like the Security Token Service. `/mcp` is an MCP
 * server that accepts only requests signed with such credentials; its tool `whoami` returns their role and session name.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { failToListen, listen } from './listen.ts';
import { verifySignature } from './signature-v4.ts';
import { assumedRole, stsError } from './sts-reply.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '4413' },
    issuer: { type: 'string', default: 'http://127.0.0.1:4400' },
    audience: { type: 'string' },
  },
});
const { issuer, audience } = values;
const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));

interface Session {
  readonly role: string;
  readonly name: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly expiresAt: number;
}

const { now } = Date;

/** By access key. */
const sessions = new Map<string, Session>();

async function assumeRole(form: URLSearchParams, res: ServerResponse): Promise<void> {
  const refuse = (status: number, code: string): void => {
    res.writeHead(status, { 'content-type': 'text/xml' }).end(stsError(code, 'refused'));
  };
  const role = form.get('RoleArn') ?? '';
  const name = form.get('RoleSessionName') ?? '';
  const seconds = Number(form.get('DurationSeconds'));
  const isValid =
    form.get('Action') === 'AssumeRoleWithWebIdentity' &&
    form.get('Version') === '2011-06-15' &&
    /^arn:aws:iam::[0-9]{12}:role\/\S+$/u.test(role) &&
    /^[\w+=,.@-]{2,64}$/u.test(name) &&
    seconds >= 900 &&
    seconds <= 43_200;
  if (!isValid) {
    refuse(400, 'ValidationError');
    return;
  }
  try {
    await jwtVerify(form.get('WebIdentityToken') ?? '', keys, { issuer, ...(audience !== undefined && { audience }) });
  } catch {
    refuse(400, 'InvalidIdentityToken');
    return;
  }
  const accessKeyId = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`;
  const secretAccessKey = randomBytes(30).toString('base64');
  const sessionToken = randomBytes(120).toString('base64');
  const expiresAt = now() + seconds * 1_000;
  sessions.set(accessKeyId, { role, name, secretAccessKey, sessionToken, expiresAt });
  const given = { accessKeyId, secretAccessKey, sessionToken, expiresAt };
  res.writeHead(200, { 'content-type': 'text/xml' }).end(assumedRole(given, role));
  process.stdout.write(`gave credentials of ${role} to ${name}\n`);
}

/** Returns the session whose credentials signed the request. Throws for any other request. */
function sessionOf({ method = '', url: target = '', headers }: IncomingMessage, body: Buffer): Session {
  const { accessKeyId } = verifySignature({ method, target, headers, body }, (id) => sessions.get(id)?.secretAccessKey);
  const session = sessions.get(accessKeyId);
  if (!session || session.expiresAt <= now()) throw new Error('the credentials have expired');
  if (headers['x-amz-security-token'] !== session.sessionToken) throw new Error('another session token');
  return session;
}

async function serve(req: IncomingMessage, res: ServerResponse, body: Buffer): Promise<void> {
  let session: Session;
  try {
    session = sessionOf(req, body);
  } catch (error) {
    res.writeHead(403, { 'content-type': 'text/plain' }).end(error instanceof Error ? error.message : '');
    return;
  }
  if (req.method !== 'POST') {
    res.writeHead(405, { allow: 'POST' }).end();
    return;
  }
  const server = new McpServer({ name: 'aws', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Returns the role that signed the request.' }, () => {
    const { role, name } = session;
    const seen = { role, session: name, headers: Object.keys(req.headers).toSorted() };
    return { content: [{ type: 'text', text: JSON.stringify(seen) }] };
  });
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  res.once('close', () => void transport.close());
  await server.connect(transport);
  await transport.handleRequest(req, res, JSON.parse(body.toString()));
}

const listener = createServer((req, res) => {
  buffer(req)
    .then((body) =>
      req.url === '/sts' ? assumeRole(new URLSearchParams(body.toString()), res) : serve(req, res, body),
    )
    .catch(() => res.destroy());
});
listen(listener, values.port).then(() => {
  process.stdout.write(`stand-in for AWS at http://127.0.0.1:${values.port}/sts and /mcp, for tokens of ${issuer}\n`);
}, failToListen);
