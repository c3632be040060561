import type { Request } from 'express';
import { FORM, readBodyText } from '../../http/endpoint/body-text.ts';
import { queryText } from '../../http/endpoint/read-input.ts';
import { parametersOf, type RequestParameters } from '../core/request-parameters.ts';

/** Reads the parameters of a form. Throws `RequestError`. */
export const formOf = async (req: Request): Promise<RequestParameters> => parametersOf(await readBodyText(req, FORM));

/** Reads the parameters of the query. */
export const queryOf = (req: Request): RequestParameters => parametersOf(queryText(req));
