import type { Response } from 'express';
import { ANONYMOUS, type Identity } from '../../contract/identity.ts';
import type { Span } from '../../http/json-walk.ts';
import type { HeldBytes } from '../budgets/byte-budget.ts';

/** Returns the principal that the incoming mode stored; `anonymous` without one. */
export const principalOf = (res: Response): string => (res.locals['principal'] as string | undefined) ?? ANONYMOUS;

export const identityOf = (res: Response): Identity | undefined => res.locals['identity'] as Identity | undefined;

/**
 * Returns the bytes of the client's id: a view of a small body, and a copy of a large one, which must not stay in
 * memory.
 */
export const ownId = (body: Buffer, { start, end }: Span, held: HeldBytes | undefined): Buffer =>
  held ? Buffer.from(body.subarray(start, end)) : body.subarray(start, end);
