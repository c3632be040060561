import { ANY_ANSWER, NoReply, trusting } from '../../probes/http-get.ts';
import { fail, ok, type Check } from '../check.ts';

/** Difference at which gateways reject tokens as not yet valid. */
const MOST_SECONDS = 30;

export const clock: Check = {
  name: 'clock',
  run: async ({ providers, get, now }) => {
    const first = providers.find(({ subject }) => subject.type === 'issuer')?.subject;
    if (!first) return ok('not checked: no file that names another issuer was given');
    const date = await trusting(get, first.ca)(first.value, ANY_ANSWER).then(
      ({ header }) => Date.parse(header('date') ?? ''),
      (error: unknown) => {
        if (error instanceof NoReply) return Number.NaN;
        throw error;
      },
    );
    if (Number.isNaN(date)) return ok(`not checked: ${first.value} sends no date`);
    const seconds = Math.round(Math.abs(now() - date) / 1_000);
    return seconds <= MOST_SECONDS
      ? ok(`that of ${first.value}`)
      : fail(`${String(seconds)} s from that of ${first.value}, so its tokens are rejected: set the clock`);
  },
};
