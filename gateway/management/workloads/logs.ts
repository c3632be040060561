import { Type, type Static } from 'typebox';
import { DURATION_PATTERN, durationMs } from '../../contract/fields.ts';
import { OperationError } from '../../http/endpoint/request-error.ts';
import type { WorkloadLogOptions } from '../../workloads/workloads.ts';
import type { ManagementContext } from '../operation.ts';
import { READ_ERRORS } from './shapes.ts';

const DEFAULT_LINES = 1000;
const MOST_LINES = 10_000;

export const LogQuery = Type.Object({
  tail: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MOST_LINES, default: DEFAULT_LINES, description: 'Number of the last lines.' }),
  ),
  since: Type.Optional(
    Type.String({ description: 'Oldest line: a time (RFC 3339), or a duration before now such as `10m`.' }),
  ),
  follow: Type.Optional(Type.Boolean({ default: false, description: 'Stream the lines that follow, too.' })),
});

export const LOG_ERRORS = {
  ...READ_ERRORS,
  managed_by_files: {
    status: 400,
    message: 'the workload comes from a file of vmcp up: its lines are in the log of vmcp up',
  },
  invalid_since: {
    status: 400,
    message: 'query.since must be a time such as 2026-01-31T12:00:00Z, or a duration such as 10m',
  },
};

type LogRequest = Static<typeof LogQuery> & Pick<WorkloadLogOptions, 'source'>;

/** Returns the requested lines, or a stream of them. Throws `workload_not_found` and `invalid_since`. */
export function readLog(
  { workloads, now }: Pick<ManagementContext, 'workloads' | 'now'>,
  name: string,
  { source, tail = DEFAULT_LINES, since, follow = false }: LogRequest,
  signal: AbortSignal,
): Promise<readonly string[] | AsyncIterable<string>> {
  const options = { source, tail, ...(since !== undefined && { since: sinceMs(since, now()) }) };
  return follow ? workloads.follow(name, options, signal) : workloads.logs(name, options);
}

const DURATION = new RegExp(DURATION_PATTERN, 'u');
/** RFC 3339 §5.6 */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/u;

/** Returns the ms since the epoch of a time, or of a duration before `now`. Throws `invalid_since`. */
function sinceMs(text: string, now: number): number {
  if (DURATION.test(text)) return now - durationMs(text);
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new OperationError('invalid_since');
  return time;
}
