import { type ImportedServer, type ImportedServers, freeName } from '../clients/imported-servers.ts';
import { quoted } from '../clients/texts.ts';
import { STAYS_READABLE } from '../clients/secret-text.ts';
import { DEFAULT_NAMESPACE } from '../files/manifest-object.ts';
import {
  GATEWAY_FILE,
  gatewayFile,
  type FolderCommands,
  OWNER_ONLY,
  SECRETS_FILE,
  secretsFile,
  type NewFile,
  textProblems,
} from './folder-files.ts';
import { type MissingValue, serverText, type ServerText, joinDocuments } from './resource-text.ts';
import { type HostVariable, type ProcessSpec, type Setting, settingWarnings } from '../clients/server-spec.ts';
import { parseEnvText } from '../files/env-file.ts';
import { ENV_FILE } from '../files/find-files.ts';

export interface ImportFiles {
  /** Servers of the files. */
  readonly servers: readonly ImportedServer[];
  readonly leftOut: ImportedServers['leftOut'];
  readonly files: readonly NewFile[];
  readonly missing: readonly MissingValue[];
}

/** Returns the files of a new folder: a group and an endpoint with this name, each server, and the Secrets. */
export function importFiles(imported: ImportedServers, name: string, commands?: FolderCommands): ImportFiles {
  const taken = new Set([GATEWAY_FILE, SECRETS_FILE]);
  const { servers, files: defaults } = withDefaults(imported.servers);
  const rendered = servers.map((server) => ({ server, ...textOf(server, name) }));
  const refused = rendered.filter(({ problems }) => problems.length > 0);
  const texts = rendered
    .filter(({ problems }) => problems.length === 0)
    .map((each) => {
      const file = `${freeName(each.server.name, (free) => taken.has(`${free}.yaml`))}.yaml`;
      taken.add(file);
      return { ...each, file };
    });
  const rules = new Map(texts.flatMap(({ server }) => (server.rules ? [[server.name, server.rules] as const] : [])));
  const secrets = texts.flatMap(({ secret }) => secret ?? []);
  return {
    servers: texts.map(({ server }) => server),
    leftOut: [
      ...imported.leftOut,
      ...refused.map(({ server, problems }) => ({ original: server.original, reason: problems.join('; ') })),
    ],
    files: [
      gatewayFile(name, commands, rules),
      ...texts.map(({ server, file, kind, text }) => ({
        ...{ name: file, text, objects: [`${kind}/${server.name}`] },
        ...(containsSecret(server) && { mode: OWNER_ONLY }),
      })),
      ...defaults,
      ...(secrets.length > 0 ? [secretsFile(secrets)] : []),
    ],
    missing: secrets.flatMap(({ missing }) => missing),
  };
}

/** Returns true for a secret in an argument or a URL, which cannot come from a Secret. */
const containsSecret = ({ warnings }: ImportedServer): boolean =>
  warnings.some((warning) => warning.includes(STAYS_READABLE));

function textOf(
  { name, original, spec, warnings }: ImportedServer,
  group: string,
): ServerText & { problems: string[] } {
  const place = { name, namespace: DEFAULT_NAMESPACE, group, secretName: name };
  const comments = [`Server ${quoted(original)} of the imported file.`, ...warnings.map((text) => `Warning: ${text}`)];
  const text = serverText(spec, place, ...comments);
  return { ...text, problems: textProblems(joinDocuments(text.text, ...(text.secret ? [text.secret.text] : []))) };
}

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
function withDefaults(servers: readonly ImportedServer[]): WithDefaults {
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
