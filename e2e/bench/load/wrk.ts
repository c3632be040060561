import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { happened, type Body, type Engine, type Load, type Plan } from './load.ts';
import { MCP_HEADERS } from '../mcp.ts';

const SCRIPT = new URL('load.lua', import.meta.url).pathname;

interface Summary {
  readonly requests: number;
  readonly durationUs: number;
  readonly bytes: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly failures: Record<string, number>;
}

/** Returns a Lua string literal of ASCII text: JSON and Lua escape quotes, backslashes and line ends alike. */
const lua = (value: string): string => JSON.stringify(value);

function bodyLua({ before, after, headers = {} }: Body): string {
  const own = Object.entries(headers).map(([name, value]) => `\r\n${name}: ${value}`);
  return `{${lua(before)},${lua(after)},${lua(own.join(''))}}`;
}

/** Returns the plan as a Lua chunk, about 40 kB for 256 sessions of 32 users. */
function planLua({ port, sessions, tokens = [], bodies, mustContain }: Plan): string {
  const headers = { Host: `127.0.0.1:${String(port)}`, ...MCP_HEADERS };
  const own = Object.keys(bodies[0]?.headers ?? {});
  const shared = Object.entries(headers).filter(([name]) => !own.includes(name.toLowerCase()));
  const lines = shared.map(([name, value]) => `${name}: ${value}\r\n`);
  const members = [
    `head = ${lua(`POST /mcp HTTP/1.1\r\n${lines.join('')}`)}`,
    `sessions = {${sessions.map(lua).join(',')}}`,
    `tokens = {${tokens.map(lua).join(',')}}`,
    `bodies = {${bodies.map(bodyLua).join(',')}}`,
    ...(mustContain === undefined ? [] : [`must_contain = ${lua(mustContain)}`]),
  ];
  return `return { ${members.join(',\n')} }\n`;
}

/** Linux refuses arguments of 128 KiB. */
const inPieces = (chunk: string): string[] => chunk.match(/.{1,100000}/gsu) ?? [];

async function run(plan: Plan, connections: number, seconds: number): Promise<Load> {
  const flags = [
    '-t1',
    `-c${String(connections)}`,
    `-d${String(Math.ceil(seconds))}s`,
    '--timeout',
    '10s',
    '-s',
    SCRIPT,
  ];
  const argv = [...flags, `http://127.0.0.1:${String(plan.port)}`, '--', ...inPieces(planLua(plan))];
  const child = spawn('wrk', argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const json = /^BENCH (.*)$/mu.exec(output)?.[1];
  if (json === undefined) throw new Error(`wrk gave no summary:\n${output}`);
  const summary = JSON.parse(json) as Summary;
  return {
    requests: summary.requests,
    seconds: summary.durationUs / 1e6,
    bytes: summary.bytes,
    p50Ms: summary.p50Us / 1e3,
    p99Ms: summary.p99Us / 1e3,
    failures: happened(summary.failures),
  };
}

/** wrk counts whole seconds: shorter slices last one second. */
export const wrkEngine: Engine = { name: 'wrk', run };
