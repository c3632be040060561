import type { Request } from 'express';
import { FORM, readBodyText } from '../../http/endpoint/body-text.ts';
import { counted } from '../../http/endpoint/encoded-parameters.ts';
import { queryText } from '../../http/endpoint/read-input.ts';
import { parametersOf, type RequestParameters } from '../core/request-parameters.ts';

/** Reads the parameters of a form. Throws `RequestError`. */
export const formOf = async (req: Request): Promise<RequestParameters> =>
  parametersOf(counted('form', await readBodyText(req, FORM)));

/** Reads the parameters of the query. Throws `RequestError`. */
export const queryOf = (req: Request): RequestParameters => parametersOf(counted('query', queryText(req)));
