import type { ImportedServer } from '../clients/imported-servers.ts';
import type { HostVariable, ProcessSpec, Setting } from '../clients/server-spec.ts';
import { settingWarnings } from '../clients/setting.ts';
import { ENV_FILE, parseEnvText } from '../files/env-text.ts';
import { OWNER_ONLY, type NewFile } from './folder-files.ts';

const COMMENT =
  '# Default values of variables in the imported file. A variable of your shell takes precedence over its line here.\n';

interface WithDefaults {
  readonly servers: readonly ImportedServer[];
  /** The `.env` with the default values; empty without default values. */
  readonly files: readonly NewFile[];
}

/**
 * Puts the defaults of `${NAME:-DEFAULT}` into a `.env`, which has the same precedence. A second default for a variable
 * becomes the value of its server.
 */
export function withDefaults(servers: readonly ImportedServer[]): WithDefaults {
  const lines = new Map<string, string>();
  const isKept = ({ fromEnv, fallback }: HostVariable): boolean => {
    if (fallback === undefined) return true;
    const line = lineOf(fromEnv, fallback);
    if (line === undefined || (lines.get(fromEnv) ?? line) !== line) return false;
    lines.set(fromEnv, line);
    return true;
  };
  const changed = servers.map((server) =>
    server.spec.runs === 'here' ? withoutFallbacks(server, server.spec, isKept) : server,
  );
  const file = { name: ENV_FILE, text: COMMENT + [...lines.values()].join(''), objects: [], mode: OWNER_ONLY };
  return { servers: changed, files: lines.size > 0 ? [file] : [] };
}

/** Makes each variable of the host a plain reference, or a value where its default is not kept in the `.env`. */
function withoutFallbacks(
  server: ImportedServer,
  spec: ProcessSpec,
  isKept: (variable: HostVariable) => boolean,
): ImportedServer {
  const own: Setting[] = [];
  const env = spec.env.flatMap((variable) => {
    if (!('fromEnv' in variable)) return variable;
    const { name, fromEnv, fallback = '' } = variable;
    if (isKept(variable)) return { name, fromEnv };
    own.push({ name, value: fallback, defaultOf: [fromEnv] });
    return [];
  });
  return {
    ...server,
    spec: { ...spec, env, secrets: [...spec.secrets, ...own] },
    warnings: [...server.warnings, ...settingWarnings(own)],
  };
}

/** Returns the line of a `.env`; undefined when no quotes fit the value. */
function lineOf(name: string, value: string): string | undefined {
  const lines = ["'", '`', '"'].map((quote) => `${name}=${quote}${value}${quote}\n`);
  return lines.find((line) => parseEnvText(line).values.get(name) === value);
}
