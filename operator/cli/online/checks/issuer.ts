import { issuerFault } from '../../probes/issuer.ts';
import { unreachable, type OnlineCheck } from '../online-check.ts';

/** Checks that a gateway could read the keys of the issuer. */
export const issuer: OnlineCheck = async ({ issuer: subject }, { get }) => {
  const fault = subject && (await issuerFault(subject, get));
  return fault === undefined
    ? undefined
    : unreachable(`issuer ${subject?.issuer ?? ''}: ${fault}: correct it, or start it`);
};
