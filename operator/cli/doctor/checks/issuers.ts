import { NoReply, type Get } from '../../probes/http-get.ts';
import { issuerFault } from '../../probes/issuer.ts';
import { fail, ok, type Check } from '../check.ts';

export const issuers: Check = {
  name: 'issuers',
  run: async ({ issuers: all, endpoints = [], get }) => {
    if (all.length + endpoints.length === 0) return ok('not checked: no file that names another issuer was given');
    const checks = [
      ...all.map(async (each) => ({ issuer: each.issuer, fault: await issuerFault(each, get) })),
      ...endpoints.map(async (url) => ({ issuer: url, fault: await silence(url, get) })),
    ];
    const faults = (await Promise.all(checks)).filter(({ fault }) => fault !== undefined);
    if (faults.length === 0)
      return ok(`metadata and keys of ${[...all.map(({ issuer }) => issuer), ...endpoints].join(', ')}`);
    const list = faults.map(({ issuer, fault = '' }) => `${issuer}: ${fault}`).join('; ');
    return fail(`${list}: correct the issuer, or start it`);
  },
};

/** Returns the reason why nothing answers at an endpoint. Each status is an answer: endpoints for POST reject HEAD in many ways. */
const silence = (url: string, get: Get): Promise<string | undefined> =>
  get(url, { method: 'HEAD' }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof NoReply) return error.message;
      throw error;
    },
  );
