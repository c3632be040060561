import type { Response } from 'express';
import type { Page } from './page.ts';

export function sendPage(res: Response, { status, headers, body }: Page): void {
  res.status(status).set(headers).send(body);
}
