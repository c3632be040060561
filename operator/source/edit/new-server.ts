import { imageScheme } from '../../resolve/backends/server-backend.ts';
import { programOf } from '../clients/command-line.ts';
import { SERVER_COMMANDS } from '../clients/commands/index.ts';
import { quoted } from '../clients/texts.ts';
import { remoteServer } from '../clients/remote-server.ts';
import { argumentWarnings, isSecretName, looksLikeKey } from '../clients/secret-text.ts';
import type { ProcessSpec, Reading, Setting } from '../clients/server-spec.ts';

/** Server as a command line describes it. */
export interface NewServer {
  /** `npx://PACKAGE`, `uvx://PACKAGE`, `command://PROGRAM`, a container image or a URL. */
  readonly source: string;
  readonly args: readonly string[];
  /** Each `NAME=VALUE`. */
  readonly env: readonly string[];
  /** Each `NAME=VALUE`, or `NAME` for a value to fill in. */
  readonly secrets: readonly string[];
  /** Each `NAME=VALUE`, or `NAME` for a value to fill in. */
  readonly headers: readonly string[];
  readonly transport: ProcessSpec['transport'] | undefined;
}

/** Returns the server, or the reason why it cannot be written. */
export function readNewServer(server: NewServer): Reading {
  return /^https?:\/\//iu.test(server.source) ? remote(server) : process(server);
}

function remote({ source, args, env, secrets, headers, transport }: NewServer): Reading {
  if (args.length + env.length + secrets.length > 0)
    return { leftOut: 'a URL takes no arguments, --env or --secret: use --header' };
  if (transport === 'stdio') return { leftOut: 'a URL has the transport streamable-http or sse' };
  return remoteServer(source, transport, headers.map(settingOfFlag));
}

function process({ source, args, env, secrets, headers, transport = 'stdio' }: NewServer): Reading {
  if (headers.length > 0) return { leftOut: '--header is for a URL: use --env or --secret' };
  if (imageScheme(source) === undefined) {
    return {
      leftOut: `${quoted(source)} is not a server: write npx://PACKAGE, uvx://PACKAGE, command://PROGRAM, an image such as NAME:TAG, or a URL`,
    };
  }
  const mistaken = mistakenImage(source, args);
  if (mistaken !== undefined) return { leftOut: mistaken };
  const incomplete = env.find((text) => !text.includes('='));
  if (incomplete !== undefined) return { leftOut: `--env ${quoted(incomplete)} has no value: write --env NAME=VALUE` };
  const variables = env.map((text) => ({ name: nameIn(text), value: valueIn(text) ?? '' }));
  const isSecret = ({ name, value }: { name: string; value: string }): boolean =>
    isSecretName(name) || looksLikeKey(value);
  return {
    server: {
      runs: 'here',
      image: source,
      transport,
      args,
      env: variables.filter((variable) => !isSecret(variable)),
      secrets: [...variables.filter(isSecret), ...secrets.map(settingOfFlag)],
    },
    warnings: argumentWarnings(args, source),
  };
}

/** Programs that are images too, and whose arguments are mostly files of this machine. */
const INTERPRETERS: ReadonlySet<string> = new Set(['node', 'deno', 'python', 'python3', 'java', 'sh', 'bash']);

/** Returns the reason why a text that could name an image is more likely a command, or a URL without its scheme. */
function mistakenImage(source: string, args: readonly string[]): string | undefined {
  if (/^(?:localhost|127\.0\.0\.1):\d{1,5}\/(?:mcp|sse)$/u.test(source))
    return `${quoted(source)} is not a server: write http://${source}, or ${source}:latest for a container image`;
  const read = source === programOf(source) ? SERVER_COMMANDS.get(source) : undefined;
  if (read) {
    const reading = read({ program: source, args, env: new Map() });
    const isHere = 'server' in reading && reading.server.runs === 'here' && !reading.server.package;
    const example = isHere ? reading.server.image : 'npx://PACKAGE, uvx://PACKAGE or an image such as NAME:TAG';
    return `${quoted(source)} is a command, not a server: write ${example}, and the arguments of the server after --`;
  }
  return INTERPRETERS.has(source)
    ? `${quoted(source)} is a command, not a server: write command://${source}, or ${source}:latest for a container image`
    : undefined;
}

/** Splits `NAME=VALUE` at the first `=`. */
const nameIn = (text: string): string => /^[^=]*/u.exec(text)?.[0] ?? '';

const valueIn = (text: string): string | undefined => /^[^=]*=(.*)$/su.exec(text)?.[1];

function settingOfFlag(text: string): Setting {
  const [name, value] = [nameIn(text), valueIn(text)];
  return value === undefined ? { name, missing: '' } : { name, value };
}
