import { issuerFault } from '../../probes/issuer.ts';
import { fail, ok, type Check } from '../check.ts';

export const issuers: Check = {
  name: 'issuers',
  run: async ({ issuers: all, get }) => {
    if (all.length === 0) return ok('not checked: no file that names another issuer was given');
    const checks = all.map(async (each) => ({ issuer: each.issuer, fault: await issuerFault(each, get) }));
    const faults = (await Promise.all(checks)).filter(({ fault }) => fault !== undefined);
    if (faults.length === 0) return ok(`metadata and keys of ${all.map(({ issuer }) => issuer).join(', ')}`);
    const list = faults.map(({ issuer, fault = '' }) => `${issuer}: ${fault}`).join('; ');
    return fail(`${list}: correct the issuer, or start it`);
  },
};
