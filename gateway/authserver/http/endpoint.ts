import type { Request, Response } from 'express';

/** Answers one request. What it throws, `refusals.ts` turns into an answer of the endpoint's kind. */
export type Handler = (req: Request, res: Response) => void | Promise<void>;

/** One endpoint: where it stands, who may call, what it does by method. */
export interface Endpoint {
  /** Exact paths. */
  readonly paths: readonly string[];
  /** One more path segment follows: the handler reads `req.path`. */
  readonly withId?: boolean;
  /** How refusals look: JSON for programs, a page for people. */
  readonly answers: 'json' | 'page';
  /** Web pages of any origin may call, without credentials. */
  readonly cors: boolean;
  /** HEAD is answered where GET is and `head` is set. */
  readonly head?: boolean;
  readonly methods: Readonly<Partial<Record<'GET' | 'POST' | 'PUT' | 'DELETE', Handler>>>;
}
