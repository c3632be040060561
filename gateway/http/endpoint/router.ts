import type { Request, RequestHandler, Response } from 'express';
import type { Operation } from './operation.ts';
import { acceptsPath, readInput, type InputRules } from './read-input.ts';

const PREFLIGHT_MAX_AGE_SECONDS = 3600;
/** Response headers that pages of other origins may read. */
const EXPOSED = 'WWW-Authenticate, Retry-After';

/** Error answers of one HTTP interface. */
export interface ErrorAnswers {
  /** Answers 405. The `Allow` header is set already. */
  readonly methodNotAllowed: (res: Response, message: string) => void;
  /** Answers an error of the router or the handler. Nothing has been sent yet. */
  readonly thrown: (operation: Operation, req: Request, res: Response, thrown: unknown) => void;
}

/** Operations of one path. */
interface Resource {
  readonly segments: readonly string[];
  readonly operations: readonly Operation[];
}

/** Answers requests for the given operations. Passes requests for other paths to the next handler. */
export function route(operations: readonly Operation[], errors: ErrorAnswers, rules?: InputRules): RequestHandler {
  const resources = resourcesOf(operations);
  const exact = new Map([...resources].filter(([path]) => !path.includes('{')));
  const templates = [...resources.values()].filter(({ segments }) => segments.some(isParameter));
  return (req, res, next) => {
    const resource = resourceFor(req, exact, templates);
    if (resource) void serve(resource, req, res, { errors, rules });
    else next();
  };
}

/**
 * Returns the resource of a path: the literal one, but a template if only that has the method and the segment can name an
 * item, such as DELETE of an item "search".
 */
function resourceFor(
  { path, method }: Request,
  exact: ReadonlyMap<string, Resource>,
  templates: readonly Resource[],
): Resource | undefined {
  const literal = exact.get(path);
  if (literal && operationFor(literal, method)) return literal;
  const segments = path.split('/');
  const matching = templates.filter((template) => isMatch(template.segments, segments));
  const answers = (template: Resource): boolean => {
    const operation = operationFor(template, method);
    return operation !== undefined && (!literal || acceptsPath(operation.input, parametersOf(template, path)));
  };
  return matching.find(answers) ?? literal ?? matching[0];
}

function resourcesOf(operations: readonly Operation[]): ReadonlyMap<string, Resource> {
  const byPath = Map.groupBy(
    operations.flatMap((operation) => operation.paths.map((path) => ({ path, operation }))),
    ({ path }) => path,
  );
  return new Map(
    [...byPath].map(([path, entries]) => {
      const methods = entries.map(({ operation }) => operation.method);
      if (new Set(methods).size < methods.length) throw new Error(`two operations have the same method on ${path}`);
      return [path, { segments: path.split('/'), operations: entries.map(({ operation }) => operation) }];
    }),
  );
}

const isParameter = (segment: string): boolean => segment.startsWith('{');

const isMatch = (template: readonly string[], segments: readonly string[]): boolean =>
  template.length === segments.length &&
  template.every((expected, index) => (isParameter(expected) ? segments[index] !== '' : segments[index] === expected));

/** Returns the raw values of the path parameters by their names. */
function parametersOf({ segments }: Resource, path: string): Record<string, string> {
  const values = path.split('/');
  const named = segments.flatMap((segment, index) =>
    isParameter(segment) ? [[segment.slice(1, -1), values[index] ?? ''] as const] : [],
  );
  return Object.fromEntries(named);
}

async function serve(
  resource: Resource,
  req: Request,
  res: Response,
  { errors, rules }: { readonly errors: ErrorAnswers; readonly rules: InputRules | undefined },
): Promise<void> {
  const isOpen = resource.operations.some(({ cors }) => cors === true);
  if (isOpen) res.set({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': EXPOSED });
  const allowed = allowedMethods(resource, isOpen);
  if (isOpen && req.method === 'OPTIONS') {
    answerPreflight(res, allowed);
    return;
  }
  const operation = operationFor(resource, req.method);
  if (!operation) {
    errors.methodNotAllowed(res.set('Allow', allowed.join(', ')), `use ${allowed.join(' or ')}`);
    return;
  }
  try {
    const input = operation.input && (await readInput(operation.input, req, parametersOf(resource, req.path), rules));
    await operation.handle(req, res, input as never);
  } catch (thrown) {
    if (!res.headersSent && !res.destroyed) errors.thrown(operation, req, res, thrown);
    else res.destroy();
  }
}

const operationFor = ({ operations }: Resource, method: string): Operation | undefined =>
  operations.find((operation) => operation.method === method || (method === 'HEAD' && operation.head === true));

const allowedMethods = ({ operations }: Resource, isOpen: boolean): string[] => [
  ...operations.map(({ method }) => method),
  ...(operations.some(({ head }) => head === true) ? ['HEAD'] : []),
  ...(isOpen ? ['OPTIONS'] : []),
];

function answerPreflight(res: Response, allowed: readonly string[]): void {
  res.set('Access-Control-Allow-Methods', allowed.join(', '));
  res.set('Access-Control-Allow-Headers', 'authorization, content-type, mcp-protocol-version');
  res.set('Access-Control-Max-Age', String(PREFLIGHT_MAX_AGE_SECONDS));
  res.status(204).end();
}
