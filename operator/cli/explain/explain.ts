import { existsSync } from 'node:fs';
import { parseObject } from '../../../gateway/contract/json.ts';
import { STATE_FOLDER } from '../../../gateway/contract/run-config/secret-path.ts';
import { jsonText, printable } from '../../../gateway/contract/text/printable.ts';
import { memberTexts } from '../../../gateway/http/known-members.ts';
import { explainTools, type Explanation } from '../../../gateway/policy/explain/explanation.ts';
import type { LoadOptions } from '../../source/files/load.ts';
import { renderTable } from '../table.ts';
import { examine } from '../validate/examine.ts';
import { formatProblems, type Io } from '../validate/problems-output.ts';
import { choose } from '../validate/render.ts';
import { readClaims } from './claims.ts';
import { listTools } from './known-tools.ts';

export interface ExplainOptions extends LoadOptions {
  /** Claims of the user, such as `sub=alice,groups=admins|ops`. */
  readonly as: string;
  /** JSON object of the arguments of the call. */
  readonly arguments?: string;
  /** Name or namespace/name of the VirtualMCPServer, required when there are several. */
  readonly name?: string;
  readonly state?: string;
  readonly output?: 'json';
}

const HEADER = ['TOOL', 'ALLOWED', 'BY', 'HIDDEN BY', 'CREDENTIAL'];

/**
 * `vmcp explain PATH... [TOOL] --as CLAIMS`: exits with 0, or with 2 for invalid files or options. The last of several arguments is a
 * tool when no file has its name.
 */
export async function explain(
  words: readonly string[],
  { as, arguments: text = '{}', name, state, output, ...options }: ExplainOptions,
  io: Io,
): Promise<number> {
  const refuse = (message: string): number => {
    io.stderr.write(`${message}\n`);
    return 2;
  };
  const last = words.at(-1) ?? '';
  const tool = words.length > 1 && last !== '-' && !existsSync(last) ? last : undefined;
  const paths = tool === undefined ? words : words.slice(0, -1);
  const claims = readClaims(as);
  if (!claims) return refuse('--as needs claims with a subject, such as sub=alice,groups=admins|ops');
  if (!parseObject(text)) return refuse('--arguments needs a JSON object, such as {"amount": 5}');
  const args = Buffer.from(text);
  try {
    memberTexts(args, () => false);
  } catch (error) {
    return refuse(`--arguments cannot be read by the gateway: ${(error as Error).message}`);
  }
  const { servers, problems } = await examine(paths, options, STATE_FOLDER);
  const server = choose(servers, name);
  if (typeof server === 'string' || !server.config) {
    io.stderr.write(formatProblems(problems, []));
    return refuse(typeof server === 'string' ? server : `${server.name} cannot be explained: correct its problems`);
  }
  const { tools, unknown } = await listTools(server.config, { ...(state !== undefined && { state }) });
  for (const backend of unknown)
    io.stderr.write(`backend "${backend}" lists no tools here: vmcp up may give it what it needs\n`);
  const readArguments = (isRead: (name: string) => boolean = () => true) => memberTexts(args, isRead);
  const found = explainTools(server.config, tools, { claims, arguments: args, readArguments, tool });
  io.stdout.write(output === 'json' ? `${jsonText({ tools: found }, 2)}\n` : table(found));
  return 0;
}

const table = (found: readonly Explanation[]): string =>
  renderTable([
    HEADER,
    ...found.map(({ tool, allowed, by, filter, credential }) => [
      printable(tool),
      allowed ? 'yes' : 'no',
      printable(by),
      filter ?? '-',
      credential,
    ]),
  ])
    .map((line) => `${line}\n`)
    .join('');
