import { scanEnvelope } from '../../../http/json-scan.ts';
import { attributesOf } from '../../../telemetry/mcp-attributes.ts';
import { readClientFacts } from '../../../vmcp/edge/initialize.ts';
import { classify } from '../../../vmcp/edge/modern/classify.ts';
import { readServerFacts } from '../../../vmcp/transport/handshake.ts';
import { methodOf } from '../methods.ts';
import { revisionOf, SUPPORTED_REVISIONS } from '../revisions.ts';

/** Uses a revision and a method that a test has added to the tables of a copy of the sources. */
const [REVISION, METHOD] = ['2026-01-01', 'tools/rehearse'];
const bytes = (message: object): Buffer => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }));

const initialize = bytes({ method: 'initialize', params: { protocolVersion: REVISION, capabilities: {} } });
const rehearse = bytes({ method: METHOD, params: { name: 'one' } });
const initialized = bytes({ result: { protocolVersion: REVISION, capabilities: {} } });

process.stdout.write(
  JSON.stringify({
    supported: SUPPORTED_REVISIONS,
    negotiated: readClientFacts(initialize, scanEnvelope(initialize))?.revision,
    backend: readServerFacts(initialized, true).revision,
    primes: revisionOf(REVISION).primesStreams,
    audit: methodOf(METHOD).audit,
    attributes: attributesOf({ method: METHOD, target: 'one', errorType: '', revision: REVISION }),
    otherName: classify({ 'mcp-name': 'other' }, rehearse, scanEnvelope(rehearse), []).era,
    sameName: classify({ 'mcp-name': 'one' }, rehearse, scanEnvelope(rehearse), []).era,
  }),
);
