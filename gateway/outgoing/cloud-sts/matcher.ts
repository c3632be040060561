import { createRequire } from 'node:module';
import { createContext, Script } from 'node:vm';
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import type * as Module from '@marcbachmann/cel-js';
import type { Identity } from '../../contract/identity.ts';
import { CEL_MODULE } from './cel-module.ts';

type Claims = Identity['claims'];

/** Returns true for the claims of users that an expression matches. Throws `MatcherTimeoutError`. */
export type Matcher = (claims: Claims) => boolean;

/** Longest expression, in characters. */
export const MAX_MATCHER_LENGTH = 2_048;
const LIMITS = { maxAstNodes: 500, maxDepth: 50, maxListElements: 256, maxMapEntries: 64, maxCallArguments: 8 };
/** Longest evaluation, in processor time: macros over long lists and regular expressions may take any time. */
const EVALUATION_MS = 100;
/** Longest evaluation in a process that hardly gets the processor. */
const STARVED_MS = 2_000;

/** An evaluation took too long. Whether the expression matches is not known. */
export class MatcherTimeoutError extends Error {
  constructor() {
    super(`takes longer than ${String(EVALUATION_MS)} ms: use fewer nested macros and repetitions`);
    this.name = 'MatcherTimeoutError';
  }
}

let environment: Environment | undefined;

/** Returns the environment of all expressions. Loads the evaluator for the first expression: most configurations have none. */
function celEnvironment(): Environment {
  if (environment) return environment;
  const cel = createRequire(import.meta.url)(CEL_MODULE) as typeof Module;
  environment = new cel.Environment({ limits: LIMITS }).registerVariable('claims', 'map');
  return environment;
}

/**
 * Compiles a CEL expression over `claims`. Returns what is wrong with one that cannot be true. An expression that cannot be evaluated
 * for a user, for example because a claim is missing, does not match. @see https://cel.dev
 */
export function compileMatcher(text: string): Matcher | { readonly fault: string } {
  try {
    const parsed = celEnvironment().parse(text);
    const { valid, type = '', error } = parsed.check();
    if (!valid) return { fault: faultOf(error, text) };
    if (type !== 'bool' && type !== 'dyn')
      return { fault: `is of type ${type}: write a condition, which is true or false` };
    const fault = patternFault(parsed.ast);
    return fault === undefined ? (claims) => isTrue(() => parsed({ claims })) : { fault };
  } catch (error) {
    return { fault: faultOf(error, text) };
  }
}

const createTimed = () => ({ context: createContext({ run: undefined }), script: new Script('run()') });
let timed: ReturnType<typeof createTimed> | undefined;

/**
 * Returns a context that runs functions with a time limit. The first evaluation creates it: once a process has made a `Script`,
 * V8 collects garbage while the process is idle, which also discards optimized code.
 */
const timedRun = () => (timed ??= createTimed());

/** Returns true when an evaluation returns true, and false when it throws. Throws `MatcherTimeoutError`. */
export function isTrue(evaluate: () => unknown): boolean {
  const { context, script } = timedRun();
  const before = threadCpuUsage();
  context['run'] = evaluate;
  try {
    try {
      return script.runInContext(context, { timeout: EVALUATION_MS }) === true;
    } catch (error) {
      if (!isTimeout(error) || usedMs(before) >= EVALUATION_MS / 2) throw error;
      return script.runInContext(context, { timeout: STARVED_MS }) === true;
    }
  } catch (error) {
    if (isTimeout(error)) throw new MatcherTimeoutError();
    return false;
  } finally {
    context['run'] = undefined;
  }
}

/** Processor time of this thread; of the process before Node.js 23.9. */
const { threadCpuUsage = (before?: NodeJS.CpuUsage) => process.cpuUsage(before) } = process as Partial<NodeJS.Process>;

const isTimeout = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

/** Returns the processor time of this thread since `before`. */
function usedMs(before: NodeJS.CpuUsage): number {
  const { user, system } = threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** Describes an error of the evaluator with its line and column, both from 1. */
function faultOf(error: unknown, text: string): string {
  const { summary, message, range } = error as {
    summary?: string;
    message: string;
    range?: { readonly start: number };
  };
  const before = text.slice(0, range?.start ?? 0).split('\n');
  const place = `line ${String(before.length)}, column ${String((before.at(-1) ?? '').length + 1)}`;
  return `${place}: ${summary ?? message} (the only variable is claims)`;
}

/** Returns what is wrong with a regular expression that is written out in `matches`. */
function patternFault(root: ASTNode): string | undefined {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (Array.isArray(node)) {
      const [name, , given] = node as readonly unknown[];
      const [pattern] = name === 'matches' && Array.isArray(given) ? (given as { args?: unknown }[]) : [];
      if (typeof pattern?.args === 'string' && !isPattern(pattern.args))
        return `matches("${pattern.args}") is no regular expression: correct it`;
      open.push(...(node as unknown[]));
    } else if (typeof node === 'object' && node !== null && 'args' in node) open.push(node.args);
  }
  return undefined;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}
